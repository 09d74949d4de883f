"""Sinkrank's library: re-ranks documents by idf-weighted optimal transport between words.

    from reranker import Reranker

Imports are lazy, so that `import reranker` costs nothing until a name is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reranker.base.errors import SinkrankError
    from reranker.embeddings import Embeddings
    from reranker.ranking.ranked import Reranking
    from reranker.ranking.reranker import Reranker
    from reranker.transport import Parameters

_HOMES = {
    "Embeddings": "reranker.embeddings",
    "Parameters": "reranker.transport",
    "Reranker": "reranker.ranking.reranker",
    "Reranking": "reranker.ranking.reranker",
    "SinkrankError": "reranker.base.errors",
}

__all__ = ["Embeddings", "Parameters", "Reranker", "Reranking", "SinkrankError"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
