"""Parts pairs of queries and documents into groups whose tables fit a memory, and these into batches of like length.

On the host, by NumPy; it computes no distance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from reranker.bags import WeightedBags

Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Pairs of a query and a document, neither without words.

    Attributes:
        queries, documents: checked bags.
        query, document: (n_pairs,) places in them.
    """

    queries: WeightedBags
    documents: WeightedBags
    query: Places
    document: Places

    def some(self, places: Places) -> Pairs:
        """The pairs at some places."""
        return Pairs(self.queries, self.documents, self.query[places], self.document[places])


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Pairs that are solved from the same tables.

    Attributes:
        pairs: (k,) their places among all pairs.
        queries: (n_queries,) the distinct queries of these; `query`: (k,) each pair's place among them.
        documents, document: the same of documents.
        n_words: of the distinct documents together.
        terms: (n_terms,) int32, the distinct terms of these, ascending.
    """

    pairs: Places
    queries: Places
    query: Places
    documents: Places
    document: Places
    n_words: int
    terms: NDArray[np.int32]


def groups(pairs: Pairs, max_entries: int, dim: int) -> Iterator[Group]:
    """Groups whose tables have at most `max_entries`; one pair at least.

    Queries that go together are of like length, and what is too large is halved: queries first, then the documents
    of one query.

    Args:
        max_entries: of (terms, queries, longest query), with the (queries, longest query, dim) embeddings of the
            queries and the words of the documents, of which each takes as much as three entries.
    """
    lengths = np.diff(pairs.queries.offsets)
    buckets = bucket(lengths)
    order = np.lexsort((pairs.document, pairs.query, buckets[pairs.query]))
    for start, end in _runs(buckets[pairs.query[order]]):
        waiting = [order[start:end]]
        while waiting:
            places = waiting.pop()
            group = _group(pairs, places)
            columns = len(group.queries) * int(lengths[group.queries].max())
            entries = columns * (len(group.terms) + dim) + 3 * group.n_words
            if entries <= max_entries or len(places) == 1:
                yield group
            else:
                middle = _middle(pairs.query[places])
                waiting += [places[middle:], places[:middle]]


def batches(lengths: Places, width: int, max_entries: int) -> Iterator[Places]:
    """Places of documents that are solved together: of like length, at most `max_entries` of (documents, longest of
    them, width); one document at least.

    Args:
        lengths: (k,) words of each document.
    """
    order = np.argsort(lengths, kind="stable")
    for start, end in _runs(bucket(lengths)[order]):
        size = max(int(max_entries // (width * lengths[order[end - 1]])), 1)
        for first in range(start, end, size):
            yield order[first : min(first + size, end)]


def bucket(lengths: Places) -> Places:
    """The least of 1, 2, 3, 4, 6, 8, 12, 16, 24, … that is not below a length: filled up to the longest of its bucket,
    a text has at most half as many words again."""
    steps = np.concatenate([[1], *([2**k, 3 * 2 ** (k - 1)] for k in range(1, 40))])
    return np.asarray(steps[np.searchsorted(steps, lengths)], dtype=np.int64)


def words_of(bags: WeightedBags, places: Places) -> Places:
    """Where the words of some bags lie, end to end."""
    lengths = np.diff(bags.offsets)[places]
    ends = np.cumsum(lengths)
    return np.asarray(np.arange(lengths.sum()) + np.repeat(bags.offsets[places] - ends + lengths, lengths))


def _group(pairs: Pairs, places: Places) -> Group:
    queries, query = np.unique(pairs.query[places], return_inverse=True)
    documents, document = np.unique(pairs.document[places], return_inverse=True)
    term_ids = pairs.documents.term_ids[words_of(pairs.documents, documents)]
    return Group(places, queries, query, documents, document, len(term_ids), np.unique(term_ids))


def _middle(queries: Places) -> int:
    """Where pairs that are sorted by query are parted: between two queries where there is more than one."""
    starts = np.flatnonzero(np.diff(queries)) + 1
    if not len(starts):
        return len(queries) // 2
    return int(starts[np.abs(starts - len(queries) // 2).argmin()])


def _runs(values: Places) -> Iterator[tuple[int, int]]:
    """Where equal neighbours begin and end."""
    if len(values):
        yield from pairwise([0, *(np.flatnonzero(np.diff(values)) + 1).tolist(), len(values)])
