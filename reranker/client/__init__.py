"""A typed client of the service, for programs that have no embeddings of their own; it does not import NumPy.

from reranker.client import SinkrankClient
"""

from reranker.answers import Problem
from reranker.client.errors import (
    ClientError,
    ConflictProblem,
    NotFoundProblem,
    RequestProblem,
    ServiceFailure,
    ServiceProblem,
    ServiceUnavailable,
    ServiceUnreachable,
    UnexpectedAnswer,
    UnknownWordsProblem,
)
from reranker.client.sinkrank_client import SinkrankClient

__all__ = [
    "ClientError",
    "ConflictProblem",
    "NotFoundProblem",
    "Problem",
    "RequestProblem",
    "ServiceFailure",
    "ServiceProblem",
    "ServiceUnavailable",
    "ServiceUnreachable",
    "SinkrankClient",
    "UnexpectedAnswer",
    "UnknownWordsProblem",
]
