"""Keeps the bags of documents by what a hit without its text says of its document."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

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


DocumentKey = tuple[str, str, int, int, str | None]
"""A document at one time: the reading, as a text whose hash is computed once for a window; the index; the sequence
number, which changes with each writing; the primary term; the id, unless the sequence number says enough."""


def keys_by_id(search: Search, hits: Sequence[Mapping[str, Any]], caller: bytes) -> list[DocumentKey | None]:
    """What texts that are not in hand are known by."""
    reading = Reading(caller, (), search.weighted_fields, not search.text_fields)
    keys = zip(_keys(reading, hits), hits, strict=True)
    return [None if key is None else (*key[:-1], str(hit.get("_id"))) for key, hit in keys]


def keys_by_number(search: Search, hits: Sequence[Mapping[str, Any]], caller: bytes) -> list[DocumentKey | None]:
    """In an index of one shard."""
    is_in_hand = search.source_filter.is_partial and search.source_filter.brings(search.read_fields)
    within = search.source_filter.brought if is_in_hand and not search.has_stored_bags else ()
    return _keys(Reading(caller, search.indices, search.weighted_fields, not search.text_fields, within), hits)


def _keys(reading: Reading, hits: Sequence[Mapping[str, Any]]) -> list[DocumentKey | None]:
    # An engine gives -2 where it knows no sequence number.
    text = repr(reading)
    return [
        (text, hit["_index"], number, hit["_primary_term"], None)
        if isinstance(number := hit.get("_seq_no"), int) and number >= 0
        else None
        for hit in hits
    ]


class KnownBag(NamedTuple):
    """A document's bag and id, and the time of the clock at which they were read."""

    bag: Bag
    doc_id: str
    read_at: float


class KnownBags:
    """Forgets each bag after `MAX_AGE_S`, and the oldest ones where there are too many; safe to share between threads.

    A document takes 0.4 kB, and its bag of 100 words 2 kB: 25 MB in each process.
    """

    def __init__(self, n_documents: int = _MAX_DOCUMENTS, clock: Callable[[], float] = time.monotonic) -> None:
        self._n_documents = n_documents
        self._clock = clock
        self._bags: OrderedDict[DocumentKey | None, KnownBag] = OrderedDict()  # the oldest one first
        self._lock = threading.Lock()

    def get(self, keys: Sequence[DocumentKey | None]) -> list[KnownBag | None]:
        with self._lock:
            self._forget()
            return list(map(self._bags.get, keys))

    def put(self, known: Iterable[tuple[DocumentKey | None, Bag, str]]) -> None:
        """Keeps what has just been read."""
        now = self._clock()
        with self._lock:
            for key, bag, doc_id in known:
                if key is not None:
                    self._bags[key] = KnownBag(bag, doc_id, now)
                    self._bags.move_to_end(key)
            self._forget()

    def _forget(self) -> None:
        too_old = self._clock() - MAX_AGE_S
        while self._bags and (
            len(self._bags) > self._n_documents or next(iter(self._bags.values())).read_at <= too_old
        ):
            self._bags.popitem(last=False)

    def clear(self) -> None:
        with self._lock:
            self._bags.clear()
