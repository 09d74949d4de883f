"""A cache of the bags of documents, by what a hit without its text says of its document."""

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
        names: the searched indices as the search names them: a sequence number counts within a shard, and an alias may
            choose one.
        fields: that are read, each as often as it counts.
        or_all: whether every string is read where these hold no known word.
    """

    caller: bytes
    names: tuple[str, ...]
    fields: tuple[str, ...]
    or_all: bool


DocumentKey = tuple[str, str, int, int]
"""A document at one time: the reading, as a text whose hash is computed once for a window; the index; the sequence
number, which changes with each writing; the primary term."""


def document_keys(search: Search, hits: Sequence[Mapping[str, Any]], caller: bytes) -> list[DocumentKey | None]:
    """What the documents of hits are known by, in an index of one shard."""
    reading = repr(Reading(caller, search.indices, search.weighted_fields, not search.text_fields))
    # An engine gives -2 where it knows no sequence number.
    return [
        (reading, hit["_index"], number, hit["_primary_term"])
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
    A window asks for 100 bags at once, which cachetools' TTLCache takes long for.

    A document of 100 words takes 4.6 kB with what ranking caches of it (its weights and mean embedding): 46 MB in each
    process.
    """

    def __init__(self, n_documents: int = _MAX_DOCUMENTS, clock: Callable[[], float] = time.monotonic) -> None:
        self._n_documents = n_documents
        self._clock = clock
        self._bags: OrderedDict[DocumentKey | None, KnownBag] = OrderedDict()  # the oldest one first
        self._lock = threading.Lock()

    def get(self, keys: Sequence[DocumentKey | None]) -> list[KnownBag | None]:
        too_old = self._clock() - MAX_AGE_S
        with self._lock:
            while self._bags and next(iter(self._bags.values())).read_at <= too_old:
                self._bags.popitem(last=False)
            return list(map(self._bags.get, keys))

    def put(self, known: Iterable[tuple[DocumentKey | None, Bag, str]]) -> None:
        """Caches what has just been read."""
        now = self._clock()
        with self._lock:
            for key, bag, doc_id in known:
                if key is not None:
                    self._bags.pop(key, None)
                    self._bags[key] = KnownBag(bag, doc_id, now)
            while len(self._bags) > self._n_documents:
                self._bags.popitem(last=False)

    def clear(self) -> None:
        with self._lock:
            self._bags.clear()
