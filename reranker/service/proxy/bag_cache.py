"""Keeps the bags of words of texts that were read before: a page of hits is looked at many times.

Two kinds of keys lead to a bag. A text in hand is known by its digest, so that what is found is never out of date. A
document whose text is not in hand (the caller's `_source` filter keeps it back) is known by its index, id and sequence
number, which change with each writing; and by the caller's credentials, since not everybody may read each field.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cachetools import TTLCache

from reranker.bags import BagOfWords
from reranker.service.proxy.headers import Headers

Bag = tuple[BagOfWords, str]
"""A bag and its language."""

# An index that was deleted and made anew counts its sequence numbers from 0 again: so long it may be taken for the old.
MAX_AGE_S = 300.0
# What gateways and engines know callers by; `X-Opaque-Id`, which is another in each request, is not among them.
_CREDENTIALS = frozenset(
    [
        "authorization",
        "cookie",
        "es-security-runas-user",
        "opendistro_security_impersonate_as",
        "x-proxy-user",
        "x-proxy-roles",
        "x-forwarded-for",
    ]
)
_DIGEST_BYTES = 16
_salt = os.urandom(_DIGEST_BYTES)


@dataclass(frozen=True, slots=True)
class DocumentKey:
    """A document at one time, as one caller sees it.

    Attributes:
        caller: `caller_key` of the request.
        fields: that are read.
    """

    caller: bytes
    index: str
    doc_id: str
    seq_no: int
    primary_term: int
    fields: tuple[str, ...]


class BagCache:
    """At most `n_bags` bags (of 500 words each at most, some 5 KB); safe to share between threads."""

    def __init__(self, n_bags: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._bags: TTLCache[DocumentKey | bytes, Bag] = TTLCache(n_bags, MAX_AGE_S, clock)
        self._n_bags = n_bags
        self._lock = threading.Lock()
        self.n_hits = 0
        self.n_misses = 0

    def get(self, key: DocumentKey | bytes) -> Bag | None:
        with self._lock:
            bag = self._bags.get(key)
            if bag is None:
                self.n_misses += 1
            else:
                self.n_hits += 1
            return bag

    def put(self, key: DocumentKey | bytes, bag: Bag) -> None:
        if self._n_bags:
            with self._lock:
                self._bags[key] = bag


def text_key(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES).digest()


def caller_key(headers: Headers) -> bytes:
    """The same for requests with the same credentials; nothing can be read from it."""
    shown: Sequence[str] = sorted(f"{name.lower()}:{value}" for name, value in headers if name.lower() in _CREDENTIALS)
    return hashlib.blake2b("\0".join(shown).encode(), digest_size=_DIGEST_BYTES, key=_salt).digest()
