"""Keeps the bags of documents whose texts are not in hand, by what a hit without its text says of its document."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from cachetools import TTLCache

from reranker.proxy.bare_windows import place_of
from reranker.proxy.search import Search
from reranker.service.text_bags import MAX_AGE_S, Bag

# As many as of the texts (`text_bags.py`), most of which are the same bags.
_MAX_DOCUMENTS = 10_000


class Reading(NamedTuple):
    """How a caller's search reads documents. The caller counts since not everybody may read each field.

    Attributes:
        caller: `caller_key` of the request.
        names: the searched indices as the search names them; empty where documents are known by their ids. A
            sequence number counts within a shard, and an alias may choose one.
        fields: that are read, each as often as it counts.
        or_all: whether every string is read where these hold no known word.
        within: the fields that the caller's `_source` brings, and that are all there is; empty for all fields.
    """

    caller: bytes
    names: tuple[str, ...]
    fields: tuple[str, ...]
    or_all: bool
    within: tuple[str, ...] = ()


class DocumentKey(NamedTuple):
    """A document at one time; its sequence number changes with each writing.

    Attributes:
        doc_id: None where it is known by its sequence number.
    """

    reading: Reading
    index_name: str
    doc_id: str | None
    seq_no: int
    primary_term: int


def document_key(search: Search, hit: Mapping[str, Any], caller: bytes) -> DocumentKey | None:
    """By its id: what a text that is not in hand is known by."""
    reading = Reading(caller, (), search.weighted_fields, not search.text_fields)
    return _key(reading, hit, str(hit.get("_id")))


def number_keys(search: Search, hits: Sequence[Mapping[str, Any]], caller: bytes) -> list[DocumentKey | None]:
    """By their sequence numbers, in an index of one shard."""
    is_in_hand = search.source_filter.is_partial and search.source_filter.brings(search.read_fields)
    within = search.source_filter.brought if is_in_hand else ()
    reading = Reading(caller, search.indices, search.weighted_fields, not search.text_fields, within)
    return [_key(reading, hit, None) for hit in hits]


def _key(reading: Reading, hit: Mapping[str, Any], doc_id: str | None) -> DocumentKey | None:
    index, seq_no, primary_term = place_of(hit)
    # An engine gives -2 where it knows none.
    if not isinstance(seq_no, int) or not isinstance(primary_term, int) or seq_no < 0:
        return None
    return DocumentKey(reading, index, doc_id, seq_no, primary_term)


class KnownBag(NamedTuple):
    """A document's bag and id."""

    bag: Bag
    doc_id: str


class KnownBags:
    """Forgets each bag after `MAX_AGE_S`; safe to share between threads."""

    def __init__(self, n_documents: int = _MAX_DOCUMENTS, clock: Callable[[], float] = time.monotonic) -> None:
        self._bags: TTLCache[DocumentKey, KnownBag] = TTLCache(n_documents, MAX_AGE_S, clock)
        self._lock = threading.Lock()

    def get(self, keys: Sequence[DocumentKey | None]) -> list[KnownBag | None]:
        with self._lock:
            return [None if key is None else self._bags.get(key) for key in keys]

    def put(self, known: Iterable[tuple[DocumentKey | None, KnownBag]]) -> None:
        with self._lock:
            for key, one in known:
                if key is not None:
                    self._bags[key] = one

    def clear(self) -> None:
        with self._lock:
            self._bags.clear()
