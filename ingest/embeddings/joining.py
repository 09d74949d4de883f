"""Joins two stores into one: concatenates each term's vectors and keeps the principal directions.

Meta-embeddings are made this way (Yin and Schütze 2016). If a store lacks a term, its vector there is estimated from
the other store, by ridge regression over the terms that both have.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ingest.embeddings.joint_vocabulary import JointVocabulary, joint_vocabulary
from ingest.embeddings.spectral import unit_rows
from ingest.embeddings.summary import EmbeddingsSummary
from ingest.embeddings.word_frequencies import WordFrequencies
from ingest.progress import Progress, no_progress
from reranker.embeddings import Embeddings, EmbeddingsWriter

_BLOCK_ROWS = 8_192
# Ridge, relative to the mean square of a number over the common terms. It keeps a regression on few terms stable.
_RIDGE = 1.0
_WORDS_A_DIM = 3

Ids = NDArray[np.int64]
Rows = NDArray[np.float64]


def join(
    stores: Sequence[Embeddings],
    output: Path,
    *,
    collection: WordFrequencies,
    max_others: int,
    progress: Progress = no_progress,
) -> EmbeddingsSummary:
    """Writes a store with the terms of all stores and the dimensions of the largest.

    Args:
        stores: one, or two that have words of the collection in common; with one, the terms are chosen and ordered, and
            cosines do not change.
        output: the folder to create.
        collection, max_others: which terms to take, and their order (`joint_vocabulary`).

    Raises:
        BadInput: the output exists.
    """
    started = time.monotonic()
    dim = max(store.dim for store in stores)
    vocabulary = joint_vocabulary(stores, collection, max_others)
    concatenated = _Concatenated(stores, vocabulary.ids)
    # The directions in which the collection's words differ, unless there are too few words.
    n_compared = vocabulary.n_own if vocabulary.n_own >= _WORDS_A_DIM * dim else len(vocabulary.terms)
    directions = concatenated.principal_directions(dim, n_compared, progress)
    described = {
        "joined": [store.meta["source"] for store in stores],
        "n_common": int((vocabulary.ids >= 0).all(axis=0).sum()),
    }
    with EmbeddingsWriter(output, dim=dim, source=described) as writer:
        for start, rows in concatenated.blocks(progress, "writing the joint embeddings"):
            _append(writer, vocabulary, start, rows @ directions)
        writer.commit(vocabulary.n_documents)
    return EmbeddingsSummary.of(Embeddings.open(output), started)


class _Concatenated:
    """The concatenated vectors of the joint terms. Vectors that a store lacks are estimated from the other.

    Args:
        ids: (n_stores, n_terms) term ids, or -1.
    """

    def __init__(self, stores: Sequence[Embeddings], ids: Ids) -> None:
        self._stores, self._ids = stores, ids
        ends = list(accumulate(store.dim for store in stores))
        self._columns = [slice(end - store.dim, end) for store, end in zip(stores, ends, strict=True)]
        self._dim = ends[-1]
        self._expected = self._regressions()

    def blocks(self, progress: Progress, description: str, n_terms: int | None = None) -> Iterator[tuple[int, Rows]]:
        """Blocks of the first `n_terms` terms (None: all): the first place of each, and its rows (n, sum of the dims)
        of length 1."""
        n_terms = self._ids.shape[1] if n_terms is None else n_terms
        for start in range(0, n_terms, _BLOCK_ROWS):
            progress(start, n_terms, description)
            places = np.arange(start, min(start + _BLOCK_ROWS, n_terms))
            rows = self._rows(places)
            here = np.flatnonzero((self._ids[:, places] < 0).any(axis=0))
            if len(here):
                rows[here] += rows[here] @ self._expected
            yield start, unit_rows(rows.astype(np.float32)).astype(np.float64)
        progress(n_terms, n_terms, description)

    def principal_directions(self, dim: int, n_terms: int, progress: Progress) -> Rows:
        """(sum of the dims, dim): the main eigenvectors of the products of the first `n_terms` rows."""
        products = np.zeros((self._dim, self._dim))
        for _, rows in self.blocks(progress, "comparing the dimensions of the stores", n_terms):
            products += rows.T @ rows
        return np.linalg.eigh(products)[1][:, ::-1][:, :dim]

    def _rows(self, places: Ids) -> Rows:
        """(n, sum of the dims): zeros if a store lacks the term."""
        rows = np.zeros((len(places), self._dim))
        for store, columns, ids in zip(self._stores, self._columns, self._ids[:, places], strict=True):
            known = np.flatnonzero(ids >= 0)
            rows[known, columns] = store.vectors[ids[known]]
        return rows

    def _regressions(self) -> Rows:
        """(sum of the dims, sum of the dims) matrix: turns rows of terms that one store lacks into estimates for it."""
        expected, products = np.zeros((self._dim, self._dim)), np.zeros((self._dim, self._dim))
        lacking = np.flatnonzero((self._ids < 0).any(axis=1)).tolist()
        both = np.flatnonzero((self._ids >= 0).all(axis=0)) if lacking else np.empty(0, np.int64)
        for start in range(0, len(both), _BLOCK_ROWS):
            rows = self._rows(both[start : start + _BLOCK_ROWS])
            products += rows.T @ rows
        for number in lacking:
            given, columns = self._columns[1 - number], self._columns[number]
            expected[given, columns] = _ridge(products[given, given], products[given, columns])
        return expected


def _ridge(squares: Rows, products: Rows) -> Rows:
    weight = _RIDGE * np.trace(squares) / len(squares)
    return np.linalg.solve(squares + weight * np.eye(len(squares)), products)


def _append(writer: EmbeddingsWriter, vocabulary: JointVocabulary, start: int, vectors: Rows) -> None:
    counted = vocabulary.document_frequencies
    for language, places in vocabulary.runs(start, start + len(vectors)):
        terms = [vocabulary.terms[place][1] for place in places]
        rows = vectors[places[0] - start : places[-1] + 1 - start]
        writer.append(language, terms, rows, counted[places])
