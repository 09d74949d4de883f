"""Componential counting grids (Perina et al. 2013): texts as mixtures of windows of a grid of words."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix

from papers.systems.protocol import Matrix

_SEED = 2018
_TINY = 1e-12
# Number of words whose rows are copied at once; 20 MB with 144 windows.
_PAIRS = 8192


class CountingGrid:
    """A square grid on a torus. Each cell has a distribution over words, and a window has the mean of its cells.

    A text draws each word from a window of its mixture of windows, and the mixture represents the text. Cells and
    mixtures are learned by expectation maximisation. Neighbouring windows overlap, so similar texts come to be near
    each other.

    Args:
        side, window: number of cells along the grid and along a window.
        n_steps, n_text_steps: iterations of training, and of inferring the mixture of a text with a trained grid.
    """

    largest_vocabulary = 5_000

    def __init__(self, side: int = 12, window: int = 4, n_steps: int = 60, n_text_steps: int = 30) -> None:
        self._side = side
        self._n_steps, self._n_text_steps = n_steps, n_text_steps
        self._membership = membership(side, window)
        self.cells: Matrix = np.empty((0, 0))
        self.description = (
            f"componential counting grid, {side} × {side}, windows {window} × {window}, {n_steps} steps of expectation "
            f"maximisation, the {self.largest_vocabulary:,} most frequent words, Euclidean distance of window mixtures "
            "(Perina et al. 2013, Kusner et al. 2015)"
        )

    def fit(self, counts: csr_matrix) -> None:
        """Learns the distributions of the cells, (side · side, n_words), from (n_texts, n_words)."""
        n_cells = self._side**2
        drawn = np.random.default_rng(_SEED).random((n_cells, counts.shape[1])) + 0.5
        # Start near the frequencies of all texts, with small differences between cells.
        self.cells = _to_one(drawn * (np.asarray(counts.sum(axis=0)).ravel() + 1.0)[None, :])
        mixtures = np.full((counts.shape[0], n_cells), 1.0 / n_cells)
        for _ in range(self._n_steps):
            windows = self.window_means()
            ratios = _ratios(counts, mixtures, windows)
            # The words of a window are divided among its cells in proportion to the cells' distributions.
            expected = self.cells * (self._membership.T @ (ratios.T @ mixtures).T)
            mixtures = _to_one(mixtures * (ratios @ windows.T) + _TINY)
            self.cells = _to_one(expected + _TINY)

    def represent(self, counts: csr_matrix) -> Matrix:
        """(n_texts, side · side), the mixture of windows of each text."""
        windows = self.window_means()
        mixtures = np.full((counts.shape[0], len(windows)), 1.0 / len(windows))
        for _ in range(self._n_text_steps):
            mixtures = _to_one(mixtures * (_ratios(counts, mixtures, windows) @ windows.T) + _TINY)
        return np.asarray(mixtures, dtype=np.float64)

    def window_means(self) -> Matrix:
        """(side · side, n_words), the distribution of each window, at the index of its first cell."""
        return np.asarray(self._membership @ self.cells)


def membership(side: int, window: int) -> Matrix:
    """(n_windows, n_cells), the share of each cell in each window of a torus.

    >>> membership(2, 1)[0].tolist()
    [1.0, 0.0, 0.0, 0.0]
    """
    along = np.zeros((side, side))
    for first in range(side):
        along[first, (first + np.arange(window)) % side] = 1.0 / window
    return np.asarray(np.kron(along, along), dtype=np.float64)


def _ratios(counts: csr_matrix, mixtures: Matrix, windows: Matrix) -> csr_matrix:
    """(n_texts, n_words), each count divided by the probability of its word in its text."""
    found, by_word = counts.tocoo(), np.ascontiguousarray(windows.T)
    probabilities = np.empty(found.nnz)
    for first in range(0, found.nnz, _PAIRS):
        part = slice(first, first + _PAIRS)
        probabilities[part] = np.einsum("ij,ij->i", mixtures[found.row[part]], by_word[found.col[part]])
    return csr_matrix((found.data / np.maximum(probabilities, _TINY), (found.row, found.col)), shape=counts.shape)


def _to_one(values: Matrix) -> Matrix:
    return np.asarray(values / values.sum(axis=1, keepdims=True))
