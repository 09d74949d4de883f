"""Turns tokenised texts into sparse counts of terms, and counts into weights."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Tokens = Sequence[str]


def vocabulary(texts: Iterable[Tokens]) -> dict[str, int]:
    """Gives each term of the texts a column, in alphabetical order.

    >>> vocabulary([["b", "a"], ["b"]])
    {'a': 0, 'b': 1}
    """
    return {term: column for column, term in enumerate(sorted({term for tokens in texts for term in tokens}))}


def term_counts(texts: Iterable[Tokens], columns: Mapping[str, int]) -> sparse.csr_array:
    """(n_texts, n_terms) float64; terms without a column are left out."""
    indices: list[int] = []
    offsets = [0]
    for tokens in texts:
        indices += [columns[term] for term in tokens if term in columns]
        offsets.append(len(indices))
    counts = sparse.csr_array((np.ones(len(indices)), indices, offsets), shape=(len(offsets) - 1, len(columns)))
    counts.sum_duplicates()
    return counts


def document_frequencies(counts: sparse.csr_array) -> NDArray[np.int64]:
    """(n_terms,): the number of texts with each term."""
    return np.bincount(counts.indices, minlength=counts.shape[1])


def idf(counts: sparse.csr_array) -> NDArray[np.float64]:
    """(n_terms,): log((N + 1) / (df + 1)) (Balikas et al. 2018), with N the number of texts."""
    found: NDArray[np.float64] = np.log((counts.shape[0] + 1) / (document_frequencies(counts) + 1))
    return found


def scaled(counts: sparse.csr_array, factors: NDArray[np.float64]) -> sparse.csr_array:
    """(n_texts, n_terms): each count times the factor of its term."""
    return sparse.csr_array((counts.data * factors[counts.indices], counts.indices, counts.indptr), shape=counts.shape)


def unit_length(rows: sparse.csr_array) -> sparse.csr_array:
    """Scales the rows to length 1; a row of zeros stays."""
    lengths = np.sqrt(squared_lengths(rows))
    per_value = np.repeat(np.where(lengths > 0, lengths, 1.0), np.diff(rows.indptr))
    return sparse.csr_array((rows.data / per_value, rows.indices, rows.indptr), shape=rows.shape)


def squared_lengths(rows: sparse.csr_array) -> NDArray[np.float64]:
    """(n_texts,)"""
    return np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
