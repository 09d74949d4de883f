"""Distances between bags of words by optimal transport: arithmetic only, without files, HTTP or search engines."""

from reranker.transport.methods import METHODS, check_method, distances
from reranker.transport.parameters import Parameters
from reranker.transport.plan import transport
from reranker.transport.results import Distances, Transport

__all__ = [
    "METHODS",
    "Distances",
    "Parameters",
    "Transport",
    "check_method",
    "distances",
    "transport",
]
