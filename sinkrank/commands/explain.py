"""`sinkrank explain`: explains the score of a document."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reranker.service.settings_sources import LoadedSettings
from sinkrank.console import options

if TYPE_CHECKING:
    from reranker.answers import ExplainAnswer

# The heat map shows more pairs per word than the table.
_PLOTTED_PAIRS = 15


@options.takes_settings("first_stage", "depth", "method", "epsilon", "tau", "feedback", *options.SEARCHABLE)
def explain(
    loaded: LoadedSettings,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The query.")],
    doc_id: Annotated[str, typer.Argument(metavar="DOC_ID", help="Document id, as a search shows it.")],
    lang: options.QueryLanguage = None,
    to: options.DocumentLanguages = None,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", metavar="FILE.svg", help="Also draw the transport as bands and as a heat map."),
    ] = None,
    template: options.Template = None,
    json_: options.Json = False,
) -> None:
    """Explain the score of a document for a query, word by word.

    The table shows for each query word the document words that its mass goes to, the cost of each, and its share of
    the distance. Mass times cost sums to the distance; the shares sum to 100 %. With the method auto a second table
    shows what each document word adds to the sentence encoder's part, and the lines below it list the parts of the
    score, and the words and documents behind feedback and neighbours. Give the same options as for the search,
    because the parts are scaled over its candidates. In an index of an engine that Sinkrank did not make a hit of the
    proxy's search is explained.

    Example: [bold]sinkrank explain "asiakirjan tulostaminen" el/text/swriter/guide/print_preview --lang fi[/bold]
    """
    if plot is not None and plot.suffix.lower() != ".svg":
        raise typer.BadParameter(f"{plot} does not end in .svg; the plot is an SVG file", param_hint="--plot")

    from reranker.ranking.explanation import PAIRS_PER_WORD
    from sinkrank.console import output, tables

    with _opened(loaded, text, doc_id, lang, to, template) as explained:
        with output.talk().status(output.LOADING):
            explanation = explained(PAIRS_PER_WORD)
        if plot is not None:
            _draw(plot, explained(_PLOTTED_PAIRS), f"{text} → {doc_id}")
    if json_:
        output.print_json(explanation)
        return
    console = output.results()
    console.print(tables.explanation_table(explanation))
    sources = explanation.score_sources
    if sources is not None and sources.encoder is not None:
        console.print(tables.encoder_table(sources.encoder))
    console.print(tables.explanation_footer(explanation), markup=False)
    pairs = tables.telling_pairs(explanation, 5)
    if pairs:
        console.print("What brought it nearest: " + "; ".join(pairs), markup=False)


@contextmanager
def _opened(
    loaded: LoadedSettings, text: str, doc_id: str, lang: str | None, to: Sequence[str] | None, template: Path | None
) -> Iterator[Callable[[int], ExplainAnswer]]:
    """What explains the document, with so many pairs for each word."""
    from reranker.stores.base.filters import Filters
    from sinkrank.actions import engine_search
    from sinkrank.console import resources

    settings = loaded.settings
    with (
        resources.opened_searcher(settings) as searcher,
        engine_search.opened(loaded, searcher, template) as engine,
    ):
        if engine is not None:
            yield lambda n_pairs: engine.explain(text, lang, to, doc_id, n_pairs)
            return
        index = searcher.choose_index(settings.index)
        request = resources.search_request(settings, text, index, lang, Filters.parse(to))
        yield lambda n_pairs: searcher.explain(request, doc_id, n_pairs)


def _draw(path: Path, explanation: ExplainAnswer, title: str) -> None:
    from reranker.base.errors import BadInput
    from sinkrank.actions.transport_plot import transport_svg

    try:
        path.write_text(transport_svg(explanation, title), encoding="utf-8")
    except OSError as error:
        raise BadInput(f"cannot write {path}: {error.strerror}; name a file in a folder that can be written") from error
