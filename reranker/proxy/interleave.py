"""Interleaves our order of a window with the engine's, and records which hits came from which."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import attrgetter

from reranker.base.errors import StoreUnavailable
from reranker.proxy.page import Page
from reranker.proxy.rank import RankedWindow, Teams, offset_after
from reranker.proxy.search import ProxyRequest, Search
from reranker.proxy.window import AsItCame
from reranker.proxy.window_kinds import PAGE_ONLY, URL_QUERY
from reranker.traffic.file import TrafficFile
from reranker.traffic.interleaving import search_id, team_draft

# What decides neither which hits a window has nor how they are ordered, and may differ from page to page. Of `ext` only
# a part of ours does.
_NOT_OF_WINDOW = frozenset(
    [
        *(*PAGE_ONLY, "from", "size", "search_after", "pit", "ext"),
        *("aggregations", "aggs", "suggest", "track_total_hits", "track_scores", "seq_no_primary_term"),
        *("explain", "profile", "stats", "timeout"),
    ]
)
_SECTION_NOT_OF_WINDOW = frozenset(["details", "highlight"])
_PARAMETERS_OF_WINDOW = frozenset([*URL_QUERY, "routing", "search_type", "sort", "terminate_after"])

_log = logging.getLogger(__name__)


class Interleaver:
    """Safe to share between threads and forked processes."""

    def __init__(self, file: TrafficFile) -> None:
        self._file = file

    def interleave(self, request: ProxyRequest, ranked: Sequence[RankedWindow]) -> list[RankedWindow]:
        """The windows in the order of both; as they are those without a ranking, and those of searches that ask how it
        came about, as the page does."""
        return [
            one if one.ranking is None or one.window.search.with_details else _interleaved(request, one)
            for one in ranked
        ]

    def record(self, lines: Sequence[Page | AsItCame]) -> None:
        """Adds pages to the traffic file. Where that fails they are lost to the verdict, and the search goes on."""
        for line in lines:
            if isinstance(line, AsItCame) or line.ranked.teams is None:
                continue
            doc_ids = (str(answer.found[index].get("_id")) for _, answer, index in line.hits)
            of_hits = dict(zip(doc_ids, line.teams, strict=True))
            try:
                self._file.add_interleaved(line.ranked.teams.search_id, _query_id(line.ranked.window.search), of_hits)
            except StoreUnavailable as error:
                _log.warning("%s", error)


def _interleaved(request: ProxyRequest, ranked: RankedWindow) -> RankedWindow:
    assert ranked.ranking is not None  # noqa: S101 - the caller has looked
    search, incoming, documents = ranked.window.search, request.calls.incoming, ranked.ranking.documents
    target = ",".join(search.indices) or incoming.path
    known_as = search_id(incoming.caller, target, _window_text(search, incoming.parameters), time.time())
    in_engines_order = sorted(documents, key=attrgetter("index"))  # of the window, without those that are left out
    place_of = {one.index: place for place, one in enumerate(in_engines_order)}
    places, by_rank = team_draft([place_of[one.index] for one in documents], known_as.encode())
    # Scores never rise from hit to hit: each place keeps its score.
    in_turn = [
        replace(in_engines_order[place], reranked_rank=rank, score=documents[rank - 1].score)
        for rank, place in enumerate(places, start=1)
    ]
    ranking = replace(ranked.ranking, documents=in_turn)
    offset = ranked.offset if search.page.after is None else offset_after(ranked.window, ranking)
    teams = Teams(known_as, by_rank, ranked.ranking.has_no_good_answer)
    return replace(ranked, ranking=ranking, offset=offset or 0, teams=teams)


def _window_text(search: Search, parameters: Mapping[str, str]) -> str:
    """What decides the window of a search and its order: the same for all its pages."""
    parts = [
        {name: value for name, value in search.body.raw.parsed.items() if name not in _NOT_OF_WINDOW},
        {name: value for name, value in (search.body.section or {}).items() if name not in _SECTION_NOT_OF_WINDOW},
        {name: value for name, value in parameters.items() if name in _PARAMETERS_OF_WINDOW},
        search.header.decode(errors="replace"),
    ]
    return json.dumps(parts, sort_keys=True)


def _query_id(search: Search) -> str | None:
    """That of OpenSearch's User Behavior Insights; None where there is none, or it is no text that can be stored."""
    ext = search.body.raw.parsed.get("ext")
    section = ext.get("ubi") if isinstance(ext, Mapping) else None
    found = section.get("query_id") if isinstance(section, Mapping) else None
    is_text = isinstance(found, str) and found.encode(errors="ignore").decode() == found  # no half a surrogate pair
    return found if is_text else None
