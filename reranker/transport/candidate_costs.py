"""Keeps the costs between the words of a query and those of all its candidates, in parts that fit the work memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from reranker.native import transport as loops
from reranker.text.bags import WeightedBags
from reranker.transport.cost_table import cost_table, width
from reranker.transport.problem import Problem

# Of 64 MB for a call, this much is for the table of costs; the rest is for the kernels being iterated.
TABLE_BYTES = 48 * 2**20
# Pieces of work per thread: the last to finish is then late by an eighth at most.
PIECES_PER_THREAD = 8

Places = NDArray[np.int64]


@dataclass(slots=True, eq=False)
class Part:
    """Candidates `first` to `last`, and their costs.

    Attributes:
        terms: (k,) the distinct terms of their words; `index`: each word's place among these.
        cost: (k, width) table. None: to be computed.
    """

    first: int
    last: int
    bags: WeightedBags
    terms: NDArray[np.int32]
    index: NDArray[np.int32]
    cost: NDArray[np.floating] | None = None


class CandidateCosts:
    """The costs of a problem, computed when they are first needed and once for all that is solved from them.

    Where the table of all candidates together is larger than `TABLE_BYTES`, the candidates are split into parts, and
    the table of one part is kept. Not to be shared by threads.
    """

    def __init__(
        self, problem: Problem, precision: str = "float32", n_threads: int = 1, ground_cost: str = "euclidean"
    ) -> None:
        """
        Args:
            precision: of the tables: "float32", good for an epsilon of `parameters.FLOAT32_FROM_EPSILON` or more, or
                "float64".
            n_threads: the most threads that may work; they give the same values bit for bit.
            ground_cost: one of `parameters.COSTS`.
        """
        self.problem = problem
        self._ground_cost = ground_cost
        self.precision = precision
        self.n_threads = n_threads
        self.dtype: np.dtype[np.floating] = np.dtype(precision)
        bytes_per_term = width(len(problem.query)) * self.dtype.itemsize
        self._parts = _parts(problem, max(TABLE_BYTES // bytes_per_term, 1))

    def parts(self) -> list[Places]:
        """The places of all candidates, part by part. Who works in this order has no table computed twice."""
        return [np.arange(part.first, part.last, dtype=np.int64) for part in self._parts]

    def parts_of(self, places: Places) -> Iterator[tuple[Part, Places, Places | slice]]:
        """The parts that hold any of the candidates: (part, their places in it, their places among `places`)."""
        if len(self._parts) == 1:
            yield self._parts[0], places, slice(None)
            return
        for part in self._parts:
            where = np.flatnonzero((places >= part.first) & (places < part.last))
            if not len(where):
                continue
            for other in self._parts:
                if other is not part:
                    other.cost = None
            yield part, places[where] - part.first, where

    def table(self, part: Part) -> NDArray[np.floating]:
        """The table of a part."""
        if part.cost is None:
            query, embeddings = self.problem.query.term_ids, self.problem.embeddings
            part.cost = cost_table(query, part.terms, embeddings, self.dtype, self.n_threads, self._ground_cost)
        return part.cost


def pieces(offsets: NDArray[np.int64], places: Places, n_threads: int) -> list[tuple[int, int]]:
    """Splits the candidates at some places into pieces of about the same number of words."""
    words = np.concatenate([[0], np.cumsum(np.diff(offsets)[places])])
    targets = np.linspace(0, words[-1], n_threads * PIECES_PER_THREAD + 1)[1:-1]
    cuts = np.unique(np.concatenate([[0], np.searchsorted(words, targets).clip(0, len(places)), [len(places)]]))
    return [(int(start), int(end)) for start, end in pairwise(cuts)]


def _parts(problem: Problem, max_terms: int) -> list[Part]:
    """Splits the candidates so that the table of each part has at most so many terms; one candidate at least."""
    candidates = problem.candidates
    if len(candidates.distinct.term_ids) <= max_terms:
        return [Part(0, len(candidates), candidates, *candidates.distinct)]
    parts: list[Part] = []
    first, n_terms = 0, len(problem.embeddings)
    while first < len(candidates):
        last, terms, index = loops.distinct_terms(candidates.term_ids, candidates.offsets, first, max_terms, n_terms)
        parts.append(Part(first, last, _slice(candidates, first, last), terms, index))
        first = last
    return parts


def _slice(bags: WeightedBags, first: int, last: int) -> WeightedBags:
    start, end = bags.offsets[first], bags.offsets[last]
    return WeightedBags(bags.term_ids[start:end], bags.weights[start:end], bags.offsets[first : last + 1] - start)
