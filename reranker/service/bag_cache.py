"""Keeps the bags of words of texts that were read before: a page of hits is looked at, and re-ranked, many times.

A text in hand is known by its digest, so that what is found is never out of date. The proxy has keys of its own for
documents whose text is not in hand (`proxy/document_key.py`).
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Hashable

from cachetools import TTLCache

from reranker.text.bags import BagOfWords

Bag = tuple[BagOfWords, str]
"""A bag and its language."""

# An index that was deleted and made anew counts its sequence numbers from 0 again: so long it may be taken for the old.
MAX_AGE_S = 300.0
_DIGEST_BYTES = 16
# 5 KB each at most: 50 MB in each process.
_MAX_BAGS = 10_000


class BagCache:
    """At most `n_bags` bags (of 500 words each at most, some 5 KB); safe to share between threads."""

    def __init__(self, n_bags: int = _MAX_BAGS, clock: Callable[[], float] = time.monotonic) -> None:
        self._bags: TTLCache[Hashable, Bag] = TTLCache(n_bags, MAX_AGE_S, clock)
        self._n_bags = n_bags
        self._lock = threading.Lock()
        self.n_hits = 0
        self.n_misses = 0

    def get(self, key: Hashable) -> Bag | None:
        with self._lock:
            bag = self._bags.get(key)
            if bag is None:
                self.n_misses += 1
            else:
                self.n_hits += 1
            return bag

    def put(self, key: Hashable, bag: Bag) -> None:
        if self._n_bags:
            with self._lock:
                self._bags[key] = bag


def text_key(text: str, language: str = "") -> bytes:
    """The same for the same text read in the same language; none where it is guessed."""
    digest = hashlib.blake2b(f"{language}\0".encode(), digest_size=_DIGEST_BYTES)
    digest.update(text.encode("utf-8", "surrogatepass"))
    return digest.digest()
