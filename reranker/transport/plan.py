"""Turns one pair of bags into its full plan and cost, to explain a distance word by word."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reranker.bags import WeightedBag, WeightedBags
from reranker.transport import reference
from reranker.transport.methods import check_method, parts
from reranker.transport.problem import (
    Parameters,
    Transport,
    check_embeddings,
    checked_candidates,
    checked_query,
)


def transport(
    query: WeightedBag,
    document: WeightedBag,
    embeddings: NDArray[np.float32],
    method: str = "sinkhorn",
    parameters: Parameters | None = None,
) -> Transport:
    """The plan of one pair; its distance is that of `distances` up to rounding (double precision here).

    `rwmd` gives the dearer of the two one-sided plans. `nbow` has no plan of its own: its plan is a b' and its cost is
    1 - <x_i, y_j> / (‖x̄‖ ‖ȳ‖), which sum to 1 - cosine. Words of weight 0 keep their rows and columns, without mass.

    Raises:
        BadInput: as `distances`.
    """
    check_embeddings(embeddings)
    n, m = len(query), len(document)
    checked = checked_query(query, embeddings)
    checked_document = checked_candidates(WeightedBags.join([document]), len(embeddings))[0]
    check_method(method)
    if not m:
        return Transport(np.zeros((n, 0)), np.zeros((n, 0)), np.inf, method)
    used = np.ix_(np.asarray(query.weights) > 0, np.asarray(document.weights) > 0)
    plan, cost = np.zeros((n, m)), np.zeros((n, m))
    mixed = parts(method, parameters or Parameters(), len(checked))
    for share, part, settings in mixed:
        found, cost[used], _ = reference.plan_and_cost(checked, checked_document, embeddings, part, settings)
        plan[used] += share * found
    return Transport(plan, cost, float((plan * cost).sum()), method if len(mixed) > 1 else mixed[0][1])
