"""Windows without their text: which searches can have one, the bodies that ask for it, and when it is worth asking.

A window of 100 hits with their stored fields costs the engine more than the search itself. A bare window has none of
them, neither `_id` nor `_source`. There are two kinds:

    bags      the hits carry `doc_id` and their bag as doc values: indices of our own
    numbers   the hits carry their sequence numbers alone, and the bags are known from earlier searches: any index of
              one shard, since a sequence number counts within a shard

The few bags that are not known are fetched by their sequence numbers: as doc values from indices of our own, of others
with the text. That is a further request, so an index of our own is asked for numbers only while windows lack none.

Once the order is known, the hits of the page are fetched with all that the caller asked for (`page.py`). Where anything
does not fit together (a hit is gone or was written again, a bag is missing), the whole window is asked for instead.

The first search of an index is a whole window. A trial then asks for the bare one too, and compares: a search pipeline
or plugin that works on the hits' contents shows in that. A failure keeps whole windows for a while.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from cachetools import LRUCache, TTLCache

from reranker.base.raw_json import TOO_DEEP
from reranker.query_dsl.answer_filters import BAG_FIELD, FIELDS, ID_FIELD, URL_PARAMETERS

BAGS, NUMBERS = "bags", "numbers"

# How long an index is taken to be what a trial has shown, and how long whole windows are kept after a failure.
TRUST_S = 300.0
REST_S = 30.0
_MAX_KNOWN = 10_000
# A page of more than this share of the window gains nothing by a second request.
_MOST_OF_WINDOW = 0.5
# Of the bags of the last windows, so many have to be known for `numbers`; the last window counts by this weight. A
# window of our own counts as known where each of its bags is.
_LEAST_KNOWN = 0.8
# Of the bags of a window of sequence numbers; where more are unknown the whole window costs less.
MOST_FETCHED = 0.25
_WEIGHT_OF_LAST = 0.5

# What only the page needs; the window is asked for without it.
PAGE_ONLY = ("_source", "docvalue_fields", "fields", "highlight", "script_fields", "stored_fields", "version")
# What only the window needs: it decides which hits there are and what is said of all of them.
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
_PARAMETERS = frozenset(
    [
        *(*WINDOW_ONLY_PARAMETERS, *PAGE_ONLY_PARAMETERS),
        *("allow_no_indices", "allow_partial_search_results", "batched_reduce_size", "cancel_after_time_interval"),
        *("ccs_minimize_roundtrips", "error_trace", "expand_wildcards", "filter_path", "format", "from", "human"),
        *("ignore_throttled", "ignore_unavailable", "include_named_queries_score", "max_concurrent_searches"),
        *("max_concurrent_shard_requests", "pre_filter_shard_size", "preference", "pretty", "request_cache", "rerank"),
        *("rest_total_hits_as_int", "routing", "search_type", "seq_no_primary_term", "size", "sort", "source"),
        *("source_content_type", "stats", "timeout", "track_scores", "typed_keys"),
    ]
)
# Members of a multi-search's header.
_HEADER = _PARAMETERS | {"index"}
# They choose shards, so that a sequence number is not known to be of the one that was meant before.
_CHOOSE_SHARDS = ("routing", "preference")
# Within the body: `hybrid` cannot stand within another query; inner hits need the document that they are in; a
# completion's options are documents; the page's filter would be highlighted as well.
_WHOLE_ONLY = frozenset(["hybrid", "inner_hits", "completion", "require_field_match"])
# They take what they show of a hit from the query.
_SHOWS_QUERY = frozenset(["_name", "percolate"])
_MAX_DEPTH = 40
# Members of an answer; others are made by pipelines and plugins, perhaps of the hits' contents.
_ANSWER = frozenset(
    [
        *("took", "timed_out", "terminated_early", "num_reduce_phases", "_shards", "_clusters", "hits"),
        *("aggregations", "suggest", "status", "phase_took"),
    ]
)


class BarePlan(NamedTuple):
    """How a search can be asked for bare windows.

    Attributes:
        kinds: those that are possible.
        needs_query: whether the page's hits show what is made of the query, such as highlights.
    """

    kinds: tuple[str, ...] = ()
    needs_query: bool = False


def read_bare_plan(
    body: Mapping[str, Any], parameters: Mapping[str, str], header: bytes, page_size: int, n_fetch: int
) -> BarePlan:
    """What is possible by the caller's words. No kind where the body or the URL says anything that is not known to mean
    the same in two requests.

    Args:
        body: without our section.
        header: of the search's line in a multi-search.
    """
    named = json.loads(header) if header.strip() else {}
    if page_size > n_fetch * _MOST_OF_WINDOW or not (
        body.keys() <= _MEMBERS and parameters.keys() <= _PARAMETERS and named.keys() <= _HEADER
    ):
        return BarePlan()
    said = {name: body[name] for name in ("query", "highlight", "post_filter", "suggest") if name in body}
    found = _names(said)
    if found is None or found & _WHOLE_ONLY:
        return BarePlan()
    needs_query = "highlight" in body or bool(found & _SHOWS_QUERY)
    if needs_query and "q" in parameters:
        return BarePlan()
    chooses = any(name in parameters or name in named for name in _CHOOSE_SHARDS)
    return BarePlan((BAGS,) if chooses else (BAGS, NUMBERS), needs_query)


def _names(value: Any, depth: int = 0) -> set[str] | None:
    """All names of members below a value; None where it is nested too deeply."""
    if value is TOO_DEEP or depth > _MAX_DEPTH:
        return None
    parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    names = set(value) if isinstance(value, Mapping) else set()
    for part in parts:
        if isinstance(part, Mapping | list):
            inner = _names(part, depth + 1)
            if inner is None:
                return None
            names |= inner
    return names


# What the body for a bare window of each kind says besides the caller's.
BARE_MEMBERS: Mapping[str, Mapping[str, Any]] = {
    BAGS: {"stored_fields": "_none_", "docvalue_fields": list(FIELDS)},
    NUMBERS: {"stored_fields": "_none_"},
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
    bare: tuple[Mapping[str, Any], Sequence[Mapping[str, Any]]],
) -> bool:
    """Whether a bare window says the same as the whole one, each given as answer and hits."""
    (answer, hits), (bare_answer, bare_hits) = whole, bare
    if not (answer.keys() <= _ANSWER and bare_answer.keys() <= _ANSWER):
        return False
    if [place_of(hit) for hit in hits] != [place_of(hit) for hit in bare_hits]:
        return False
    if kind == NUMBERS:
        return is_of_one_shard(answer) and is_of_one_shard(bare_answer)
    if not all(stored_value(hit, BAG_FIELD) for hit in bare_hits):
        return False
    return [hit.get("_id") for hit in hits] == [stored_value(hit, ID_FIELD) for hit in bare_hits]


def stored_value(hit: Mapping[str, Any], name: str) -> Any:
    """The doc value of a hit; None where it has none, or several."""
    fields = hit.get("fields")
    values = fields.get(name) if isinstance(fields, dict) else None
    return values[0] if isinstance(values, list) and len(values) == 1 else None


class WindowMemory:
    """Remembers by the searched names which kind of window fits; safe to share between threads.

    Args:
        kinds: that may be asked for; none keeps whole windows.
    """

    def __init__(self, kinds: Collection[str] = (BAGS, NUMBERS), clock: Callable[[], float] = time.monotonic) -> None:
        self._kinds = kinds
        self._tried: TTLCache[tuple[str, ...], str] = TTLCache(_MAX_KNOWN, TRUST_S, clock)
        self._resting: TTLCache[tuple[bytes, tuple[str, ...]], bool] = TTLCache(_MAX_KNOWN, REST_S, clock)
        self._known_share: LRUCache[tuple[bytes, tuple[str, ...]], float] = LRUCache(_MAX_KNOWN)
        self._lock = threading.Lock()

    def kind_for(self, plan: BarePlan, caller: bytes, names: tuple[str, ...]) -> str | None:
        """The kind to ask for now; None for a whole window."""
        if not plan.kinds:
            return None
        with self._lock:
            kind = self._tried.get(names)
            if kind is None or (caller, names) in self._resting:
                return None
            is_known = self._known_share.get((caller, names), 0.0) >= _LEAST_KNOWN
        # The bags of an index of ours are known by their sequence numbers too, or come with the window.
        if is_known and NUMBERS in plan.kinds and NUMBERS in self._kinds:
            return NUMBERS
        return BAGS if kind == BAGS else None

    def kind_to_try(self, plan: BarePlan, caller: bytes, names: tuple[str, ...], has_stored_bags: bool) -> str | None:
        """The kind that a trial is due for; None for no trial."""
        kind = BAGS if has_stored_bags else NUMBERS
        if kind not in plan.kinds or kind not in self._kinds:
            return None
        with self._lock:
            is_due = self._tried.get(names) != kind and (caller, names) not in self._resting
            is_due = is_due and (has_stored_bags or self._known_share.get((caller, names), 0.0) >= _LEAST_KNOWN)
        return kind if is_due else None

    def fits(self, names: tuple[str, ...], kind: str) -> None:
        """A trial has shown it."""
        with self._lock:
            self._tried[names] = kind

    def lost(self, caller: bytes, names: tuple[str, ...], known_share: float | None) -> None:
        """A bare window was of no use. If its bags were not known, whole windows follow until most are known again.

        Args:
            known_share: of its bags; None where that does not matter.
        """
        if known_share is not None and 1 - known_share > MOST_FETCHED:
            self.note_known(caller, names, known_share)
        else:
            self.failed(caller, names)

    def failed(self, caller: bytes, names: tuple[str, ...]) -> None:
        """A bare window, its page or a trial did not fit together."""
        with self._lock:
            self._resting[caller, names] = True

    def note_known(self, caller: bytes, names: tuple[str, ...], share: float) -> None:
        """The share of a window's bags that were known."""
        with self._lock:
            before = self._known_share.get((caller, names), 0.0)
            self._known_share[caller, names] = before + _WEIGHT_OF_LAST * (share - before)
