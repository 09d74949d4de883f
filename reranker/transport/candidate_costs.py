"""Keeps the costs between the words of a query and those of all its candidates."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from reranker.transport.cost_table import cost_table, width
from reranker.transport.problem import Problem

# Of 64 MB for a call, this much is for the table of costs; the rest is for the kernels being iterated.
TABLE_BYTES = 48 * 2**20
# Pieces of work per thread: the last to finish is then late by an eighth at most.
PIECES_PER_THREAD = 8

Places = NDArray[np.int64]


class CandidateCosts:
    """The costs of a problem, computed when they are first needed and once for all that is solved from them. Not to be
    shared by threads."""

    def __init__(
        self, problem: Problem, precision: str = "float32", n_threads: int = 1, ground_cost: str = "euclidean"
    ) -> None:
        """
        Args:
            problem: one that `fits`, unless the memory does not matter.
            precision: of the table: "float32", good for an epsilon of `parameters.FLOAT32_FROM_EPSILON` or more, or
                "float64".
            n_threads: the most threads that may work; they give the same values bit for bit.
            ground_cost: one of `parameters.COSTS`.
        """
        self.problem = problem
        self._ground_cost = ground_cost
        self.precision = precision
        self.n_threads = n_threads
        self.dtype: np.dtype[np.floating] = np.dtype(precision)

    @cached_property
    def table(self) -> NDArray[np.floating]:
        """(k, width), a row for each of the candidates' distinct terms."""
        query, terms = self.problem.query.term_ids, self.problem.candidates.distinct.term_ids
        return cost_table(query, terms, self.problem.embeddings, self.dtype, self.n_threads, self._ground_cost)


def fits(problem: Problem, precision: str) -> bool:
    """Whether the costs of a problem take at most `TABLE_BYTES`. If not, each half of its candidates is solved by
    itself; those of one candidate alone always fit."""
    if len(problem.candidates) < 2:
        return True
    bytes_of_term = width(len(problem.query)) * np.dtype(precision).itemsize
    return len(problem.candidates.distinct.term_ids) * bytes_of_term <= TABLE_BYTES


def pieces(offsets: NDArray[np.int64], places: Places, n_threads: int) -> list[tuple[int, int]]:
    """Splits the candidates at some places into pieces of about the same number of words."""
    words = np.concatenate([[0], np.cumsum(np.diff(offsets)[places])])
    targets = np.linspace(0, words[-1], n_threads * PIECES_PER_THREAD + 1)[1:-1]
    cuts = np.unique(np.concatenate([[0], np.searchsorted(words, targets).clip(0, len(places)), [len(places)]]))
    return [(int(start), int(end)) for start, end in pairwise(cuts)]
