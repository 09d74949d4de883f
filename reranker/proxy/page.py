"""Cuts the page out of ranked windows, and fetches its hits where the window came without their text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from reranker.proxy.answer_filters import ID_FIELD
from reranker.proxy.bare_windows import BAGS, DocumentPlace, place_of, stored_value
from reranker.proxy.fetch import fetch_pages
from reranker.proxy.raw_json import RawArray, RawObject, read_object
from reranker.proxy.search import PagePlan, Search, SearchAnswer, SearchRequest
from reranker.proxy.upstream.calls import Fallback
from reranker.ranking.ranked import RankedDocument, Reranking
from reranker.ranking.scores import scores_behind


@dataclass(frozen=True, slots=True)
class Place:
    """Where a hit goes.

    Attributes:
        index: its place among the hits of the engine's answer, from 0.
        score: the new one; None to leave the engine's.
        rank, first_stage_rank: the new one and the engine's, over all pages, from 1.
        ranked: what re-ranking says of it; None where the engine's order gave it its place.
    """

    index: int
    score: float | None
    rank: int
    first_stage_rank: int
    ranked: RankedDocument | None = None


def places_of(search: Search) -> list[Place]:
    """The hits of the caller's page, in their order."""
    n_hits = 0 if search.answer is None else len(search.answer.found)
    if search.page.is_behind:
        return places_behind(search.page, n_hits)
    if search.ranking is None:
        # The engine's own order and scores.
        indices = range(search.page.offset, min(n_hits, search.page.offset + search.page.size))
        return [Place(index, None, index + 1, index + 1) for index in indices]
    return ranked_places(search.page, search.ranking, n_hits)


def ranked_places(page: PagePlan, ranking: Reranking, n_hits: int) -> list[Place]:
    """The page, best first; hits behind the window are in the engine's order.

    Args:
        ranking: of the hits of the window.
        n_hits: hits that the engine brought, the window's among them.
    """
    ranked, end = ranking.documents, page.offset + page.size
    places = [
        Place(one.index, one.score, rank, one.index + 1, one)
        for rank, one in enumerate(ranked[page.offset : end], page.offset + 1)
    ]
    behind = range(max(len(ranked), page.offset), min(n_hits, end))
    return places + _behind(page, behind, first_rank=behind.start + 1)


def places_behind(page: PagePlan, n_hits: int) -> list[Place]:
    """A page behind the window, whose hits the engine brought alone."""
    return _behind(page, range(min(n_hits, page.size)), first_rank=page.offset + 1)


def _behind(page: PagePlan, indices: range, first_rank: int) -> list[Place]:
    """Scores fall over all pages: those behind the window are below every score in it."""
    scores = scores_behind(page.window, max(first_rank, page.window + 1), len(indices))
    return [
        Place(index, score, rank, rank)
        for rank, (index, score) in enumerate(zip(indices, scores, strict=True), start=first_rank)
    ]


def complete(request: SearchRequest) -> None:
    """Fetches the hits of pages whose windows were bare, in one request. A search is lost where one of its hits is not
    as the window found it, or where its ranking failed."""
    wanted: list[tuple[Search, list[_Wanted]]] = []
    for search in request.searches:
        answer = search.answer
        if search.bare_kind is None or search.is_lost or answer is None:
            continue
        if answer.hits is None or (search.status == "fallback" and search.reason != "no_text_in_hits"):
            search.is_lost = True
        elif places := places_of(search):
            wanted.append((search, [_wanted(search, answer.found[place.index], place.index) for place in places]))
    if not wanted:
        return
    answers: Sequence[SearchAnswer] = ()
    with suppress(Fallback):
        answers = fetch_pages(request, [(search, search.page_body(*_named(search, hits))) for search, hits in wanted])
    for number, (search, hits) in enumerate(wanted):
        page = answers[number] if number < len(answers) else None
        shown = None if page is None or page.hits is None else _in_order(hits, page, page.hits)
        if shown is None:
            search.is_lost = True
            continue
        if any(hit.doc_id not in (None, raw.parsed.get("_id")) for hit, (_, raw) in zip(hits, shown, strict=True)):
            search.is_lost = search.was_misread = True
        search.shown = shown


class _Wanted(NamedTuple):
    """A hit of a bare window that is to be shown; the id is None where it is not known."""

    at: DocumentPlace
    doc_id: str | None


def _wanted(search: Search, hit: Mapping[str, Any], index: int) -> _Wanted:
    if search.bare_kind == BAGS:
        return _Wanted(place_of(hit), str(stored_value(hit, ID_FIELD)))
    return _Wanted(place_of(hit), search.doc_ids[index] if index < len(search.doc_ids) else None)


def _named(search: Search, hits: Sequence[_Wanted]) -> tuple[Mapping[str, Any], int]:
    """The clause that names the hits, and how many it may find: several indices may have the same id."""
    if search.bare_kind != BAGS:
        return {"terms": {"_seq_no": [hit.at[1] for hit in hits]}}, len(hits)
    ids = sorted({hit.doc_id or "" for hit in hits})
    n_indices = 1 if search.answer is None else len({place_of(hit)[0] for hit in search.answer.found})
    return {"ids": {"values": ids}}, len(ids) * n_indices


def _in_order(hits: Sequence[_Wanted], page: SearchAnswer, elements: RawArray) -> list[tuple[str, RawObject]] | None:
    """The page's hits in this order; None where one is not there as the window found it."""
    found: dict[DocumentPlace, list[tuple[Any, int]]] = {}
    for hit, element in zip(page.found, elements.elements, strict=True):
        found.setdefault(place_of(hit), []).append((hit.get("_id"), element.start))
    shown = []
    for wanted in hits:
        candidates = found.get(wanted.at, [])
        if len(candidates) > 1:  # of several shards
            candidates = [one for one in candidates if one[0] == wanted.doc_id]
        if len(candidates) != 1:
            return None
        shown.append((page.text, read_object(page.text, candidates[0][1])[0]))
    return shown
