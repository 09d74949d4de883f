"""Finds the documents nearest to a query, by any method; by `emd` without solving for all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reranker.base.errors import BadInput, WrongParameter
from reranker.text.bags import WeightedBag, WeightedBags
from reranker.transport.methods import check_method, solve_problem
from reranker.transport.parameters import Parameters
from reranker.transport.problem import Problem, checked_problem
from reranker.transport.pruning import nearest_by_emd
from reranker.transport.results import Distances, at_places

_DEFAULTS = Parameters()


@dataclass(frozen=True, slots=True, eq=False)
class Nearest:
    """The nearest documents.

    Attributes:
        order: (min(k, n_candidates),) places among the candidates, nearest first, ties in the order of the candidates;
            those with no known word last.
        distances: those of `order`, in its order, without offsets.
        n_solved: candidates with a known word whose distance was computed: all, unless bounds spared some (`emd`).
    """

    order: NDArray[np.int64]
    distances: Distances
    n_solved: int


def nearest_documents(
    query: WeightedBag,
    candidates: WeightedBags,
    embeddings: NDArray[np.float32],
    k: int = 10,
    method: str = "sinkhorn",
    parameters: Parameters = _DEFAULTS,
    n_threads: int = 1,
    *,
    offsets: NDArray[np.float64] | None = None,
) -> Nearest:
    """The k candidates that `distances` puts first, with the same distances bit for bit.

    By `emd`, lower bounds leave out candidates that cannot be among them (`pruning.py`).

    Args:
        k: how many, 1 or more.
        method, parameters, n_threads: as `distances`.
        offsets: (n_candidates,) finite numbers that are added to the distances before the k least are chosen and
            ordered: what else is known for or against a candidate. None: 0.

    Raises:
        BadInput: as `distances`; or offsets of another number or not finite.
        WrongParameter: k or n_threads is below 1.

    >>> table = np.array([[1, 0], [0, 1], [-1, 0]], dtype=np.float32)
    >>> bags = [WeightedBag(np.array([i], np.int32), np.ones(1)) for i in (2, 1, 0)]
    >>> found = nearest_documents(bags[2], WeightedBags.join(bags), table, k=1, method="emd")
    >>> found.order, found.distances.values, found.n_solved
    (array([2]), array([0.]), 1)
    """
    check_method(method)
    problem = checked_problem(query, candidates, embeddings)
    return nearest_of(problem, k, method, parameters, n_threads, offsets=offsets)


def nearest_of(
    problem: Problem,
    k: int,
    method: str,
    parameters: Parameters,
    n_threads: int = 1,
    *,
    offsets: NDArray[np.float64] | None = None,
) -> Nearest:
    """`nearest_documents` of what was checked before; the method must be one of `METHODS`."""
    for name, number in (("k", k), ("n_threads", n_threads)):
        if number < 1:
            raise WrongParameter(f"{name} is {number}; give 1 or more")
    offsets = _checked_offsets(offsets, len(problem.candidates))
    if method == "emd" and k < np.count_nonzero(np.diff(problem.candidates.offsets)):  # else bounds would spare none
        found, n_solved = nearest_by_emd(problem, parameters, k, offsets, n_threads)
    else:
        found = solve_problem(problem, method, parameters, n_threads)
        n_solved = int(np.isfinite(found.values).sum())
    order = np.argsort(found.values + offsets, kind="stable")[:k].astype(np.int64)
    return Nearest(order, at_places(found, order), n_solved)


def _checked_offsets(offsets: NDArray[np.float64] | None, n_candidates: int) -> NDArray[np.float64]:
    if offsets is None:
        return np.zeros(n_candidates)
    checked = np.asarray(offsets, dtype=np.float64)
    if checked.shape != (n_candidates,):
        raise BadInput(f"offsets are of shape {checked.shape}; give one for each of the {n_candidates} candidates")
    if not np.isfinite(checked).all():
        raise BadInput(f"an offset is {checked[~np.isfinite(checked)][0]}; give finite numbers, 0 for no offset")
    return checked
