"""Knows of the searched indices: whether Sinkrank made them, their languages, and the idf to weigh their hits by."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from cachetools import LRUCache, TTLCache

from reranker.base.errors import BadInput, ClientLeft, NotFound, NotOurIndex, SinkrankError, VersionMismatch
from reranker.proxy.index_statistics import IndexStatistics, SampleStatistics, joined_idf
from reranker.proxy.search import Search
from reranker.ranking.query import Query
from reranker.ranking.reranker import Reranker
from reranker.search.opened_indices import INDEX_CACHE_SECONDS
from reranker.service.service import Service
from reranker.stores.base.names import is_any_index_name

# Of an index's documents. Fewer may have been taken for that language by chance.
LEAST_SHARE = 0.05
_MAX_KNOWN_INDICES = 10_000
# Of re-rankers, each with its document frequencies.
_MAX_CACHED = 50

_log = logging.getLogger(__name__)


class Weighed(NamedTuple):
    """A query that a re-ranker has weighed."""

    reranker: Reranker
    query: Query


class Indices:
    """What is known of the searched indices; safe to share between threads.

    Args:
        statistics: of indices that are not ours.
    """

    def __init__(
        self, service: Service, statistics: IndexStatistics, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._service = service
        self._statistics = statistics
        self._foreign: TTLCache[str, None] = TTLCache(_MAX_KNOWN_INDICES, INDEX_CACHE_SECONDS, clock)
        self._learned: LRUCache[tuple[SampleStatistics, ...], Reranker] = LRUCache(_MAX_CACHED)
        self._lock = threading.Lock()

    def is_ours(self, index: str) -> bool:
        """Whether an index holds bags of words of the service's embeddings."""
        return self._own_reranker(index) is not None

    def languages(self, index: str, read_fields: Sequence[str]) -> list[str]:
        """Of an index's documents; empty where they are not known yet."""
        if self.is_ours(index):
            return sorted(self._service.searcher.open(index).languages)
        if one_language := self._service.embeddings.document_language:
            return [one_language]
        shares = self._statistics.languages(index, read_fields)
        return [language for language, share in shares.items() if share >= LEAST_SHARE]

    def weighed(self, search: Search, indices: Collection[str]) -> Weighed:
        """The search's query, weighed by the idf of these indices.

        Hits of several indices are weighed alike: by the idf of all together where none is ours, else by that of the
        embeddings.
        """
        ours = [reranker for index in indices if (reranker := self._own_reranker(index)) is not None]
        if ours:
            reranker = ours[0] if len(indices) == 1 else self._service.reranker
        else:
            reranker = self._foreign_reranker(indices, search.read_fields)
        return Weighed(reranker, reranker.weigh_again(search.query, search.language))

    def _foreign_reranker(self, indices: Collection[str], fields: tuple[str, ...]) -> Reranker:
        """The re-ranker with the idf that was learned of indices that are not ours; as far as nothing was, with that of
        the embeddings' training texts. It is the same one until more is learned: what hits keep of their weights is
        only good for the re-ranker that has weighed them."""
        parts = self._statistics.of_all(indices, fields)
        if not parts:
            return self._service.reranker
        with self._lock:
            if (reranker := self._learned.get(parts)) is None:
                idf = joined_idf(parts)
                reranker = self._service.reranker_of(idf, parts[0].languages if len(parts) == 1 else {})
                self._learned[parts] = reranker
        return reranker

    def _own_reranker(self, index: str) -> Reranker | None:
        """The reranker of one of our indices; None for any other, which is remembered for a while."""
        if self._service.store is None or not is_any_index_name(index):
            return None
        with self._lock:
            if index in self._foreign:
                return None
        try:
            return self._service.searcher.open(index).reranker
        except ClientLeft:  # says nothing about the index
            raise
        except (BadInput, NotFound, NotOurIndex):
            pass
        except VersionMismatch as error:
            _log.warning("the proxy reads the texts of index %r, not its bags of words: %s", index, error)
        except SinkrankError as error:
            _log.warning("the proxy cannot tell whose index %r is, and reads its texts: %s", index, error)
        with self._lock:
            self._foreign[index] = None
        return None
