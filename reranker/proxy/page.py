"""Cuts the page out of ranked windows, and fetches its hits where the window came without their text."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from reranker.base.raw_json import RawObject
from reranker.proxy.bare_windows import BAGS, WINDOW_ONLY, DocumentPlace, place_of, stored_value
from reranker.proxy.fetch import REPLACED_FOR_PAGE, ask
from reranker.proxy.search import PagePlan, Place, Search, SearchRequest
from reranker.query_dsl.answer_filters import ID_FIELD, URL_PARAMETERS
from reranker.ranking.ranked import Reranking
from reranker.ranking.scores import scores_behind
from reranker.upstream.answers import SearchAnswer, page_reader
from reranker.upstream.calls import Fallback


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
    wanted: list[tuple[Search, list[Place]]] = []
    for search in request.searches:
        answer = search.answer
        if search.bare_kind is None or search.is_lost or answer is None:
            continue
        if answer.hits is None or (search.status == "fallback" and search.reason != "no_text_in_hits"):
            search.is_lost, search.known_share = True, None
        elif places := page_places(search.page, search.ranking, len(answer.found)):
            wanted.append((search, places))
            if search.bare_kind == BAGS:
                search.doc_ids = [str(stored_value(hit, ID_FIELD)) for hit in answer.found]
    if not wanted:
        return
    # Documents of ours come whole: to find their members the engine would read the vector, which takes it longer than
    # all else of the page. All pages of a request are read alike. Where their filters differ the engine applies them.
    filters = {search.source_filter.plain if search.has_stored_bags else None for search, _ in wanted}
    plain = filters.pop() if len(filters) == 1 else None
    bodies = [(search.header, _page_body(search, places, plain is not None)) for search, places in wanted]
    replaced = REPLACED_FOR_PAGE if plain is None else (*REPLACED_FOR_PAGE, *URL_PARAMETERS)
    answers: Sequence[SearchAnswer] = ()
    with suppress(Fallback):
        answers = ask(request, bodies, request.calls.search_again, replaced, page_reader(*(plain or ((), ())))).answers
    for number, (search, places) in enumerate(wanted):
        if number >= len(answers) or not _show(search, places, answers[number]):
            search.is_lost, search.known_share = True, None


def _page_body(search: Search, places: Sequence[Place], with_whole_source: bool) -> bytes:
    """The caller's body for some of the hits that a bare window found."""
    named: dict[str, Any] = {"terms": {"_seq_no": [search.found[place.index].get("_seq_no") for place in places]}}
    n_most = len(places)
    if search.bare_kind == BAGS:
        ids = sorted({search.doc_ids[place.index] for place in places})
        named = {"ids": {"values": ids}}
        # Several indices may have the same id.
        n_most = len(ids) * len({hit.get("_index") for hit in search.found})
    clause = search.clause if search.translation is None else search.translation.query
    query = named  # by itself: within a `bool` it takes the engine a little longer
    if search.bare_plan.needs_query and clause is not None:
        query = {"bool": {"filter": [named], "must": [clause]}}
    changed = {"query": query, "size": n_most, "seq_no_primary_term": True, "track_total_hits": False}
    if with_whole_source:
        changed["_source"] = True
    return search.changed_body(changed, ("from", *WINDOW_ONLY))


def _show(search: Search, places: Sequence[Place], page: SearchAnswer) -> bool:
    """Gives a search the hits of its page, in their order. False where one is not there as the window found it."""
    found: dict[DocumentPlace, list[RawObject]] = {}
    for element in [] if page.hits is None else page.hits.elements:
        hit: RawObject = element.parsed
        found.setdefault(place_of(hit.parsed), []).append(hit)
    shown = []
    for place in places:
        hits = found.get(place_of(search.found[place.index]), [])
        # Not known of a hit behind the window.
        doc_id = search.doc_ids[place.index] if place.index < len(search.doc_ids) else None
        if len(hits) > 1:  # of several shards
            hits = [hit for hit in hits if hit.parsed.get("_id") == doc_id]
        if len(hits) != 1:
            return False
        search.was_misread |= doc_id not in (None, hits[0].parsed.get("_id"))
        shown.append((place, page.text, hits[0]))
    search.shown = shown
    return not search.was_misread
