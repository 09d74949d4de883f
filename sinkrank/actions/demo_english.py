"""The demo's example in one language: an everyday query over English pages, by BM25 and in the default order."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from reranker.base.errors import UnknownWords
from reranker.search.searcher import SearchAnswer, Searcher, SearchRequest
from reranker.stores.base.filters import Filters
from sinkrank.console import tables
from sinkrank.demo.everyday import EVERYDAY_QUERIES, compare, first_answer

# Its first hit by BM25 is about numbered lists.
QUERY = "remove all formatting"
_N_SHOWN = 5
_DEPTH = 100


def show_english(searcher: Searcher, index: str, console: Console) -> None:
    """Prints the example, and the results of all fifty everyday queries."""
    ranks: dict[str, list[int | None]] = {"bm25": [], "default": []}
    for query in EVERYDAY_QUERIES:
        try:
            before, after = _search(searcher, index, query)
        except UnknownWords:  # nothing is found, in either order
            for found in ranks.values():
                found.append(None)
            continue
        ranks["bm25"].append(first_answer(query, _page_ids(before)))
        ranks["default"].append(first_answer(query, _page_ids(after)))
        if query == QUERY:
            console.print()
            console.print(_side_by_side(before, after))
    went = compare(ranks["bm25"], ranks["default"])
    console.print(
        f"Of {went.n_queries} everyday queries over these pages {went.n_better} find the page that answers higher than "
        f"by BM25, {went.n_worse} lower; it is the first hit for {went.n_first}, by BM25 for {went.n_first_before}.",
        markup=False,
        soft_wrap=True,
    )


def _search(searcher: Searcher, index: str, query: str) -> tuple[SearchAnswer, SearchAnswer]:
    """BM25's order and the default order."""
    default = SearchRequest(query, index, "en", Filters(languages=("en",)), depth=_DEPTH, size=_DEPTH)
    bm25 = SearchRequest(
        query, index, "en", Filters(languages=("en",)), "bm25", depth=_DEPTH, method="none", size=_DEPTH
    )
    return searcher.search(bm25), searcher.search(default)


def _page_ids(answer: SearchAnswer) -> list[str]:
    return [str(hit.metadata.get("page")) for hit in answer.hits]


def _side_by_side(before: SearchAnswer, after: SearchAnswer) -> Table:
    table = Table(
        box=box.SIMPLE_HEAD,
        title=f"“{QUERY}”: English asks for English pages (✓ answers)",
        title_justify="left",
        pad_edge=False,
    )
    table.add_column("rank", justify="right")
    table.add_column("by BM25", ratio=1)
    table.add_column("in the default order", ratio=1)
    columns = [_titles(before), _titles(after)]
    for rank in range(_N_SHOWN):
        table.add_row(str(rank + 1), *(titles[rank] if rank < len(titles) else Text() for titles in columns))
    return table


def _titles(answer: SearchAnswer) -> list[Text]:
    found = []
    for hit, page_id in list(zip(answer.hits, _page_ids(answer), strict=True))[:_N_SHOWN]:
        mark = "✓ " if first_answer(QUERY, [page_id]) else "  "
        found.append(Text(mark) + tables.plain(hit.title))
    return found
