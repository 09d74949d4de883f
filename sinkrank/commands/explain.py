"""`sinkrank explain`: why a document stands where it does."""

from __future__ import annotations

from typing import Annotated

import typer

from sinkrank import options


def explain(
    text: Annotated[str, typer.Argument(help="The query.")],
    doc_id: Annotated[str, typer.Argument(metavar="DOC_ID", help="The document's id, as a search shows it.")],
    lang: options.QueryLanguage = None,
    method: options.Method = None,
    epsilon: options.Epsilon = None,
    tau: options.Tau = None,
    json_: options.Json = False,
    home: options.Home = None,
    embeddings: options.EmbeddingsPath = None,
    store: options.StoreAddress = None,
    index: options.IndexName = None,
    config: options.Config = None,
) -> None:
    """Take the distance between a query and a document apart, word by word.

    For each query word: the document words that its mass went to, what a unit of mass pays for that way (0 to 2), and
    the share of the distance. The parts sum to the distance. The method auto also goes by the document's hubness and by
    the query's words without an embedding that it lacks: the last line has the sum.

    Example: [bold]sinkrank explain "asiakirjan tulostaminen" el/text/swriter/guide/print_preview --lang fi[/bold]
    """
    from reranker import answers
    from sinkrank import output, resources, tables

    settings = options.load(
        config,
        home=home,
        embeddings=embeddings,
        store=store,
        index=index,
        method=method,
        epsilon=epsilon,
        tau=tau,
    ).settings
    with resources.opened_searcher(settings) as searcher:
        name = searcher.choose_index(settings.index)
        explanation = searcher.explain(text, name, doc_id, lang, settings.method, resources.parameters_of(settings))
    if json_:
        output.print_json(answers.explanation(name, doc_id, explanation))
        return
    console = output.results()
    console.print(tables.explanation_table(explanation))
    footer = tables.explanation_footer(explanation)
    if footer:
        console.print(footer, markup=False)
    pairs = tables.telling_pairs(explanation, 5)
    if pairs:
        console.print("What brought it nearest: " + "; ".join(pairs), markup=False)
