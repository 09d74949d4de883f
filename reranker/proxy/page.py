"""Cuts the page out of ranked windows, and fetches its hits where the window came without their text."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from reranker.proxy.answer_filters import ID_FIELD, URL_PARAMETERS
from reranker.proxy.answers import SearchAnswer, read_page
from reranker.proxy.bare_windows import BAGS, WINDOW_ONLY, DocumentPlace, place_of, stored_value
from reranker.proxy.fetch import REPLACED_FOR_PAGE, ask
from reranker.proxy.raw_json import RawObject
from reranker.proxy.search import PagePlan, Search, SearchRequest
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


def page_places(page: PagePlan, ranking: Reranking | None, n_hits: int) -> list[Place]:
    """The hits of the caller's page, in their order: the re-ranked ones, then those behind the window as the engine
    has them. Scores fall over all pages: those behind the window are below every score in it.

    Args:
        ranking: of the hits of the window; None where the engine's order and scores stay.
        n_hits: hits that the engine brought.
    """
    end = page.offset + page.size
    if ranking is None and not page.is_behind:
        return [Place(index, None, index + 1, index + 1) for index in range(page.offset, min(n_hits, end))]
    ranked = () if ranking is None else ranking.documents
    places = [
        Place(one.index, one.score, rank, one.index + 1, one)
        for rank, one in enumerate(ranked[page.offset : end], page.offset + 1)
    ]
    first, last = max(len(ranked), page.offset), min(page.fetched_from + n_hits, end)
    if first < last:
        scores = scores_behind(page.window, max(first, page.window) + 1, last - first)
        places += [
            Place(rank - 1 - page.fetched_from, score, rank, rank) for rank, score in enumerate(scores, first + 1)
        ]
    return places


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
        elif hits := _wanted(search, answer):
            wanted.append((search, hits))
    if not wanted:
        return
    bodies = [(search.header, _page_body(search, hits)) for search, hits in wanted]
    answers: Sequence[SearchAnswer] = ()
    with suppress(Fallback):
        replaced = (*REPLACED_FOR_PAGE, *URL_PARAMETERS) if wanted[0][0].is_page_cut else REPLACED_FOR_PAGE
        answers = ask(request, bodies, request.calls.search_again, replaced, read_page).answers
    for number, (search, hits) in enumerate(wanted):
        shown = _in_order(hits, answers[number]) if number < len(answers) else None
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


def _wanted(search: Search, answer: SearchAnswer) -> list[_Wanted]:
    """The hits of the page, in their order."""
    wanted = []
    for place in page_places(search.page, search.ranking, len(answer.found)):
        hit = answer.found[place.index]
        doc_id: str | None
        if search.bare_kind == BAGS:
            doc_id = str(stored_value(hit, ID_FIELD))
        else:
            doc_id = search.doc_ids[place.index] if place.index < len(search.doc_ids) else None
        wanted.append(_Wanted(place_of(hit), doc_id))
    return wanted


def _page_body(search: Search, hits: Sequence[_Wanted]) -> bytes:
    """The caller's body for some of the hits that a bare window found."""
    named: dict[str, Any] = {"terms": {"_seq_no": [hit.at[1] for hit in hits]}}
    n_most = len(hits)
    if search.bare_kind == BAGS:
        ids = sorted({hit.doc_id or "" for hit in hits})
        named = {"ids": {"values": ids}}
        # Several indices may have the same id.
        n_most = len(ids) * len({hit.get("_index") for hit in search.found})
    query: dict[str, Any] = {"bool": {"filter": [named]}}
    clause = search.clause if search.translation is None else search.translation.query
    if search.bare_plan.needs_query and clause is not None:
        query["bool"]["must"] = [clause]
    changed = {"query": query, "size": n_most, "seq_no_primary_term": True, "track_total_hits": False}
    if search.is_page_cut:
        changed["_source"] = True
    return search.changed_body(changed, ("from", *WINDOW_ONLY))


def _in_order(hits: Sequence[_Wanted], page: SearchAnswer) -> list[tuple[str, RawObject]] | None:
    """The page's hits in this order; None where one is not there as the window found it."""
    found: dict[DocumentPlace, list[RawObject]] = {}
    for element in [] if page.hits is None else page.hits.elements:
        found.setdefault(place_of(element.parsed.parsed), []).append(element.parsed)
    shown = []
    for wanted in hits:
        candidates = found.get(wanted.at, [])
        if len(candidates) > 1:  # of several shards
            candidates = [one for one in candidates if one.parsed.get("_id") == wanted.doc_id]
        if len(candidates) != 1:
            return None
        shown.append((page.text, candidates[0]))
    return shown
