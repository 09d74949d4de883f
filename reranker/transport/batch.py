"""Turns checked bags into distances, all candidates of a query together: the compiled implementation.

The distinct terms of the candidates are found, their costs to the query computed once, and every candidate is then
solved from the rows of that table. So many candidates go together as the work memory allows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from reranker.text.bags import WeightedBag, WeightedBags
from reranker.transport import exact, nbow
from reranker.transport.cost_cache import CostCache
from reranker.transport.kernels import cost_tables, log_scaling, scaling
from reranker.transport.problem import FLOAT64_FROM_EPSILON, Distances, Parameters, scaling_precision
from reranker.transport.tables import cost_table
from reranker.transport.tables import width as _width
from reranker.transport.threads import run, together

# Of 64 MB for a call, this much is for the table of costs; the rest is for tiles in work.
TABLE_BYTES = 48 * 2**20
# Pieces of work per thread: the last to finish is then late by an eighth at most.
PIECES_PER_THREAD = 8

Places = NDArray[np.int64]
# Distances, marginal errors and iterations, one for each candidate.
_Found = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int32]]


@dataclass(slots=True, eq=False)
class _Chunk:
    """Candidates `first` to `last`, and what was computed for them and fits the work memory.

    Attributes:
        terms: (k,) the distinct terms of their words; `index`: each word's place among these.
        cost: (k, width) table, of `ground_cost`. None: to be computed.
    """

    first: int
    last: int
    bags: WeightedBags
    terms: NDArray[np.int32]
    index: NDArray[np.int32]
    cost: NDArray[np.floating] | None = None
    ground_cost: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class NearestWords:
    """What transport costs when one side alone keeps its weights: two lower bounds of `emd` (Kusner et al. 2015, 4).

    Attributes:
        from_query: (k,) sum_i a_i min_j C_ij; +inf for a candidate without a word.
        to_document: (k,) sum_j b_j min_i C_ij; the same.
    """

    from_query: NDArray[np.float64]
    to_document: NDArray[np.float64]


class GroundCosts:
    """The costs between the words of a query and of many candidates, computed once for all that is solved from them.

    They are computed when they are first needed, and kept for one ground cost (`Parameters.cost`) at a time. Where the
    table of all candidates together is larger than `TABLE_BYTES`, candidates are parted, and only the table of the
    last part is kept. Not to be shared by threads.
    """

    def __init__(
        self,
        query: WeightedBag,
        candidates: WeightedBags,
        embeddings: NDArray[np.float32],
        precision: str = "float32",
        n_threads: int = 1,
        cost_cache: CostCache | None = None,
    ) -> None:
        """Takes checked bags.

        Args:
            precision: of the tables: "float32", good for an epsilon of `problem.FLOAT32_FROM_EPSILON` or more, or
                "float64".
            n_threads: the most threads that may work; they give the same values bit for bit.
            cost_cache: where costs are looked for first, and kept where those of all candidates are in one table.
        """
        self.query = query
        self.candidates = candidates
        self.embeddings = embeddings
        self.n_threads = n_threads
        self.precision = precision
        self.cost_cache = cost_cache
        self._dtype: np.dtype[np.floating] = np.dtype(precision)
        bytes_per_term = _width(len(query)) * self._dtype.itemsize
        self._chunks = list(_chunks(candidates, len(embeddings), bytes_per_term))

    def solve(self, method: str, parameters: Parameters, places: Places | None = None) -> Distances:
        """The distances of the candidates at some places, in their order; of all where `places` is None.

        Args:
            method: `rwmd`, `sinkhorn`, `relaxed`, or `nbow`, which needs no costs.
        """
        return self.solve_all([(method, parameters)], places)[0]

    def solve_all(self, wanted: Sequence[tuple[str, Parameters]], places: Places | None = None) -> list[Distances]:
        """`solve` by several methods, one part of the candidates after the other: no cost is computed twice."""
        places = np.arange(len(self.candidates)) if places is None else np.asarray(places, dtype=np.int64)
        found = [_nothing_found(len(places)) for _ in wanted]
        by_cost = [each for each in zip(wanted, found, strict=True) if each[0][0] != "nbow"]
        for chunk, own, where in self._parted(places) if by_cost else ():
            for (method, parameters), (values, errors, iterations) in by_cost:
                values[where], errors[where], iterations[where] = self._solve_chunk(chunk, own, method, parameters)
        return [
            nbow.distances(self.query, self.candidates, self.embeddings, self.n_threads, places)
            if method == "nbow"
            else self._distances(method, parameters, places, *each)
            for (method, parameters), each in zip(wanted, found, strict=True)
        ]

    def nearest_words(self, places: Places | None = None, ground_cost: str = "euclidean") -> NearestWords:
        """Both one-sided bounds of the candidates at some places, in their order."""
        places = np.arange(len(self.candidates)) if places is None else np.asarray(places, dtype=np.int64)
        from_query, to_document = np.full(len(places), np.inf), np.full(len(places), np.inf)
        for chunk, own, where in self._parted(places):
            from_query[where], to_document[where] = self._one_sided(chunk, own, ground_cost)
        return NearestWords(from_query, to_document)

    def _parted(self, places: Places) -> Iterator[tuple[_Chunk, Places, Places]]:
        """Chunks that hold any of the candidates: (chunk, their places in it, their places among `places`)."""
        for chunk in self._chunks:
            where = np.flatnonzero((places >= chunk.first) & (places < chunk.last))
            if not len(where):
                continue
            yield chunk, places[where] - chunk.first, where
            if len(self._chunks) > 1:
                chunk.cost = None

    def _cost(self, chunk: _Chunk, ground_cost: str) -> NDArray[np.floating]:
        """The table of costs; that of another ground cost is forgotten first: never two of them."""
        if chunk.cost is not None and chunk.ground_cost == ground_cost:
            return chunk.cost
        chunk.cost, chunk.ground_cost = None, ground_cost
        cache = self.cost_cache if len(self._chunks) == 1 else None
        key = self.embeddings, self.query.term_ids, chunk.terms, f"{ground_cost} {self.precision}"
        found = cache.get(*key) if cache is not None else None
        if found is None:
            found = cost_table(self.query, chunk.terms, self.embeddings, self._dtype, self.n_threads, ground_cost)
            if cache is not None:
                cache.put(*key, found)
        chunk.cost = found
        return found

    def _solve_chunk(self, chunk: _Chunk, places: Places, method: str, parameters: Parameters) -> _Found:
        if method == "rwmd":
            _, no_errors, no_iterations = _nothing_found(len(places))
            return np.maximum(*self._one_sided(chunk, places, parameters.ground_cost)), no_errors, no_iterations
        if self._arithmetic(method, parameters) == "log":
            return self._solve_log(chunk, places, method, parameters)
        return self._solve_scaled(chunk, places, method, parameters)

    def _arithmetic(self, method: str, parameters: Parameters) -> str:
        if method == "rwmd" or self.precision == "float32":
            return self.precision
        return "float64" if parameters.epsilon >= FLOAT64_FROM_EPSILON else "log"

    def _one_sided(
        self, chunk: _Chunk, places: Places, ground_cost: str
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        from_query, to_document = np.full(len(places), np.inf), np.full(len(places), np.inf)
        cost, bags = self._cost(chunk, ground_cost), chunk.bags

        def work(first: int, last: int) -> None:
            cost_tables.nearest_words(
                cost, chunk.index, bags.offsets, places[first:last], self.query.weights, bags.weights,
                from_query[first:last], to_document[first:last],
            )  # fmt: skip

        run(work, pieces(bags.offsets, places, self.n_threads), self.n_threads)
        return from_query, to_document

    def _solve_scaled(self, chunk: _Chunk, places: Places, method: str, parameters: Parameters) -> _Found:
        values, errors, iterations = _nothing_found(len(places))
        cost, bags = self._cost(chunk, parameters.ground_cost), chunk.bags
        a, b, start = (x.astype(self._dtype) for x in (self.query.weights, bags.weights, self._start(method)))
        settings = (
            parameters.power(method),
            parameters.over_relaxed,
            int(parameters.n_iterations),
            parameters.stop_below(self.precision),
            scaling.SMALLEST[self.precision],
        )

        longest_first = np.argsort(-np.diff(bags.offsets)[places], kind="stable")  # so that threads end together
        work = partial(
            scaling.scale_many, np.zeros(1, np.int64), longest_first, cost, -1 / parameters.epsilon, chunk.index,
            bags.offsets, places, a, b, start, *settings, values, errors, iterations,
        )  # fmt: skip
        together(work, min(self.n_threads, len(places)))
        return values, errors, iterations

    def _solve_log(self, chunk: _Chunk, places: Places, method: str, parameters: Parameters) -> _Found:
        values, errors, iterations = _nothing_found(len(places))
        cost, bags = self._cost(chunk, parameters.ground_cost), chunk.bags
        log_a, log_b, log_start = (np.log(x) for x in (self.query.weights, bags.weights, self._start(method)))
        settings = (
            float(parameters.epsilon),
            parameters.power(method),
            parameters.over_relaxed,
            int(parameters.n_iterations),
            parameters.stop_below("log"),
        )

        def work(first: int, last: int) -> None:
            log_scaling.scale_many_log(
                cost, chunk.index, bags.offsets, places[first:last], log_a, log_b, log_start, *settings,
                values[first:last], errors[first:last], iterations[first:last],
            )  # fmt: skip

        run(work, pieces(bags.offsets, places, self.n_threads), self.n_threads)
        return values, errors, iterations

    def _start(self, method: str) -> NDArray[np.float64]:
        """The scaling of the query to begin with, times a (`reference.scaled_plan`)."""
        n = len(self.query)
        return np.full(n, 1 / n) if method == "sinkhorn" else self.query.weights

    def _distances(
        self,
        method: str,
        parameters: Parameters,
        places: Places,
        values: NDArray[np.float64],
        errors: NDArray[np.float64],
        iterations: NDArray[np.int32],
    ) -> Distances:
        lost = np.flatnonzero(np.isnan(values))
        if len(lost):  # what float32 or float64 could not hold
            bags = WeightedBags.join([self.candidates[int(place)] for place in places[lost]])
            again = _LogCosts(self.query, bags, self.embeddings, "float64", self.n_threads).solve(method, parameters)
            values[lost], errors[lost], iterations[lost] = again.values, again.marginal_error, again.n_iterations
        np.maximum(values, 0, out=values)  # rounding can leave -1e-17
        precision = self._arithmetic(method, parameters)
        return Distances(values, method, errors < parameters.converged_below(), errors, precision, iterations)


def _nothing_found(n: int) -> _Found:
    return np.full(n, np.inf), np.zeros(n), np.zeros(n, np.int32)


class _LogCosts(GroundCosts):
    """Solves in the log domain at any epsilon."""

    def _arithmetic(self, method: str, parameters: Parameters) -> str:
        return "log"


def distances(
    query: WeightedBag,
    candidates: WeightedBags,
    embeddings: NDArray[np.float32],
    method: str,
    parameters: Parameters,
    n_threads: int = 1,
    *,
    precision: str | None = None,
) -> Distances:
    """Distances of all candidates; takes checked bags and a resolved method.

    Args:
        precision: "float32" or "float64" of the tables, where it is not to be chosen here.
    """
    if method == "nbow":
        return nbow.distances(query, candidates, embeddings, n_threads)
    if method == "emd":
        return exact.distances(query, candidates, embeddings, parameters, n_threads)
    precision = precision or table_precision(method, parameters)
    return GroundCosts(query, candidates, embeddings, precision, n_threads).solve(method, parameters)


def distances_together(
    query: WeightedBag,
    candidates: WeightedBags,
    embeddings: NDArray[np.float32],
    wanted: Sequence[tuple[str, Parameters]],
    n_threads: int = 1,
    cost_cache: CostCache | None = None,
) -> list[Distances]:
    """`distances` by the parts of a method (`methods.parts`): of one ground cost and epsilon, from the same tables."""
    if len(wanted) == 1 and wanted[0][0] in ("nbow", "emd"):
        return [distances(query, candidates, embeddings, *wanted[0], n_threads)]
    precision = table_precision(*wanted[-1])
    return GroundCosts(query, candidates, embeddings, precision, n_threads, cost_cache).solve_all(wanted)


def table_precision(method: str, parameters: Parameters) -> str:
    """The type of tables from which a method is solved best: "float32" or "float64"."""
    scaled = method in ("sinkhorn", "relaxed")
    return "float64" if scaled and scaling_precision(parameters.epsilon) != "float32" else "float32"


def _chunks(candidates: WeightedBags, n_terms: int, bytes_per_term: int) -> Iterator[_Chunk]:
    """Parts the candidates so that the table of each part fits the work memory; one candidate at least."""
    max_terms = max(TABLE_BYTES // bytes_per_term, 1)
    first = 0
    while first < len(candidates):
        last, terms, index = cost_tables.deduplicate(candidates.term_ids, candidates.offsets, first, max_terms, n_terms)
        yield _Chunk(first, last, _part(candidates, first, last), terms, index)
        first = last


def _part(bags: WeightedBags, first: int, last: int) -> WeightedBags:
    start, end = bags.offsets[first], bags.offsets[last]
    return WeightedBags(bags.term_ids[start:end], bags.weights[start:end], bags.offsets[first : last + 1] - start)


def pieces(offsets: NDArray[np.int64], places: Places, n_threads: int) -> list[tuple[int, int]]:
    """Parts the candidates at some places into pieces of about the same number of words."""
    words = np.concatenate([[0], np.cumsum(np.diff(offsets)[places])])
    wanted = np.linspace(0, words[-1], n_threads * PIECES_PER_THREAD + 1)[1:-1]
    cuts = np.unique(np.concatenate([[0], np.searchsorted(words, wanted).clip(0, len(places)), [len(places)]]))
    return [(int(start), int(end)) for start, end in pairwise(cuts)]
