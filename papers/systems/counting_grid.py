"""Componential counting grids (Perina et al. 2013): texts as mixtures of windows into one grid of words."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from evaluation.systems.protocol import Matrix

_SEED = 2018
_TINY = 1e-12
# Whose rows are copied together: 20 MB at 144 windows.
_PAIRS = 8192

Places = NDArray[np.int32]


class CountingGrid:
    """A square grid whose edges meet; each cell has a distribution over words, and each window the mean of those of its
    cells. A text draws each word from a window of its own mixture; the mixture represents the text.

    Both are learned by expectation maximisation; neighbouring windows overlap, so similar texts come to lie together.

    Args:
        side, window: cells along the grid and along a window.
        n_steps, n_text_steps: of learning, and of finding the mixture of a text when the grid is known.
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
        # Near the frequencies of all texts, and each cell a little different.
        self.cells = _to_one(drawn * (np.asarray(counts.sum(axis=0)).ravel() + 1.0)[None, :])
        mixtures = np.full((counts.shape[0], n_cells), 1.0 / n_cells)
        for _ in range(self._n_steps):
            windows = self.window_means()
            ratios = _ratios(counts, mixtures, windows)
            # Of the words that a window gave, each of its cells gave a share by its own distribution.
            expected = self.cells * (self._membership.T @ (ratios.T @ mixtures).T)
            mixtures = _to_one(mixtures * (ratios @ windows.T) + _TINY)
            self.cells = _to_one(expected + _TINY)

    def represent(self, counts: csr_matrix) -> Matrix:
        """(n_texts, side · side): the mixture over windows of each text."""
        windows = self.window_means()
        mixtures = np.full((counts.shape[0], len(windows)), 1.0 / len(windows))
        for _ in range(self._n_text_steps):
            mixtures = _to_one(mixtures * (_ratios(counts, mixtures, windows) @ windows.T) + _TINY)
        return np.asarray(mixtures, dtype=np.float64)

    def window_means(self) -> Matrix:
        """(side · side, n_words): the distribution of each window, named by its first cell."""
        return np.asarray(self._membership @ self.cells)


def membership(side: int, window: int) -> Matrix:
    """(n_windows, n_cells): the share that each cell has of each window of a grid whose edges meet.

    >>> membership(2, 1)[0].tolist()
    [1.0, 0.0, 0.0, 0.0]
    """
    along = np.zeros((side, side))
    for first in range(side):
        along[first, (first + np.arange(window)) % side] = 1.0 / window
    return np.asarray(np.kron(along, along), dtype=np.float64)


def _ratios(counts: csr_matrix, mixtures: Matrix, windows: Matrix) -> csr_matrix:
    """Each count over the probability of its word in its text, (n_texts, n_words)."""
    found = counts.tocoo()
    probabilities = _probabilities(found.row, found.col, mixtures, windows)
    return csr_matrix((found.data / np.maximum(probabilities, _TINY), (found.row, found.col)), shape=counts.shape)


def _probabilities(texts: Places, words: Places, mixtures: Matrix, windows: Matrix) -> Matrix:
    """(n,): of each pair of a text and a word the probability that the text draws the word."""
    by_word = np.ascontiguousarray(windows.T)
    found = np.empty(len(texts))
    for first in range(0, len(texts), _PAIRS):
        part = slice(first, first + _PAIRS)
        found[part] = np.einsum("ij,ij->i", mixtures[texts[part]], by_word[words[part]])
    return found


def _to_one(values: Matrix) -> Matrix:
    return np.asarray(values / values.sum(axis=1, keepdims=True))
