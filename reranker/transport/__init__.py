"""Distances between bags of words by optimal transport: arithmetic only, without files, HTTP or search engines."""

from reranker.transport.methods import (
    AUTO_MAX_RELAXED_WORDS,
    AUTO_SINKHORN_SHARE,
    METHODS,
    check_method,
    distances,
    warm_up,
)
from reranker.transport.nearest import Nearest, nearest_by_emd
from reranker.transport.plan import transport
from reranker.transport.problem import Distances, Parameters, Transport

__all__ = [
    "AUTO_MAX_RELAXED_WORDS",
    "AUTO_SINKHORN_SHARE",
    "METHODS",
    "Distances",
    "Nearest",
    "Parameters",
    "Transport",
    "check_method",
    "distances",
    "nearest_by_emd",
    "transport",
    "warm_up",
]
