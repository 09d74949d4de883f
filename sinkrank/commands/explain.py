"""`sinkrank explain`: explains the score of a document."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reranker.service.settings_sources import LoadedSettings
from sinkrank.console import options, output

if TYPE_CHECKING:
    from reranker.answers.explanation import ExplainAnswer


@options.takes_settings("first_stage", "depth", "method", "epsilon", "tau", "feedback", *options.SEARCHABLE)
def explain(
    loaded: LoadedSettings,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The query.")],
    doc_id: Annotated[str, typer.Argument(metavar="DOC_ID", help="Document id, as a search shows it.")],
    lang: options.QueryLanguage = None,
    to: options.DocumentLanguages = None,
    template: options.Template = None,
    json_: options.Json = False,
) -> None:
    """Explain the score of a document for a query, word by word.

    The table shows for each query word the document words that its mass goes to, the cost of each, and its share of
    the distance. Mass times cost sums to the distance; the shares sum to 100 %. With the method auto a second table
    shows what each document word adds to the sentence encoder's part, and the lines below it list the parts of the
    score, and the words and documents behind feedback and neighbours. Give the same options as for the search,
    because the parts are scaled over its candidates. In an index of an engine that Sinkrank did not make the proxy's
    search is explained. The last lines say what keeps a document from the first page: whether the first stage finds it
    and at which rank, by how much its score is too low and in which parts, and which words of the query it lacks.

    Example: [bold]sinkrank explain "asiakirjan tulostaminen" el/text/swriter/guide/print_preview --lang fi[/bold]
    """
    from sinkrank.console import tables

    explanation = _explained(loaded, text, doc_id, lang, to, template)
    if json_:
        output.print_json(explanation)
        return
    console = output.results(least_width=80)
    console.print(tables.explanation_table(explanation))
    sources = explanation.score_sources
    if sources is not None and sources.encoder is not None:
        console.print(tables.encoder_table(sources.encoder))
    console.print(tables.explanation_footer(explanation))
    pairs = tables.telling_pairs(explanation, 5)
    if pairs:
        console.print("What brought it nearest: " + "; ".join(pairs))


def _explained(
    loaded: LoadedSettings, text: str, doc_id: str, lang: str | None, to: Sequence[str] | None, template: Path | None
) -> ExplainAnswer:
    from reranker.service.searches import search_request
    from reranker.stores.base.filters import Filters
    from sinkrank.actions import engine_search
    from sinkrank.console import resources

    settings = loaded.settings
    with (
        resources.opened_searcher(settings) as searcher,
        engine_search.opened(loaded, searcher, template) as engine,
        output.talk().status(output.LOADING),
    ):
        if engine is not None:
            return engine.explain(text, lang, to, doc_id)
        index = searcher.choose_index(settings.index)
        return searcher.explain(search_request(settings, text, index, lang, Filters.parse(to)), doc_id)
