"""What a window is asked for: its hits with their contents, or their identities alone.

A window of 100 hits with their stored fields costs the engine more than the search itself. An ids-only window has none
of them, neither `_id` nor `_source`. There are two kinds, and one rule chooses between them:

    sequence_numbers    the hits carry their sequence numbers, by which bags are cached, and others fetched: indices of
                        one shard, as these numbers count within a shard, where the same text was searched before
                        or many documents of the last new text were cached
    stored_bags         the hits carry `doc_id` and their bag of words as doc values: indices of our own

All else is asked for whole: most documents of a new search are not cached, and one request for all of them costs the
engine and the proxy less than three. Once the order is known, the hits of the page are fetched with all that the caller
asked for (`page.py`). Where anything does not fit together (a hit is gone or was written again, a bag is missing), the
search is done again with the whole window (`Proxy._rerank`).

The first search of an index is a whole window. Its ids-only window is then asked for too, and compared: a search
pipeline or plugin that works on the hits' contents shows in that. After a failure windows are whole for a while.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from cachetools import TTLCache

from mappings import BAG_FIELD, ID_FIELD, RANKING_FIELDS
from reranker.query_dsl.clauses import objects_within
from reranker.query_dsl.source_filter import URL_PARAMETERS

SEQUENCE_NUMBERS, STORED_BAGS = "sequence_numbers", "stored_bags"
# The one that costs less first.
IDS_ONLY = (SEQUENCE_NUMBERS, STORED_BAGS)

# How long a comparison counts, and how long windows are whole after a failure.
TRUST_S = 300.0
REST_S = 30.0
_MAX_KNOWN = 10_000
# A page of more than this share of the window gains nothing by a second request.
_MOST_OF_WINDOW = 0.5

# Where a larger share of a window is cached, a request for the rest and one for the page take the engine less than the
# whole window: from .37 on for documents of 10 kB, .46 for 1 kB.
_ENOUGH_CACHED = 0.4

# What only the page needs; the window is asked for without it.
PAGE_ONLY = ("_source", "docvalue_fields", "fields", "highlight", "script_fields", "stored_fields", "version")
# Of these the engine may find a mistake, which it would show also where the page has no hit.
_MAY_BE_WRONG = frozenset(PAGE_ONLY) - {"_source", "version"}
# What only the window needs: it decides which hits there are, and counts them.
WINDOW_ONLY = ("aggregations", "aggs", "min_score", "suggest", "terminate_after", "track_total_hits")
_BOTH = (
    *("from", "indices_boost", "post_filter", "query", "runtime_mappings", "seq_no_primary_term", "size", "sort"),
    *("stats", "timeout", "track_scores", "include_named_queries_score"),
)
_MEMBERS = frozenset([*PAGE_ONLY, *WINDOW_ONLY, *_BOTH])

# Of the URL's query; once it is translated it stands in the body.
URL_QUERY = ("q", "df", "analyzer", "default_operator", "lenient", "analyze_wildcard")
WINDOW_ONLY_PARAMETERS = (
    *("terminate_after", "track_total_hits", "suggest_field", "suggest_mode", "suggest_size", "suggest_text"),
    *URL_QUERY,
)
PAGE_ONLY_PARAMETERS = ("docvalue_fields", "stored_fields", "version", *URL_PARAMETERS)
PARAMETERS = frozenset(
    [
        *(*WINDOW_ONLY_PARAMETERS, *PAGE_ONLY_PARAMETERS),
        *("allow_no_indices", "allow_partial_search_results", "batched_reduce_size", "cancel_after_time_interval"),
        *("ccs_minimize_roundtrips", "error_trace", "expand_wildcards", "filter_path", "format", "from", "human"),
        *("ignore_throttled", "ignore_unavailable", "include_named_queries_score", "max_concurrent_searches"),
        *("max_concurrent_shard_requests", "pre_filter_shard_size", "preference", "pretty", "request_cache", "rerank"),
        *("rest_total_hits_as_int", "routing", "search_type", "seq_no_primary_term", "size", "sort"),
        *("stats", "timeout", "track_scores", "typed_keys"),
    ]
)
# Members of a multi-search's header.
_HEADER = PARAMETERS | {"index"}
# They choose shards, so that a sequence number is not known to be of the one that was meant before.
_CHOOSE_SHARDS = ("routing", "preference")
# Within the body: `hybrid` cannot stand within another query; inner hits need the document that they are in;
# the page's filter would be highlighted as well; `top_hits` show the `fields` of the search.
_WHOLE_ONLY = frozenset(["hybrid", "inner_hits", "require_field_match", "top_hits"])
# What a hit shows of them depends on the query.
_SHOWS_QUERY = frozenset(["_name", "percolate"])
# Members of an answer; others are made by pipelines and plugins, perhaps of the hits' contents.
_ANSWER = frozenset(
    [
        *("took", "timed_out", "terminated_early", "num_reduce_phases", "_shards", "_clusters", "hits"),
        *("aggregations", "suggest", "status", "phase_took"),
    ]
)


class WindowPlan(NamedTuple):
    """How a search can be asked for an ids-only window.

    Attributes:
        kinds: those that are possible.
        needs_query: whether the page's hits show what is made of the query, such as highlights.
        needs_page: whether the page is asked for something that the window is not, and that the engine may refuse.
    """

    kinds: tuple[str, ...] = ()
    needs_query: bool = False
    needs_page: bool = False


def read_window_plan(
    body: Mapping[str, Any], parameters: Mapping[str, str], header: bytes, page_size: int, n_fetch: int
) -> WindowPlan:
    """What is possible by the caller's words. No kind where the body or the URL says anything that is not known to mean
    the same in two requests.

    Args:
        body: without our section.
        header: of the search's line in a multi-search.
    """
    named = json.loads(header) if header.strip() else {}
    if page_size > n_fetch * _MOST_OF_WINDOW or not (
        body.keys() <= _MEMBERS and parameters.keys() <= PARAMETERS and named.keys() <= _HEADER
    ):
        return WindowPlan()
    parts = [body.get(name) for name in ("query", "highlight", "post_filter", "suggest")]
    if "fields" in body:
        parts += [body.get("aggs"), body.get("aggregations")]
    found = {name for one in objects_within(parts) for name in one}
    if found & _WHOLE_ONLY:
        return WindowPlan()
    needs_query = "highlight" in body or bool(found & _SHOWS_QUERY)
    if needs_query and "q" in parameters:
        return WindowPlan()
    chooses = any(name in parameters or name in named for name in _CHOOSE_SHARDS)
    needs_page = bool(body.keys() & _MAY_BE_WRONG or parameters.keys() & _MAY_BE_WRONG)
    return WindowPlan((STORED_BAGS,) if chooses else IDS_ONLY, needs_query, needs_page)


# What the body for an ids-only window of each kind says besides the caller's.
IDS_ONLY_MEMBERS: Mapping[str, Mapping[str, Any]] = {
    STORED_BAGS: {"stored_fields": "_none_", "docvalue_fields": list(RANKING_FIELDS)},
    SEQUENCE_NUMBERS: {"stored_fields": "_none_"},
}


DocumentPlace = tuple[str, Any, Any]
"""Of a document at one time: its index, sequence number and primary term."""


def place_of(hit: Mapping[str, Any]) -> DocumentPlace:
    return str(hit.get("_index")), hit.get("_seq_no"), hit.get("_primary_term")


def is_of_one_shard(answer: Mapping[str, Any]) -> bool:
    shards = answer.get("_shards")
    return isinstance(shards, Mapping) and shards.get("total") == 1


def is_same_window(
    kind: str,
    whole: tuple[Mapping[str, Any], Sequence[Mapping[str, Any]]],
    ids_only: tuple[Mapping[str, Any], Sequence[Mapping[str, Any]]],
) -> bool:
    """Whether an ids-only window says the same as the whole one, each given as answer and hits."""
    (answer, hits), (other_answer, other_hits) = whole, ids_only
    if not (answer.keys() <= _ANSWER and other_answer.keys() <= _ANSWER):
        return False
    if [place_of(hit) for hit in hits] != [place_of(hit) for hit in other_hits]:
        return False
    if kind == SEQUENCE_NUMBERS:
        return True
    if not all(stored_value(hit, BAG_FIELD) for hit in other_hits):
        return False
    return [hit.get("_id") for hit in hits] == [stored_value(hit, ID_FIELD) for hit in other_hits]


def stored_value(hit: Mapping[str, Any], name: str) -> Any:
    """The doc value of a hit; None where it has none, or several."""
    fields = hit.get("fields")
    values = fields.get(name) if isinstance(fields, dict) else None
    return values[0] if isinstance(values, list) and len(values) == 1 else None


class WindowKinds:
    """Remembers which kind of window serves a search of the same names; safe to share between threads.

    Args:
        kinds: that may be asked for; none keeps whole windows.
    """

    def __init__(self, kinds: Collection[str] = IDS_ONLY, clock: Callable[[], float] = time.monotonic) -> None:
        self._kinds = kinds
        # By the hashes of names and texts, which have any length.
        self._compared: TTLCache[tuple[int, str], bool] = TTLCache(_MAX_KNOWN, TRUST_S, clock)
        self._resting: TTLCache[tuple[bytes, int], bool] = TTLCache(_MAX_KNOWN, REST_S, clock)
        # By the text of a query; with None whether most documents of the last new text were cached.
        self._is_cached: TTLCache[tuple[bytes, int, int | None], bool] = TTLCache(_MAX_KNOWN, TRUST_S, clock)
        self._lock = threading.Lock()

    def kind_for(self, plan: WindowPlan, caller: bytes, names: tuple[str, ...], text: str) -> str | None:
        """The kind to ask for now; None for a whole window.

        Args:
            text: that hits are ranked by.
        """
        if not plan.kinds:
            return None
        with self._lock:
            if (caller, hash(names)) in self._resting:
                return None
            is_cached = any(self._is_cached.get((caller, hash(names), one)) for one in (None, hash(text)))
            for kind in plan.kinds:
                if (kind == STORED_BAGS or is_cached) and (hash(names), kind) in self._compared:
                    return kind
            return None

    def is_answered(self, caller: bytes, names: tuple[str, ...], text: str, cached_share: float) -> None:
        """The bags of a window for this text are cached.

        Args:
            cached_share: of them, that were so before, 0 to 1.
        """
        key = caller, hash(names), hash(text)
        with self._lock:
            if key not in self._is_cached:
                self._is_cached[key] = True
                self._is_cached[caller, hash(names), None] = cached_share > _ENOUGH_CACHED

    def is_to_compare(self, kind: str, plan: WindowPlan, caller: bytes, names: tuple[str, ...]) -> bool:
        """Whether it is yet to be seen that windows of a kind say the same as whole ones."""
        if kind not in plan.kinds or kind not in self._kinds:
            return False
        with self._lock:
            return (hash(names), kind) not in self._compared and (caller, hash(names)) not in self._resting

    def is_same(self, names: tuple[str, ...], kind: str) -> None:
        """A comparison has shown it."""
        with self._lock:
            self._compared[hash(names), kind] = True

    def failed(self, caller: bytes, names: tuple[str, ...]) -> None:
        """An ids-only window or its page did not fit together, or a comparison failed."""
        with self._lock:
            self._resting[caller, hash(names)] = True
