"""Keeps the costs between a query's words and its candidates' for when the same query comes again: the next page, the
same text once more, another epsilon or tau."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

# The costs of some sixty queries of 30 words with 500 candidates each, or of a few hundred that people type.
CACHE_BYTES = 64 * 2**20


class CostCache:
    """Tables of costs, the least recently used going first; to be shared by threads.

    What is asked for decides what is found: the same query words and distinct candidate words, in the same order, of
    the same embeddings. These must not change, and are kept in memory (or mapped) as long as costs of them are.
    """

    def __init__(self, limit_bytes: int = CACHE_BYTES) -> None:
        self.limit_bytes = limit_bytes
        self._tables: OrderedDict[Hashable, tuple[NDArray[np.floating], NDArray[np.floating], int]] = OrderedDict()
        self._n_bytes = 0
        self._lock = threading.Lock()

    @property
    def n_bytes(self) -> int:
        """What it holds; never more than its limit."""
        return self._n_bytes

    def get(
        self, embeddings: NDArray[np.floating], query: NDArray[np.int32], terms: NDArray[np.int32], kind: str
    ) -> NDArray[np.floating] | None:
        """The table (k, width) of some k terms and query words; None where it is not here.

        Args:
            kind: what else tells tables apart: which ground cost, in which precision.
        """
        key = _key(embeddings, query, terms, kind)
        with self._lock:
            if key not in self._tables:
                return None
            self._tables.move_to_end(key)
            return self._tables[key][0]

    def put(
        self,
        embeddings: NDArray[np.floating],
        query: NDArray[np.int32],
        terms: NDArray[np.int32],
        kind: str,
        cost: NDArray[np.floating],
    ) -> None:
        """Keeps a table, which must not be written to from now on, unless it alone is more than the limit."""
        key = _key(embeddings, query, terms, kind)
        n_bytes = cost.nbytes + query.nbytes + terms.nbytes
        if n_bytes > self.limit_bytes:
            return
        with self._lock:
            self._forget(key)
            while self._tables and self._n_bytes + n_bytes > self.limit_bytes:
                self._forget(next(iter(self._tables)))
            self._tables[key] = cost, embeddings, n_bytes
            self._n_bytes += n_bytes

    def clear(self) -> None:
        """Forgets all costs."""
        with self._lock:
            self._tables.clear()
            self._n_bytes = 0

    def _forget(self, key: Hashable) -> None:
        if key in self._tables:
            self._n_bytes -= self._tables.pop(key)[2]


def _key(embeddings: NDArray[np.floating], query: NDArray[np.int32], terms: NDArray[np.int32], kind: str) -> Hashable:
    """No other array can have the identity of these embeddings while a table of theirs is kept, since they are too."""
    return id(embeddings), kind, query.tobytes(), terms.tobytes()
