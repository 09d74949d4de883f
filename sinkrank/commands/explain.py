"""`sinkrank explain`: why a document stands where it does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sinkrank.console import options

if TYPE_CHECKING:
    from reranker.answers import ExplainAnswer

# The heat map shows more pairs of a word than the table.
_PLOTTED_PAIRS = 15


def explain(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The query.")],
    doc_id: Annotated[str, typer.Argument(metavar="DOC_ID", help="The document's id, as a search shows it.")],
    lang: options.QueryLanguage = None,
    to: options.DocumentLanguages = None,
    first_stage: options.FirstStage = None,
    depth: options.Depth = None,
    method: options.Method = None,
    epsilon: options.Epsilon = None,
    tau: options.Tau = None,
    feedback: options.Feedback = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE.svg", help="Draw the transport too: bands and a heat map.")
    ] = None,
    json_: options.Json = False,
    home: options.Home = None,
    embeddings: options.EmbeddingsPath = None,
    store: options.StoreAddress = None,
    index: options.IndexName = None,
    config: options.Config = None,
) -> None:
    """Take the score of a document for a query apart, word by word.

    For each query word: the document words that its mass went to, the cost of a unit of that mass, and its share of the
    distance. Mass times cost sums to the distance, and the shares to 100 %. By auto the last line has the parts of the
    score. Give the options of the search: the parts are scaled over its candidates.

    Example: [bold]sinkrank explain "asiakirjan tulostaminen" el/text/swriter/guide/print_preview --lang fi[/bold]
    """
    if plot is not None and plot.suffix.lower() != ".svg":
        raise typer.BadParameter(f"{plot} does not end in .svg, which is what is drawn", param_hint="--plot")

    from reranker.search.searcher import SearchRequest
    from reranker.stores.base.protocol import Filters
    from sinkrank.console import output, resources, tables

    settings = options.load(
        config,
        home=home,
        embeddings=embeddings,
        store=store,
        index=index,
        first_stage=first_stage,
        depth=depth,
        method=method,
        epsilon=epsilon,
        tau=tau,
        feedback=feedback,
    ).settings
    with resources.opened_searcher(settings) as searcher:
        request = SearchRequest(
            text=text,
            index=searcher.choose_index(settings.index),
            language=lang,
            filters=Filters.parse(to),
            first_stage=settings.first_stage,
            depth=settings.depth,
            method=settings.method,
            parameters=resources.parameters_of(settings),
            knn_weight=settings.knn_weight,
            feedback=settings.feedback,
            first_stage_share=settings.first_stage_share,
        )
        with output.talk().status(output.LOADING):
            explanation = searcher.explain(request, doc_id)
        if plot is not None:
            _draw(plot, searcher.explain(request, doc_id, _PLOTTED_PAIRS), f"{text} → {doc_id}")
    if json_:
        output.print_json(explanation)
        return
    console = output.results()
    console.print(tables.explanation_table(explanation))
    console.print(tables.explanation_footer(explanation), markup=False)
    pairs = tables.telling_pairs(explanation, 5)
    if pairs:
        console.print("What brought it nearest: " + "; ".join(pairs), markup=False)


def _draw(path: Path, explanation: ExplainAnswer, title: str) -> None:
    from reranker.base.errors import BadInput
    from sinkrank.actions.transport_plot import transport_svg

    try:
        path.write_text(transport_svg(explanation, title), encoding="utf-8")
    except OSError as error:
        raise BadInput(f"cannot write {path}: {error.strerror}; name a file in a folder that can be written") from error
