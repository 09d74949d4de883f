"""Learns the document frequencies and languages of indices that are not ours, from a sample of their documents.

A search never waits for it: it takes what is known, and a thread in the background learns what is not, one index at a
time. The sample is read with the service's own credentials. Only counts of words are stored.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from cachetools import LRUCache

from reranker.base.errors import NotFound, SinkrankError
from reranker.embeddings import Embeddings
from reranker.embeddings.detection import guess_languages
from reranker.query_dsl.source_texts import source_text
from reranker.stores.base.names import is_any_index_name
from reranker.text.idf import DocumentFrequencies, FrequencyCounter, IdfTable

# On fewer documents of a language a word's frequency is chance.
MIN_DOCUMENTS = 50
SAMPLE_DOCUMENTS = 1_000
# After that they are learned anew; the old ones are used meanwhile.
MAX_AGE_S = 3_600.0
# After a failure.
_RETRY_S = 300.0
# Of an index and its fields some 200 KB, for 20,000 distinct words.
_MAX_KNOWN = 200
# A search through an alias meets hits of a few indices; joining their statistics takes some milliseconds.
_MAX_JOINED = 10
# Each takes a second or so; what does not fit in is asked for again by the next search.
_MAX_WAITING = 50
# The names of the fields of a search together, which are kept with what is learned.
_MAX_FIELD_CHARS = 10_000

_log = logging.getLogger(__name__)

_Key = tuple[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True, eq=False)
class SampleStatistics:
    """Statistics of a sample of documents.

    Attributes:
        frequencies: by the language that the documents are read in; those without a word are not counted.
        unknown_share: of the documents' words, those without an embedding, 0 to 1; stop words are not counted.
    """

    frequencies: Mapping[str, DocumentFrequencies]
    unknown_share: float

    @property
    def n_documents(self) -> int:
        return sum(each.n_documents for each in self.frequencies.values())

    @property
    def languages(self) -> dict[str, float]:
        """The share of the documents by language, the largest first; they sum to 1."""
        total = self.n_documents
        shares = {code: each.n_documents / total for code, each in self.frequencies.items()}
        return dict(sorted(shares.items(), key=lambda share: -share[1]))


def sample_statistics(texts: Iterable[str], embeddings: Embeddings) -> SampleStatistics:
    """Reads each text as the proxy reads a hit's, and counts.

    Args:
        texts: one a document.
    """
    counters: dict[str, FrequencyCounter] = {}
    n_tokens = n_unknown = 0
    given = list(texts)
    one_language = embeddings.document_language
    languages = [one_language] * len(given) if one_language else _languages(given, embeddings)
    for bag, language in zip(embeddings.bags(given, languages), languages, strict=True):
        n_words = int(bag.counts.sum()) + bag.n_unknown
        if n_words:
            counters.setdefault(language, FrequencyCounter()).add(bag)
            n_tokens += n_words
            n_unknown += bag.n_unknown
    frequencies = {code: counter.result() for code, counter in counters.items()}
    return SampleStatistics(frequencies, n_unknown / n_tokens if n_tokens else 0.0)


def _languages(texts: Sequence[str], embeddings: Embeddings) -> list[str]:
    """Of texts of one index: what fits several languages as well is in the most frequent of them."""
    # Which is the most frequent is known only once all are guessed.
    first = Counter(guess_languages(texts, embeddings))
    return guess_languages(texts, embeddings, [language for language, _ in first.most_common()])


def joined_idf(parts: Sequence[SampleStatistics]) -> IdfTable:
    """The idf of several samples together, in the languages with `MIN_DOCUMENTS` documents or more."""
    by_language: dict[str, list[DocumentFrequencies]] = {}
    for part in parts:
        for code, frequencies in part.frequencies.items():
            by_language.setdefault(code, []).append(frequencies)
    joined = {code: _joined(each) for code, each in by_language.items()}
    return IdfTable({code: each for code, each in joined.items() if each.n_documents >= MIN_DOCUMENTS})


def _joined(parts: Sequence[DocumentFrequencies]) -> DocumentFrequencies:
    term_ids = np.unique(np.concatenate([part.term_ids for part in parts]))
    counts = np.zeros(len(term_ids), dtype=np.int32)
    for part in parts:
        counts[np.searchsorted(term_ids, part.term_ids)] += part.counts  # they are distinct, so no count is lost
    return DocumentFrequencies(sum(part.n_documents for part in parts), term_ids, counts)


@runtime_checkable
class SampledStore(Protocol):
    """A store that can draw a random sample of any index's documents, as hits: an engine."""

    def sample(self, index: str, fields: Sequence[str], n_documents: int) -> Iterable[Mapping[str, Any]]: ...


class _Known(NamedTuple):
    """What was learned, None for nothing, and when it is to be learned anew."""

    statistics: SampleStatistics | None
    due_at: float


class IndexStatistics:
    """Statistics by index and text fields; safe to share between threads.

    Args:
        store: None learns nothing.
        start: runs a function beside the searches; a test may run it at once.
    """

    def __init__(
        self,
        store: SampledStore | None,
        embeddings: Embeddings,
        clock: Callable[[], float] = time.monotonic,
        start: Callable[[Callable[[], None]], None] | None = None,
    ) -> None:
        self._store = store
        self._embeddings = embeddings
        self._clock = clock
        self._start = start or _in_background
        self._known: LRUCache[_Key, _Known] = LRUCache(_MAX_KNOWN)
        self._waiting: set[_Key] = set()
        self._changed = threading.Condition()
        self._one_at_a_time = threading.Lock()

    def of_all(self, indices: Collection[str], fields: Sequence[str] = ()) -> tuple[SampleStatistics, ...]:
        """What is known of each of these indices; nothing where too little is known of one, or there are more than ten.

        Args:
            fields: of `_source`, that are read; every string where there are none.
        """
        if len(indices) > _MAX_JOINED:
            return ()
        found = [self.statistics(index, fields) for index in sorted(indices)]
        known = tuple(statistics for statistics in found if statistics is not None)
        return known if len(known) == len(found) else ()

    def languages(self, index: str, fields: Sequence[str] = ()) -> Mapping[str, float]:
        """The share of the index's documents by language, the largest first; empty where nothing is known."""
        statistics = self.statistics(index, fields)
        return {} if statistics is None else statistics.languages

    def statistics(self, index: str, fields: Sequence[str] = ()) -> SampleStatistics | None:
        """What is known at this moment; None for nothing. What is not known or old is learned in the background."""
        if self._store is None or not is_any_index_name(index) or sum(map(len, fields)) > _MAX_FIELD_CHARS:
            return None
        key = (index, tuple(fields))
        with self._changed:
            known = self._known.get(key)
            is_due = known is None or self._clock() >= known.due_at
            must_start = is_due and key not in self._waiting and len(self._waiting) < _MAX_WAITING
            if must_start:
                self._waiting.add(key)
        statistics = None if known is None else known.statistics
        if must_start:
            try:
                self._start(partial(self._learn, key, statistics))
            except RuntimeError as error:  # no more threads: the next search tries again
                _log.warning("no thread to learn word frequencies in: %s", error)
                self._ends(key)
        return statistics

    def wait(self, seconds: float) -> bool:
        """Waits until nothing is being learned; whether that came in time."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._waiting, seconds)

    def _learn(self, key: _Key, before: SampleStatistics | None) -> None:
        with self._one_at_a_time:
            known = self._learned(*key, before)
        with self._changed:
            self._known[key] = known
        self._ends(key)

    def _ends(self, key: _Key) -> None:
        with self._changed:
            self._waiting.remove(key)
            self._changed.notify_all()

    def _learned(self, index: str, fields: tuple[str, ...], before: SampleStatistics | None) -> _Known:
        assert self._store is not None  # noqa: S101 - nothing is in line without one
        try:
            hits = self._store.sample(index, fields, SAMPLE_DOCUMENTS)
            statistics = sample_statistics((source_text(hit.get("_source"), fields) for hit in hits), self._embeddings)
        except Exception as error:  # whatever it is, searches go on without
            reason = str(error) if isinstance(error, SinkrankError) else f"{type(error).__name__}: {error}"
            level = logging.INFO if isinstance(error, NotFound) else logging.WARNING
            _log.log(level, "the word frequencies of index %r cannot be learned: %s", index, reason)
            return _Known(None if isinstance(error, NotFound) else before, self._clock() + _RETRY_S)
        _log.info("learned the word frequencies of index %r from %d documents", index, statistics.n_documents)
        return _Known(statistics, self._clock() + MAX_AGE_S)


def _in_background(work: Callable[[], None]) -> None:
    threading.Thread(target=work, name="proxy-statistics", daemon=True).start()
