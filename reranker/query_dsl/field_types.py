"""Reads from the engine's mappings which of the fields that a query names hold text, and from where they are filled.

The engine is asked with the caller's own rights (`_mapping/field`, which a right to read brings), for the named fields
alone, and what it says is kept for some minutes. Where it refuses or is slow, queries are read without the mapping.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import quote, unquote

from cachetools import TLRUCache, TTLCache

from reranker.query_dsl.scoring import FieldType, FieldTypes
from reranker.upstream.calls import EngineCalls, Fallback

# How long a mapping is taken to be what it was.
TRUST_S = 300.0
# The same for a field that is not in it, which the next document may add, and for a call that failed.
RETRY_S = 10.0
_MAX_KNOWN_FIELDS = 10_000
# Of one call; URLs end at 4 KB in both engines.
_MAX_NAMES = 100
_MAX_PATH_CHARS = 3_000
# Of one request, which may search in many indices.
_MAX_CALLS = 5
_SHARE_OF_TIME = 0.25
_TEXT_TYPES = frozenset(
    ["annotated_text", "match_only_text", "search_as_you_type", "semantic", "semantic_text", "text"]
)
_LENIENT = "ignore_unavailable=true&allow_no_indices=true"

_Key = tuple[bytes, str, str]


class FieldTypeCache:
    """Remembers the types of fields; safe to share between threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._known: TLRUCache[_Key, FieldType | None] = TLRUCache(_MAX_KNOWN_FIELDS, _due_at, clock)
        self._failed: TTLCache[tuple[bytes, str], None] = TTLCache(_MAX_KNOWN_FIELDS, RETRY_S, clock)
        self._lock = threading.Lock()

    def get(self, caller: bytes, place: str, names: Collection[str]) -> dict[str, FieldType | None]:
        """The types of those fields that are known, None for one that is in no mapping."""
        keys = {name: (caller, place, name) for name in names}
        with self._lock, self._known.timer:  # at one moment
            return {name: self._known[key] for name, key in keys.items() if key in self._known}

    def put(self, caller: bytes, place: str, types: Mapping[str, FieldType | None]) -> None:
        with self._lock:
            self._known.update({(caller, place, name): kind for name, kind in types.items()})

    def has_failed(self, caller: bytes, place: str) -> bool:
        """Whether a call failed a moment ago."""
        with self._lock:
            return (caller, place) in self._failed

    def failed(self, caller: bytes, place: str) -> None:
        with self._lock:
            self._failed[caller, place] = None


def _due_at(key: _Key, kind: FieldType | None, now: float) -> float:
    return now + (RETRY_S if kind is None else TRUST_S)


@dataclass
class CallerMappings:
    """The mappings that one request may read.

    Attributes:
        calls: those of the request, whose caller counts, and `expand_wildcards`.
        n_calls: of mappings, that were made so far.
    """

    cache: FieldTypeCache
    calls: EngineCalls
    n_calls: int = 0

    def searched(self, raw_path: str, named: Any = None) -> tuple[FieldTypes, tuple[str, ...]]:
        """The types of the fields of the indices that a search names, and these indices, patterns among them; none
        where it searches in all.

        Args:
            raw_path: `/{indices}/_search`, percent-encoded.
            named: the `index` of a multi-search's header, a name or a list of them, which goes before the path.
        """
        names = named if isinstance(named, list) else [named]
        if names and all(isinstance(name, str) and name for name in names):
            in_path = ",".join(quote(name, safe="*,") for name in names)
            return partial(self.types, in_path), tuple(part for name in names for part in name.split(","))
        parts = raw_path.strip("/").split("/")
        in_path = parts[0] if len(parts) > 1 else ""
        return partial(self.types, in_path), tuple(part for part in unquote(in_path).split(",") if part)

    def types(self, indices: str, names: Collection[str]) -> dict[str, FieldType]:
        """The types of fields, without those that nothing is known of.

        Args:
            indices: as a path names them, percent-encoded; "" for all.
        """
        incoming, options = self.calls.incoming, _LENIENT
        caller = incoming.caller
        if expanded := incoming.parameters.get("expand_wildcards"):
            options += f"&expand_wildcards={quote(expanded, safe=',')}"
        place = f"{indices}?{options}"
        known = self.cache.get(caller, place, names)
        missing = [name for name in names if name not in known]
        may_ask = missing and self.n_calls < _MAX_CALLS and not self.cache.has_failed(caller, place)
        if may_ask and _is_short(indices, missing):
            asked = self._ask(indices, missing, options)
            if asked is None:
                self.cache.failed(caller, place)
            else:
                self.cache.put(caller, place, asked)
                known |= asked
        # What no mapping has (a runtime field) holds no text.
        return {name: kind or FieldType(is_text=False, source=name) for name, kind in known.items()}

    def _ask(self, indices: str, names: Sequence[str], options: str) -> dict[str, FieldType | None] | None:
        found = self._mappings(indices, names, options)
        if found is None:
            return None
        targets = {
            name: path for name in names for mapping in found if (path := mapping.get(name, {}).get("path")) is not None
        }
        if targets:
            more = self._mappings(indices, sorted({str(path) for path in targets.values()}), options)
            found = [*found, *(more or [])]
        return {name: _field_type(str(targets.get(name, name)), found) for name in names}

    def _mappings(self, indices: str, names: Sequence[str], options: str) -> list[dict[str, dict[str, Any]]] | None:
        """Of each index what it says of the fields and of those that they may be a part of."""
        start = f"/{indices}" if indices else ""
        target = f"{start}/_mapping/field/{_path(names)}?{options}"
        self.n_calls += 1
        try:
            answer = self.calls.ask(target, limit_s=self.calls.deadline.left_s * _SHARE_OF_TIME)
        except Fallback:
            return None
        # An empty answer is about no index, not about one without the fields.
        return [_leaves(index) for index in answer.values()] if isinstance(answer, Mapping) and answer else None


def _with_parents(name: str) -> list[str]:
    """`a.b.c`, `a.b` and `a`."""
    parts = name.split(".")
    return [".".join(parts[:n]) for n in range(len(parts), 0, -1)]


def _path(names: Collection[str]) -> str:
    """The names for a path, with all that they may be a part of."""
    with_parents = {part for name in names for part in _with_parents(name)}
    return ",".join(
        quote(name, safe="") for name in sorted(with_parents) if name and not any(char in name for char in "*,")
    )


def _is_short(indices: str, names: Collection[str]) -> bool:
    n_chars = sum(map(len, names))
    if len(names) > _MAX_NAMES or n_chars > _MAX_PATH_CHARS:
        return False
    return 0 < len(_path(names)) <= _MAX_PATH_CHARS - len(indices)


def _leaves(index: Any) -> dict[str, dict[str, Any]]:
    """What an index says of each field, and the end of its name: `{"title": {"name": "title", "type": "text"}}`."""
    mappings = index.get("mappings") if isinstance(index, Mapping) else None
    fields = mappings.items() if isinstance(mappings, Mapping) else ()
    inner = {name: one.get("mapping") for name, one in fields if isinstance(one, Mapping)}
    leaves = {name: next(iter(one.items()), ("", None)) for name, one in inner.items() if isinstance(one, Mapping)}
    return {name: {**one, "name": end} for name, (end, one) in leaves.items() if isinstance(one, dict)}


def _field_type(name: str, indices: Sequence[Mapping[str, Mapping[str, Any]]]) -> FieldType | None:
    """The type of a field: text where it is text in one index; None where no index has it."""
    found = None
    for fields in indices:
        held = [part for part in _with_parents(name) if part in fields]
        if not held:
            continue
        # `title.english` is filled from `title`, but not a field that is named `title.english` beside `title`
        # (`"subobjects": false`); below a `flattened` field there is no mapping.
        is_text = held[0] == name and fields[name].get("type") in _TEXT_TYPES
        source = held[1] if len(held) > 1 and held[0] == name and "." not in fields[name]["name"] else name
        if found is None or is_text:
            found = FieldType(is_text, source)
    return found
