"""Prints the demo's searches: one in both orders, one across languages, and figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from rich.console import Console
from rich.table import Table
from rich.text import Text

from reranker.answers.page import Example
from reranker.answers.search import Hit
from reranker.base.errors import UnknownWords
from reranker.search.request import SearchRequest
from reranker.search.searcher import Searcher
from reranker.stores.base.filters import Filters
from sinkrank.console import output, tables
from sinkrank.demo.everyday import EVERYDAY_QUERIES, answers
from sinkrank.evaluation.comparison import IndexSearches, Way
from sinkrank.evaluation.judgments import JudgedQuery

N_LISTED = 5
_DEPTH = 100
_N_PAIRS = 4
# Pairs of words with a cosine above 0.5. Other pairs mean nothing to a reader.
_NEAR_COST = 1.0
# The rank in BM25's order, and the width of both ranks with the blanks between columns.
_WAS, _RANKS_WIDTH = "was", 15
_NAMES = {"en": "English", "fr": "French", "de": "German", "fi": "Finnish", "el": "Greek", "sv": "Swedish"}


def show_both_orders(searcher: Searcher, index: str, search: Example, console: Console) -> None:
    """Prints BM25's order beside the default order, and the words that raised the hit that rose to the top."""
    before, after = (hits_of(searcher, index, search, by_bm25=by_bm25) for by_bm25 in (True, False))
    ranks = {hit.id: hit.rank for hit in before}
    is_answered = any(hit.id in answers(search.query) for hit in after[:N_LISTED])
    table = _table(console, "by BM25", "by Sinkrank", _WAS)
    for place in range(min(N_LISTED, max(len(before), len(after)))):
        one, other = (hits[place] if place < len(hits) else None for hits in (before, after))
        was = "" if other is None else str(ranks.get(other.id, "–"))
        table.add_row(str(place + 1), _title(search, one), _title(search, other), was)
    _print_title(console, search, " (✓ answers it)" if is_answered else "")
    console.print(table)
    risen = next((hit for hit in after if ranks.get(hit.id, _DEPTH + 1) > hit.rank), None)
    if risen is not None:
        _print_words(searcher, index, search, risen, console)


def show_across_languages(
    searcher: Searcher, index: str, search: Example, english_titles: Mapping[str, str], console: Console
) -> None:
    """Prints the first hits, and the words that brought the first one nearest.

    Args:
        english_titles: by page.
    """
    hits = hits_of(searcher, index, search)
    table = _table(console, f"{_name(search.target)} page", "in English")
    for hit in hits[:N_LISTED]:
        english = english_titles.get(str(hit.metadata.get("page")), "")
        table.add_row(str(hit.rank), tables.plain(hit.title), tables.plain(english))
    _print_title(console, search)
    console.print(table)
    if hits:
        _print_words(searcher, index, search, hits[0], console)


def demo_measures(searcher: Searcher, index: str) -> str:
    """A line that compares both orders by the fifty everyday queries."""
    queries = [
        JudgedQuery(query, query, "en", ("en",), None, dict.fromkeys(answers(query), 1)) for query in EVERYDAY_QUERIES
    ]
    ways = Way("BM25", "none", "bm25", _DEPTH), Way("Sinkrank", "auto", "auto", _DEPTH)
    before, after = (IndexSearches(searcher, index).run(way, queries) for way in ways)
    gains = [after.values["MRR"][query] - first for query, first in before.values["MRR"].items()]
    n_up, n_down = sum(gain > 0 for gain in gains), sum(gain < 0 for gain in gains)
    n_before, n_after = (sum(run.values["P@1"].values()) for run in (before, after))
    return (
        f"{len(queries)} everyday queries: the first hit answers {n_after:.0f} (by BM25 {n_before:.0f}); "
        f"{n_up} go up, {n_down} down; MRR {after.mean('MRR'):.3f} (by BM25 {before.mean('MRR'):.3f})"
    )


def hits_of(searcher: Searcher, index: str, search: Example, *, by_bm25: bool = False) -> Sequence[Hit]:
    """The hits in BM25's order or in the default order; none if the query has no known word."""
    request = _request(index, search)
    if by_bm25:
        request = replace(request, first_stage="bm25", method="none")
    try:
        return searcher.search(request).hits
    except UnknownWords:
        return []


def _request(index: str, search: Example) -> SearchRequest:
    filters = Filters(languages=(search.target,))
    return SearchRequest(search.query, index, search.language, filters, depth=_DEPTH, size=_DEPTH)


def _name(language: str) -> str:
    return _NAMES.get(language, language)


def _table(console: Console, *columns: str) -> Table:
    """A table with ranks in front of two columns of titles, which are cut in a narrow terminal, and in `was`."""
    table = output.table()
    table.add_column("", justify="right", no_wrap=True)
    for name in columns:
        if name == _WAS:
            table.add_column(name, justify="right", no_wrap=True)
        else:
            width = (console.width - _RANKS_WIDTH) // 2
            table.add_column(name, no_wrap=True, overflow="ellipsis", max_width=width)
    return table


def _title(search: Example, hit: Hit | None) -> Text:
    if hit is None:
        return Text()
    mark = "✓ " if hit.id in answers(search.query) else "  "
    return Text.assemble((mark, "bold green"), tables.plain(hit.title))


def _print_title(console: Console, search: Example, note: str = "") -> None:
    title = f"“{search.query}”: {_name(search.language)} query, {_name(search.target)} pages{note}"
    console.print()
    console.print(Text(title, style="bold"))


def _print_words(searcher: Searcher, index: str, search: Example, hit: Hit, console: Console) -> None:
    """Other words of the hit first, since BM25 knows the query's own."""
    explained = searcher.explain(_request(index, search), hit.id)
    near = [pair for pair in explained.telling_pairs if pair.cost < _NEAR_COST]
    near.sort(key=lambda pair: pair.query_word.casefold() == pair.document_word.casefold())
    pairs = ", ".join(f"{pair.query_word} → {pair.document_word}" for pair in near[:_N_PAIRS])
    if pairs:
        console.print(Text("What brought “") + tables.plain(hit.title) + Text(f"” near: {pairs}"))
