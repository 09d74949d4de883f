"""The public names of the library, and the command line.

    from sinkrank import Reranker

A name is imported when it is first used, so that `import sinkrank` itself loads nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ingest.embeddings.samples import sample_embeddings
    from reranker.base.errors import (
        BadDocument,
        BadEmbeddings,
        BadInput,
        Busy,
        ClientLeft,
        EmptyQuery,
        FetchFailed,
        MissingPackage,
        NoEmbeddings,
        NoSuchIndex,
        NotAllowed,
        NotAnEngine,
        NotFound,
        NotOurIndex,
        SinkrankError,
        StoreDamaged,
        StoreUnavailable,
        Unauthenticated,
        UnknownLanguage,
        UnknownWords,
        VersionMismatch,
        WrongParameter,
    )
    from reranker.embeddings import Embeddings
    from reranker.ranking.ranked import Reranking
    from reranker.ranking.reranker import Reranker
    from reranker.transport import Parameters

    __version__: str

__all__ = [
    "BadDocument",
    "BadEmbeddings",
    "BadInput",
    "Busy",
    "ClientLeft",
    "Embeddings",
    "EmptyQuery",
    "FetchFailed",
    "MissingPackage",
    "NoEmbeddings",
    "NoSuchIndex",
    "NotAllowed",
    "NotAnEngine",
    "NotFound",
    "NotOurIndex",
    "Parameters",
    "Reranker",
    "Reranking",
    "SinkrankError",
    "StoreDamaged",
    "StoreUnavailable",
    "Unauthenticated",
    "UnknownLanguage",
    "UnknownWords",
    "VersionMismatch",
    "WrongParameter",
    "__version__",
    "sample_embeddings",
]

_HOMES = {
    "Embeddings": "reranker.embeddings",
    "Parameters": "reranker.transport",
    "Reranker": "reranker.ranking.reranker",
    "Reranking": "reranker.ranking.ranked",
    "sample_embeddings": "ingest.embeddings.samples",
}
"""Where a name is defined; the others are errors."""


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "__version__":
        from importlib.metadata import version

        return version("sinkrank")
    found = getattr(import_module(_HOMES.get(name, "reranker.base.errors")), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
