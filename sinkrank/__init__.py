"""The command line, and the public names of the library: `from sinkrank import Reranker`.

It reads arguments, calls the libraries and shows results; it has no arithmetic of its own. Imports are lazy, so that
`import sinkrank` costs nothing until a name is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reranker import Embeddings, Parameters, Reranker, Reranking, SinkrankError
    from sinkrank.samples import sample_embeddings

__all__ = ["Embeddings", "Parameters", "Reranker", "Reranking", "SinkrankError", "sample_embeddings"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("sinkrank.samples" if name == "sample_embeddings" else "reranker"), name)
