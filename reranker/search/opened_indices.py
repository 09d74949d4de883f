"""Keeps what searches need of each index: its document frequencies, languages and translations."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace

from reranker.base.errors import ClientLeft, SinkrankError, StoreUnavailable
from reranker.embeddings import Embeddings
from reranker.embeddings.detection import preferred_languages
from reranker.embeddings.hubness import HubnessSample
from reranker.ranking.reranker import Observer, Reranker
from reranker.stores.base.description import check_versions
from reranker.stores.base.protocol import IndexReader, Store
from reranker.text.idf import IdfTable
from reranker.translation import Translator

# How long an index's versions and idf are trusted before they are read again.
INDEX_CACHE_SECONDS = 30.0


@dataclass(frozen=True, slots=True, eq=False)
class OpenedIndex:
    """What is known of an index, read at a time of the clock.

    Attributes:
        reranker: with the index's idf; languages that the index has no documents of take the idf of the embeddings'
            training texts.
        languages: those that the index has documents in.
        made_from: version of the index's idf, hubness sample and preferred languages. What is made of them stays while
            they do: cached documents keep their weights, and with them the reranker that has weighed them.
    """

    read_at: float
    reader: IndexReader
    reranker: Reranker
    languages: frozenset[str]
    translator: Translator
    made_from: tuple[str, HubnessSample, tuple[str, ...]]


class OpenedIndices:
    """The indices of one store, each opened when it is first asked for; safe to share between threads."""

    def __init__(
        self,
        store: Store,
        embeddings: Embeddings,
        n_threads: int,
        clock: Callable[[], float],
        observer: Observer | None,
        query_language: str | None,
    ) -> None:
        self._store = store
        self._embeddings = embeddings
        self._n_threads = n_threads
        self._clock = clock
        self._observer = observer
        self._query_language = query_language
        self._lock = threading.Lock()
        self._opened: dict[str, OpenedIndex] = {}

    def open(self, index: str) -> OpenedIndex:
        """The index, its versions checked; it is read again after 30 s. If the store does not answer then, the index
        stays as it was: a cluster without a manager answers searches, and does not change indices."""
        now = self._clock()
        with self._lock:
            before = self._opened.get(index)
            if before is not None:
                if now - before.read_at <= INDEX_CACHE_SECONDS:
                    return before
                # One search reads it again; the others take it as it was meanwhile.
                self._opened[index] = replace(before, read_at=now)
        try:
            opened = self._read(index, now, before)
        except StoreUnavailable:
            if before is None:
                raise
            return before
        except ClientLeft:  # says nothing about the index; the next search reads it again
            if before is not None:
                with self._lock:
                    self._opened[index] = before
            raise
        except SinkrankError:
            self.forget(index)
            raise
        with self._lock:
            self._opened[index] = opened
        return opened

    def forget(self, index: str) -> None:
        """Makes the next search open the index anew."""
        with self._lock:
            self._opened.pop(index, None)

    def _read(self, index: str, now: float, before: OpenedIndex | None) -> OpenedIndex:
        """Reads with the service's own rights: every caller shares what is read, which holds no text."""
        reader, embeddings = self._store.open(index), self._embeddings
        check_versions(index, reader.description, embeddings, self._store.address)
        own_idf = reader.idf()
        hubness = reader.hubness_sample()
        languages = reader.languages()
        preferred = preferred_languages(embeddings, self._query_language, languages)
        made_from = own_idf.version, hubness, preferred
        if before is not None and before.made_from == made_from:
            return replace(before, read_at=now, reader=reader, languages=frozenset(languages))
        idf = IdfTable({**embeddings.idf.languages, **own_idf.languages})
        reranker = Reranker(embeddings, idf, self._n_threads, hubness, self._observer, preferred)
        return OpenedIndex(now, reader, reranker, frozenset(languages), Translator(embeddings, own_idf), made_from)
