"""Moves the vectors of translations towards each other (retrofitting).

Retrofitting (Faruqui et al. 2015) repeatedly replaces the vector of a word by the mean of its original vector and of
its neighbours' current vectors. ConceptNet Numberbatch is made this way (Speer, Chin and Havasi 2017).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from ingest.embeddings.sparse_rows import SparseRows
from ingest.embeddings.spectral import unit_rows
from ingest.progress import Progress, no_progress

# Faruqui et al. 2015, section 3: "running this procedure for 10 iterations converges".
N_ITERATIONS = 10


def links(pairs: Iterable[tuple[int, int]], n_terms: int) -> SparseRows:
    """(n_terms, n_terms) float32, symmetric: 1 for two different terms that are a pair in either direction, else 0."""
    places = np.array([pair for pair in pairs if pair[0] != pair[1]], dtype=np.int64).reshape(-1, 2)
    rows, columns = np.concatenate([places, places[:, ::-1]]).T
    return SparseRows.of_ones(rows, columns, (n_terms, n_terms))


def retrofit(
    vectors: NDArray[np.float32],
    linked: SparseRows,
    *,
    n_iterations: int = N_ITERATIONS,
    progress: Progress = no_progress,
) -> NDArray[np.float32]:
    """The retrofitted vectors, of length 1. A term without neighbours keeps its vector.

        q(i) = (v(i) + mean over neighbours j of q(j)) / 2

    These are the paper's weights: 1 for the word itself, and 1 / (number of neighbours) for each neighbour.

    Args:
        vectors: (n_terms, dim), of length 1.
        linked: (n_terms, n_terms), the result of `links`.
    """
    shares = (1 / np.maximum(linked.n_values_of_rows, 1)).astype(np.float32)
    means = linked.with_values(shares[linked.rows] * linked.values)
    # The vector of a word without neighbours gets shorter; normalising at the end undoes that.
    found = vectors
    for done in range(n_iterations):
        progress(done, n_iterations, "moving translations together")
        found = (vectors + means @ found) * np.float32(0.5)
    progress(n_iterations, n_iterations, "moved translations together")
    return unit_rows(found)
