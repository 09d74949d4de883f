"""BM25 of words and of word groups over the embedded store's full-text tables. A group counts as one term, which occurs
as often as the weighted sum of its translations (Pirkola 1998).

The formula is FTS5's `bm25`, which takes seven times as long. The document frequency of a group is the number of
documents that contain any of its translations.
"""

# ruff: noqa: S608 - the SQL is built of table names, which are made of our own numbers, and placeholders

from __future__ import annotations

import json
import math
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from cachetools import LRUCache, cachedmethod
from numpy.typing import NDArray

from reranker.stores.base.filters import Filters
from reranker.stores.embedded.indices import StoredIndex
from reranker.stores.embedded.queries import allowed_rows, partitions
from reranker.stores.embedded.row_sums import wrong_row
from reranker.stores.embedded.rows import vocabulary_table, words_table
from reranker.stores.embedded.terms import bm25_terms
from reranker.stores.embedded.vectors import top
from reranker.text.tokens import LONGEST_CACHED_TOKEN, MAX_QUERY_TOKENS
from reranker.translation.groups import WordGroup

# FTS5's (and Lucene's).
_K1 = 1.2
_B = 0.75
_LEAST_IDF = 1e-6

# A query as long as a page has hundreds of words; the rarest matter most.
_MAX_GROUPS = 50

_MAX_CACHED_BYTES = 64_000_000
_ENTRY_BYTES = 500

_Rows = NDArray[np.int64]


class _Lengths(NamedTuple):
    """The lengths of a partition's documents.

    Attributes:
        row_ids: (n,) ascending.
        norms: (n,) what each document's length adds to the term frequency in BM25's denominator.
    """

    row_ids: _Rows
    norms: NDArray[np.float64]


class _Posting(NamedTuple):
    """The documents that contain a term.

    Attributes:
        places: (n,) their positions in the partition's row ids.
        counts: (n,) how often each contains the term.
    """

    places: NDArray[np.int32]
    counts: NDArray[np.int32]


class PartitionCache(LRUCache[tuple[Hashable, ...], Any]):
    """Keeps what was read of partitions, the most recently used 64 MB. Entries of an index's earlier states are never
    asked for again, so they go first."""

    def __init__(self) -> None:
        super().__init__(_MAX_CACHED_BYTES, lambda entry: sum(array.nbytes for array in entry) + _ENTRY_BYTES)
        self.lock = threading.Lock()


def bm25_rows(
    connection: sqlite3.Connection, index: StoredIndex, text: str, depth: int, filters: Filters, cache: PartitionCache
) -> list[tuple[int, float]]:
    """Returns row ids and scores of the best rows of all languages of the filters, best first. Ties are in order of
    insertion."""

    def terms_in(language: str) -> list[_WeightedTerms]:
        counted = Counter(bm25_terms(text, language, MAX_QUERY_TOKENS))
        return [_WeightedTerms(n_occurrences, {(term,): 1.0}) for term, n_occurrences in counted.items()]

    return _best_rows(connection, index, terms_in, depth, filters, cache)


def translated_rows(
    connection: sqlite3.Connection,
    index: StoredIndex,
    groups: Mapping[str, Sequence[WordGroup]],
    depth: int,
    filters: Filters,
    cache: PartitionCache,
) -> list[tuple[int, float]]:
    """Returns row ids and scores of the best rows of the languages that have groups, as `bm25_rows` does."""

    def terms_in(language: str) -> list[_WeightedTerms]:
        return _weighted_terms(groups.get(language, ()), language)

    return _best_rows(connection, index, terms_in, depth, filters, cache)


def _best_rows(
    connection: sqlite3.Connection,
    index: StoredIndex,
    terms_in: Callable[[str], list[_WeightedTerms]],
    depth: int,
    filters: Filters,
    cache: PartitionCache,
) -> list[tuple[int, float]]:
    """
    Args:
        terms_in: what to look for in the documents of a language.
    """
    allowed = allowed_rows(connection, index.index_id, filters) if filters.metadata else None
    rows: list[tuple[int, float]] = []
    for partition_id, language in partitions(connection, index.index_id, filters.languages):
        terms = terms_in(language)
        if terms:
            partition = _Partition(connection, partition_id, index, cache)
            scores = partition.scores(terms)
            row_ids = partition.lengths.row_ids
            if allowed is not None:
                scores[~np.isin(row_ids, allowed)] = 0.0
            rows += _best(row_ids, scores, depth)
    return sorted(rows, key=lambda row: (-row[1], row[0]))[:depth]


@dataclass(frozen=True, slots=True)
class _WeightedTerms:
    """A group in the terms of the full-text table.

    Attributes:
        weights: of each word. A word is the terms that a document must all contain, mostly one. Words with the same
            stem count as one, with their largest weight.
    """

    n_occurrences: int
    weights: Mapping[tuple[str, ...], float]


def _weighted_terms(groups: Sequence[WordGroup], language: str) -> list[_WeightedTerms]:
    found = []
    for group in groups:
        weights: dict[tuple[str, ...], float] = {}
        for translation in group.translations:
            terms = tuple(dict.fromkeys(bm25_terms(translation.term, language)))
            if terms:
                weights[terms] = max(translation.weight, weights.get(terms, 0.0))
        if weights:
            found.append(_WeightedTerms(group.n_occurrences, weights))
    return found


class _Partition:
    """The full-text table of one language of an index, at one state of the index."""

    def __init__(
        self, connection: sqlite3.Connection, partition_id: int, index: StoredIndex, cache: PartitionCache
    ) -> None:
        self._connection = connection
        self._partition_id = partition_id
        self._state = (index.generation, partition_id, index.changes)
        self._cache = cache
        self.lengths = self._lengths()
        self._table = f"temp.instances_{int(partition_id)}"
        # One row an occurrence: a view of the full-text table that belongs to this connection and takes no space.
        connection.execute(
            f"CREATE VIRTUAL TABLE IF NOT EXISTS {self._table} "
            f"USING fts5vocab (main, {words_table(partition_id)}, instance)"
        )

    def scores(self, groups: Sequence[_WeightedTerms]) -> NDArray[np.float64]:
        """Returns (n,) the scores of the documents of `lengths`; 0 for one without any word of the groups."""
        n_documents = len(self.lengths.row_ids)
        scores = np.zeros(n_documents)
        for group in groups if len(groups) <= _MAX_GROUPS else self._rarest(groups):
            tf = np.zeros(n_documents)
            for terms, weight in group.weights.items():
                posting = self._word(terms)
                tf[posting.places] += weight * posting.counts
            places = np.flatnonzero(tf)
            idf = max(_LEAST_IDF, math.log((n_documents - len(places) + 0.5) / (len(places) + 0.5)))
            held = tf[places]
            scores[places] += group.n_occurrences * idf * held * (_K1 + 1) / (held + self.lengths.norms[places])
        return scores

    def _rarest(self, groups: Sequence[_WeightedTerms]) -> list[_WeightedTerms]:
        """Returns the groups that fewest documents contain, as many as one search counts, in order."""
        terms = list({term for group in groups for word in group.weights for term in word})
        rows = self._connection.execute(
            f"SELECT term, doc FROM {vocabulary_table(self._partition_id)} "
            f"WHERE term IN (SELECT value FROM json_each(?))",
            (json.dumps(terms),),
        )
        n_documents: dict[str, int] = dict(rows.fetchall())
        frequencies = [_frequency(group, n_documents) for group in groups]
        held = [place for place, frequency in enumerate(frequencies) if frequency]
        return [groups[place] for place in sorted(sorted(held, key=frequencies.__getitem__)[:_MAX_GROUPS])]

    def _word(self, terms: tuple[str, ...]) -> _Posting:
        """Returns the documents that contain all terms, each with the count of its rarest term."""
        found = self._term(terms[0])
        for term in terms[1:]:
            other = self._term(term)
            places, ours, theirs = np.intersect1d(found.places, other.places, assume_unique=True, return_indices=True)
            found = _Posting(places, np.minimum(found.counts[ours], other.counts[theirs]))
        return found

    def _term(self, term: str) -> _Posting:
        # The size of an entry is that of its arrays: a cached term is short.
        return self._cached_term(term) if len(term) <= LONGEST_CACHED_TOKEN else self._read_term(term)

    @cachedmethod(attrgetter("_cache"), lambda self, term: (*self._state, term), attrgetter("_cache.lock"))
    def _cached_term(self, term: str) -> _Posting:
        return self._read_term(term)

    def _read_term(self, term: str) -> _Posting:
        # One string of all row ids, ascending: a Python row for each takes four times as long.
        sql = f"SELECT group_concat(doc) FROM {self._table} WHERE term = ?"
        (text,) = self._connection.execute(sql, (term,)).fetchone()
        rows = np.fromstring(text or "", dtype=np.int64, sep=",")
        starts = np.flatnonzero(np.diff(rows, prepend=-1))
        counts = np.diff(starts, append=len(rows))
        places = np.searchsorted(self.lengths.row_ids, rows[starts])
        if len(places) and not np.isin(rows[starts], self.lengths.row_ids).all():
            raise wrong_row(words_table(self._partition_id), term)
        return _Posting(places.astype(np.int32), counts.astype(np.int32))

    @cachedmethod(attrgetter("_cache"), attrgetter("_state"), attrgetter("_cache.lock"))
    def _lengths(self) -> _Lengths:
        table = f"{words_table(self._partition_id)}_docsize"
        sql = f"SELECT group_concat(id), group_concat(hex(sz), '') FROM (SELECT id, sz FROM {table} ORDER BY id)"
        ids, sizes = self._connection.execute(sql).fetchone()
        row_ids = np.fromstring(ids or "", dtype=np.int64, sep=",")
        lengths = _varints(np.frombuffer(bytes.fromhex(sizes or ""), np.uint8))
        if len(lengths) != len(row_ids):
            raise wrong_row(table, "of a document's length")
        mean = lengths.mean() if lengths.any() else 1.0
        return _Lengths(row_ids, _K1 * (1.0 - _B + _B * lengths / mean))


def _frequency(group: _WeightedTerms, n_documents: Mapping[str, int]) -> float:
    """About how many documents contain a word of the group; words of small weight count less."""
    return max(weight * min(n_documents.get(term, 0) for term in terms) for terms, weight in group.weights.items())


def _best(row_ids: _Rows, scores: NDArray[np.float64], depth: int) -> list[tuple[int, float]]:
    places = np.flatnonzero(scores > 0)
    order = places[top(scores[places], depth)]
    return list(zip(row_ids[order].tolist(), scores[order].tolist(), strict=True))


def _varints(encoded: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Decodes SQLite's integers of variable length, in which FTS5 stores lengths: seven bits a byte, highest first; all
    bytes but the last have the eighth bit.

    >>> _varints(np.array([5, 0x81, 0x02], np.uint8))
    array([  5., 130.])
    """
    (ends,) = np.nonzero(encoded < 0x80)
    last = np.repeat(ends, np.diff(ends, prepend=-1))
    digits = (encoded[: len(last)] & 0x7F) * 128.0 ** (last - np.arange(len(last)))
    return np.add.reduceat(digits, np.concatenate([[0], ends[:-1] + 1])) if len(ends) else digits
