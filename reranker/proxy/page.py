"""Cuts the page out of ranked windows, and fetches its hits where the window came without their contents."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mappings import ID_FIELD
from reranker.proxy.fetch import REPLACED_FOR_PAGE, ask, fetch_as_it_came
from reranker.proxy.hit_texts import HitTexts
from reranker.proxy.rank import RankedWindow
from reranker.proxy.read import Skip
from reranker.proxy.search import Outcome, ProxyRequest, Search
from reranker.proxy.window import AsItCame, Misfit
from reranker.proxy.window_kinds import SEQUENCE_NUMBERS, STORED_BAGS, WINDOW_ONLY, place_of, stored_value
from reranker.ranking.ranked import RankedDocument
from reranker.ranking.scores import scores_behind
from reranker.traffic.interleaving import BOTH
from reranker.upstream.answers import EngineAnswer, Fetched
from reranker.upstream.calls import Fallback
from reranker.upstream.incoming import without_parameters


@dataclass(slots=True)
class Place:
    """Where a hit goes.

    Attributes:
        index: its place among the hits of the engine's answer, from 0.
        score: the new one; None to leave the engine's.
        rank: the new one, over all pages, from 1.
        ranked: what re-ranking says of it; None where the engine's order gave it its place.
    """

    index: int
    score: float | None
    rank: int
    ranked: RankedDocument | None = None


PageHit = tuple[Place, EngineAnswer, int]
"""Where a hit goes, an answer of the engine, and the hit's place in it."""


@dataclass(frozen=True, slots=True, eq=False)
class Page:
    """The caller's page of a search.

    Attributes:
        hits: in their order.
        highlights: new ones, as JSON, by the places of hits on the page.
    """

    ranked: RankedWindow
    hits: Sequence[PageHit]
    highlights: Mapping[int, str] = field(default_factory=dict)

    @property
    def outcome(self) -> Outcome:
        return self.ranked.outcome

    @property
    def teams(self) -> list[str]:
        """Which order each hit came from, where the window is interleaved; behind the window both orders are alike."""
        by_rank = () if self.ranked.teams is None else self.ranked.teams.by_rank
        return [by_rank[place.rank - 1] if place.rank <= len(by_rank) else BOTH for place, _, _ in self.hits]


def fetch_pages(
    request: ProxyRequest, ranked: Sequence[RankedWindow], texts: HitTexts
) -> tuple[Sequence[Page | AsItCame], float]:
    """The pages of a request's windows, and how long the engine took for them. Hits of ids-only windows are fetched, in
    one request. Of a multi-search those that only the engine can answer are asked as they came: it may refuse the
    window alone, and its errors are to be about what the caller wrote. Translated ones stay in translation.

    Raises:
        Skip, Fallback: it is a `_search` that only the engine can answer, as it came.
        Misfit: a hit is not as an ids-only window found it.
        Refused, Fallback, EngineUnreachable, EngineTimeout: the engine has no answer to what it is asked as it came.
    """
    as_it_came = [one for one in ranked if one.is_for_engine]
    if as_it_came and not request.is_multi and as_it_came[0].window.found_by is None:
        status, reason, message = as_it_came[0].outcome
        raise Fallback(reason, message) if status == "fallback" else Skip(reason)
    places = {one: places_of(one) for one in ranked if not one.is_for_engine}
    ids_only = [(one, own) for one, own in places.items() if one.window.kind is not None]
    to_fetch = [(one, own) for one, own in ids_only if own or one.window.search.window_plan.needs_page]
    fetched = _fetch_hits(request, to_fetch) if to_fetch else None
    hits = _hits_of_pages(to_fetch, [] if fetched is None else fetched.answers, texts)
    unranked = fetch_as_it_came(request, [one.window for one in as_it_came]) if as_it_came else None
    answers = iter(() if unranked is None else unranked.answers)
    pages: list[Page | AsItCame] = []
    for one in ranked:
        if one.is_for_engine:
            pages.append(AsItCame(next(answers), one.outcome))
        elif one.window.kind is not None:
            pages.append(Page(one, hits.get(one, ())))
        else:
            pages.append(Page(one, [(place, one.window.answer, place.index) for place in places[one]]))
    return pages, sum(one.took_s for one in (fetched, unranked) if one is not None)


def places_of(ranked: RankedWindow) -> list[Place]:
    """The hits of the caller's page, in their order: the re-ranked ones, then those behind the window as the engine
    has them. Scores fall over all pages: those behind the window are below every score in it."""
    page, ranking, offset = ranked.window.search.page, ranked.ranking, ranked.offset
    n_hits = len(ranked.window.answer.found)
    end = offset + page.size
    if ranking is None and not page.is_behind:
        return [Place(index, None, index + 1) for index in range(offset, min(n_hits, end))]
    documents = () if ranking is None else ranking.documents
    places = [Place(one.index, one.score, rank, one) for rank, one in enumerate(documents[offset:end], offset + 1)]
    if page.is_cut:
        return places
    first, last = max(len(documents), offset), min(page.fetched_from + n_hits, end)
    if first < last:
        scores = scores_behind(page.window, max(first, page.window) + 1, last - first)
        places += [Place(rank - 1 - page.fetched_from, score, rank) for rank, score in enumerate(scores, first + 1)]
    return places


def _fetch_hits(request: ProxyRequest, pages: Sequence[tuple[RankedWindow, Sequence[Place]]]) -> Fetched:
    bodies = [(ranked.window.search.header, _page_body(ranked, places)) for ranked, places in pages]
    query_string = without_parameters(request.calls.incoming.query_string, REPLACED_FOR_PAGE)
    try:
        return ask(request, bodies, request.calls.search_again, query_string)
    except Fallback as failed:
        raise Misfit([ranked.window.search for ranked, _ in pages]) from failed


def _page_body(ranked: RankedWindow, places: Sequence[Place]) -> bytes:
    """The caller's body for some of the hits that an ids-only window found."""
    window, found = ranked.window, ranked.window.answer.found
    named: dict[str, Any] = {"terms": {"_seq_no": [found[place.index].get("_seq_no") for place in places]}}
    n_most = len(places)
    if window.kind == STORED_BAGS:
        ids = sorted({str(stored_value(found[place.index], ID_FIELD)) for place in places})
        named = {"ids": {"values": ids}}
        # Several indices may have the same id.
        n_most = len(ids) * len({hit.get("_index") for hit in found})
    clause = window.search.clause if window.translation is None else window.translation.query
    query = named  # by itself: within a `bool` it takes the engine a little longer
    if window.search.window_plan.needs_query and clause is not None:
        query = {"bool": {"filter": [named], "must": [clause]}}
    size = max(n_most, 1)  # without hits the engine would not read all of the body
    changed = {"query": query, "size": size, "seq_no_primary_term": True, "track_total_hits": False}
    return window.search.changed_body(changed, ("from", *WINDOW_ONLY))


def _hits_of_pages(
    pages: Sequence[tuple[RankedWindow, Sequence[Place]]], answers: Sequence[EngineAnswer], texts: HitTexts
) -> dict[RankedWindow, list[PageHit]]:
    """The fetched hits of each page, in their order.

    Raises:
        Misfit: one is not there as the window found it, or the engine refuses the page.
    """
    found: dict[RankedWindow, list[PageHit]] = {}
    misfits: list[Search] = []
    for (ranked, places), answer in zip(pages, answers, strict=True):
        documents = {
            (place_of(one), name): number for number, one in enumerate(answer.found) for name in (one.get("_id"), None)
        }
        found_by = [(place_of(ranked.window.answer.found[one.index]), _doc_id(ranked, one)) for one in places]
        if answer.hits is not None and documents.keys() >= set(found_by):
            numbers = map(documents.__getitem__, found_by)
            found[ranked] = [(place, answer, number) for place, number in zip(places, numbers, strict=True)]
        if ranked not in found or (places and _has_changed(ranked, texts, *random.choice(found[ranked]))):  # noqa: S311
            misfits.append(ranked.window.search)
    if misfits:
        raise Misfit(misfits)
    return found


def _has_changed(ranked: RankedWindow, texts: HitTexts, place: Place, answer: EngineAnswer, number: int) -> bool:
    """Whether a hit has other words than its bag, which was cached by its sequence number: an index that was deleted
    and loaded again has the same numbers and ids for other texts. One hit of a page is looked at, since ten take 2 % of
    the time of a search."""
    window, bags = ranked.window, ranked.collected
    if window.kind != SEQUENCE_NUMBERS or bags is None or place.index >= len(bags.bags):
        return False
    source = answer.found[number].get("_source")
    return isinstance(source, Mapping) and texts.has_changed(window, bags, place.index, source)


def _doc_id(ranked: RankedWindow, place: Place) -> str | None:
    """The id of a hit of an ids-only window; None where it is not known, of a hit behind the window, whose place names
    it in an index of one shard."""
    if ranked.window.kind == STORED_BAGS:
        return str(stored_value(ranked.window.answer.found[place.index], ID_FIELD))
    ids = () if ranked.collected is None else ranked.collected.doc_ids
    return ids[place.index] if place.index < len(ids) else None
