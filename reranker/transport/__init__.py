"""Distances between bags of words by optimal transport: arithmetic only, without files, HTTP or search engines."""

from reranker.transport.methods import AUTO_MAX_RELAXED_WORDS, METHODS, distances, resolve_method, warm_up
from reranker.transport.nearest import Nearest, nearest_by_emd
from reranker.transport.plan import transport
from reranker.transport.problem import Distances, Parameters, Transport

__all__ = [
    "AUTO_MAX_RELAXED_WORDS",
    "METHODS",
    "Distances",
    "Nearest",
    "Parameters",
    "Transport",
    "distances",
    "nearest_by_emd",
    "resolve_method",
    "transport",
    "warm_up",
]
