"""What is given to a transport: one query, its candidates and the embeddings of their words, checked once.

Whatever takes a `Problem` relies on these checks and makes none of its own. Rows of embeddings are the exception: they
are looked at when they are read, since most of a memory map never is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from reranker.base.errors import BadEmbeddings, BadInput, EmptyQuery
from reranker.native import transport as loops
from reranker.text.bags import DistinctTerms, WeightedBag, WeightedBags

WEIGHT_TOLERANCE = 1e-6
# Rows that were rounded to few digits have norms off by 1e-3; rows that nobody normalised are off by far more.
NORM_TOLERANCE = 1e-2


@dataclass(slots=True, eq=False)
class OfCandidates:
    """What was computed from the candidates alone, for the next query; None where it is not known yet.

    Attributes:
        means: (n_candidates, dim) mean embeddings, of length 1 or 0 (`nbow.mean_embeddings`).
        distinct: the distinct terms of all candidates.
    """

    means: NDArray[np.float32] | None = None
    distinct: DistinctTerms | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """One query and its candidates, as `checked_problem` leaves them: no word of weight 0, weights that sum to 1.

    Attributes:
        query: at least one word.
        candidates: any number; one without a word is at distance +inf.
        embeddings: (n_terms, dim), the rows of the bags' term ids.
        of_candidates: shared by the problems of `with_moved_query`.
    """

    query: WeightedBag
    candidates: WeightedBags
    embeddings: NDArray[np.float32]
    of_candidates: OfCandidates = field(default_factory=OfCandidates)

    @property
    def distinct(self) -> DistinctTerms:
        """The distinct terms of all candidates, computed once for all queries."""
        known = self.of_candidates
        if known.distinct is None:
            known.distinct = distinct_terms(self.candidates.term_ids, len(self.embeddings), are_checked=True)
        return known.distinct

    def with_moved_query(self, query: WeightedBag) -> Problem:
        """Another query with the same candidates. It holds words of this one and of the candidates alone, with weights
        above 0 that sum to 1: it is not checked."""
        return Problem(query, self.candidates, self.embeddings, self.of_candidates)

    def part(self, places: Iterable[int]) -> Problem:
        """The same query with the candidates at some places, in their order."""
        bags = WeightedBags.join([self.candidates[int(place)] for place in places])
        return Problem(self.query, bags, self.embeddings)


def checked_problem(query: WeightedBag, candidates: WeightedBags, embeddings: NDArray[np.float32]) -> Problem:
    """Checks what is given and copies it to arrays of the types that the compiled loops take.

    Raises:
        EmptyQuery: the query has no word.
        BadEmbeddings: an embedding of a query word is not finite or not of norm 1.
        BadInput: weights, term ids, offsets or embeddings break their contract.
    """
    check_embeddings(embeddings)
    checked = _checked_query(query, embeddings)
    return Problem(checked, checked_candidates(candidates, len(embeddings)), embeddings)


def weighed_problem(query: WeightedBag, candidates: WeightedBags, embeddings: NDArray[np.float32]) -> Problem:
    """`checked_problem` of a query and candidates that an `IdfTable` weighed, the candidates by `weigh_all` with
    `distinct_terms`: their weights are right as they are made, and the candidates' term ids were checked there. The
    query has passed `check_weighed_query`.
    """
    return Problem(query, candidates, embeddings, OfCandidates(distinct=candidates.distinct))


def check_weighed_query(query: WeightedBag, embeddings: NDArray[np.float32]) -> None:
    """Raises EmptyQuery and BadEmbeddings, as `checked_problem`, of a query that an `IdfTable` weighed."""
    _check_not_empty(query)
    _check_embeddings_of(query, embeddings)


def distinct_terms(term_ids: NDArray[np.int32], n_terms: int, *, are_checked: bool = False) -> DistinctTerms:
    """The distinct terms of many words.

    Args:
        are_checked: the term ids are known to be below `n_terms`.

    Raises:
        BadInput: a term id is none of the `n_terms` embeddings.
    """
    if not are_checked:
        _check_term_ids(term_ids, n_terms)
    everything = np.array([0, len(term_ids)], np.int64)
    checked = np.ascontiguousarray(term_ids, np.int32)
    return DistinctTerms(*loops.distinct_terms(checked, everything, 0, n_terms, n_terms)[1:])


def check_embeddings(embeddings: NDArray[np.float32]) -> None:
    """Raises BadInput unless the embeddings are (n_terms, dim) float32, row after row in memory, as compiled loops read
    them; rows are looked at when they are used."""
    if embeddings.ndim != 2 or embeddings.dtype != np.float32:
        raise BadInput(
            f"embeddings are of shape {embeddings.shape} and type {embeddings.dtype};"
            " give (n_terms, dim) float32, one row a term"
        )
    if not embeddings.flags.c_contiguous:
        raise BadInput("embeddings do not lie row after row in memory; give numpy.ascontiguousarray of them")


def check_terms(term_ids: NDArray[np.int32], embeddings: NDArray[np.float32]) -> None:
    """Raises BadEmbeddings if the embedding of a term is not finite or not of norm 1."""
    rows = np.asarray(embeddings[term_ids], dtype=np.float64)
    check_rows(term_ids, rows)
    check_norms(term_ids, rows)


def check_rows(term_ids: NDArray[np.int32], rows: NDArray[np.floating]) -> None:
    """Raises BadEmbeddings if an embedding is not finite; `rows` is (k, dim), the embeddings of the (k,)
    `term_ids`, or any (k, ...) product of them in which NaN would show."""
    finite = np.isfinite(rows.reshape(len(rows), -1)).all(axis=1)
    if not finite.all():
        raise BadEmbeddings(
            f"the embedding of term {int(term_ids[~finite][0])} is not finite;"
            " import the embeddings again from a sound file"
        )


def check_norms(term_ids: NDArray[np.int32], rows: NDArray[np.float64]) -> None:
    """Raises BadEmbeddings if an embedding is not of norm 1; `rows` is (k, dim), the embeddings of the (k,)
    `term_ids`."""
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    wrong = np.abs(norms - 1) > NORM_TOLERANCE
    if wrong.any():
        raise BadEmbeddings(
            f"the embedding of term {int(term_ids[wrong][0])} has norm {norms[wrong][0]:.4g}, not 1;"
            " divide each row by its norm"
        )


def _checked_query(query: WeightedBag, embeddings: NDArray[np.float32]) -> WeightedBag:
    """The query with words of no weight left out and weights that sum to 1 exactly.

    Its embeddings are looked at for all: few rows tell a store that was not normalised.

    Raises:
        EmptyQuery: no word in it.
        BadEmbeddings: an embedding of a query word is not finite or not of norm 1.
        BadInput: weights or term ids that break the contract of `WeightedBag`.
    """
    _check_not_empty(query)
    bags = WeightedBags(query.term_ids, query.weights, np.array([0, len(query.term_ids)], dtype=np.int64))
    bags = _checked(bags, len(embeddings), "query weights")
    checked = WeightedBag(bags.term_ids, bags.weights)
    _check_embeddings_of(checked, embeddings)
    return checked


def _check_not_empty(query: WeightedBag) -> None:
    if not len(query.term_ids):
        raise EmptyQuery("the query has no known word; give a text with at least one word that has an embedding")


def _check_embeddings_of(query: WeightedBag, embeddings: NDArray[np.float32]) -> None:
    rows = embeddings[query.term_ids]
    squared = np.einsum("ij,ij->i", rows, rows, dtype=np.float64)
    if not abs(squared - 1).max() < NORM_TOLERANCE:  # true for NaN too
        check_terms(query.term_ids, embeddings)


def checked_candidates(candidates: WeightedBags, n_terms: int) -> WeightedBags:
    """The candidates with words of no weight left out and weights that sum to 1 exactly; bags keep their places.

    Raises:
        BadInput: weights, term ids or offsets that break the contract of `WeightedBags`.
    """
    offsets = np.asarray(candidates.offsets)
    ends = (offsets[0], offsets[-1]) if offsets.ndim == 1 and len(offsets) else None
    if ends != (0, len(candidates.term_ids)) or (np.diff(offsets) < 0).any():
        raise BadInput(
            f"candidate offsets do not ascend from 0 to the {len(candidates.term_ids)} words;"
            " build the bags with WeightedBags.join"
        )
    return _checked(candidates, n_terms, "document weights")


def _checked(bags: WeightedBags, n_terms: int, name: str) -> WeightedBags:
    """Checked, contiguous copies, of the types that the compiled loops take."""
    weights = np.array(bags.weights, dtype=np.float64)
    term_ids = np.array(bags.term_ids)
    offsets = np.array(bags.offsets, dtype=np.int64)
    if weights.shape != term_ids.shape or weights.ndim != 1:
        raise BadInput(
            f"{name} are of shape {weights.shape}, term ids of {term_ids.shape}; give one weight for each term id"
        )
    _check_term_ids(term_ids, n_terms)
    if len(weights) and not (weights.min() >= 0 and weights.max() < np.inf):  # false for NaN too
        wrong = weights[~(np.isfinite(weights) & (weights >= 0))][0]
        raise BadInput(f"{name} hold {wrong}; give finite weights of 0 or more")
    lengths = np.diff(offsets)
    filled = lengths > 0
    sums = np.ones(len(lengths))
    sums[filled] = np.add.reduceat(weights, offsets[:-1][filled])
    off = np.abs(sums - 1) > WEIGHT_TOLERANCE
    if off.any():
        place = f" of candidate {int(np.flatnonzero(off)[0])}" if name == "document weights" else ""
        raise BadInput(f"{name}{place} sum to {sums[off][0]:.9g}, not 1; divide them by their sum")
    weights /= np.repeat(sums, lengths)
    if len(weights) and not weights.min() > 0:
        kept = weights > 0
        offsets = np.concatenate([[0], np.cumsum(kept)])[offsets].astype(np.int64)
        weights, term_ids = weights[kept], term_ids[kept]
    return WeightedBags(term_ids.astype(np.int32, copy=False), weights, offsets)


def _check_term_ids(term_ids: NDArray[np.int32], n_terms: int) -> None:
    if not len(term_ids):
        return
    if term_ids.dtype.kind not in "iu":
        raise BadInput(f"term ids are of type {term_ids.dtype}; give int32")
    if term_ids.min() < 0 or term_ids.max() >= n_terms:
        wrong = (term_ids < 0) | (term_ids >= n_terms)
        raise BadInput(
            f"term id {int(term_ids[wrong][0])} is outside the {n_terms} embeddings;"
            " index the documents again with this store"
        )
