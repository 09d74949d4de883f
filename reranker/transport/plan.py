"""Turns one pair of bags into its full plan and cost, to explain a distance word by word."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reranker.text.bags import WeightedBag
from reranker.transport import reference
from reranker.transport.methods import check_method, part_shares, parts
from reranker.transport.parameters import Parameters
from reranker.transport.results import Transport


def transport(
    query: WeightedBag,
    document: WeightedBag,
    embeddings: NDArray[np.float32],
    method: str = "sinkhorn",
    parameters: Parameters | None = None,
) -> Transport:
    """The plan of one pair; its distance is that of `distances` up to rounding (double precision here).

    `rwmd` gives the dearer of the two one-sided plans. `nbow` has no plan of its own: its plan is a b' and its cost is
    k (1 - <x_i, y_j>), with the k for which they sum to 1 - cosine of the means. The plan of `auto` is the weighted sum
    of its parts' plans, and a pair's cost what all parts pay for it, divided by its mass.

    Args:
        query, document: as `distances` takes them; the query has a word.

    Raises:
        BadInput: as `distances`.
    """
    check_method(method)
    parameters = (parameters or Parameters()).for_query(len(query))
    last, settings = parts(method, parameters)[-1]
    precision = reference.precision(last, settings)
    if not len(document):
        return Transport(np.zeros((len(query), 0)), np.zeros((len(query), 0)), np.inf, precision)
    plan, cost = _plan_and_cost(query, document, embeddings, method, parameters)
    return Transport(plan, cost, float((plan * cost).sum()), precision)


def _plan_and_cost(
    query: WeightedBag, document: WeightedBag, embeddings: NDArray[np.float32], method: str, parameters: Parameters
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The plan of all parts of a method together, and what it pays for a unit of mass."""
    ways = parts(method, parameters)
    found = [reference.plan_and_cost(query, document, embeddings, part, settings) for part, settings in ways]
    if len(ways) == 1:
        return found[0][0], found[0][1]
    plan, paid = np.zeros((len(query), len(document))), np.zeros((len(query), len(document)))
    for share, (part_plan, part_cost, _) in zip(part_shares(method, len(query)), found, strict=True):
        plan += share * part_plan
        paid += share * part_plan * part_cost
    return plan, np.divide(paid, plan, out=np.zeros_like(paid), where=plan > 0)
