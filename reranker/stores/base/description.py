"""The versions that an index was made with, and the check that they fit the loaded embeddings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from reranker.base.errors import NotOurIndex, VersionMismatch
from reranker.embeddings import Embeddings
from reranker.stores.base.cures import ingest_command
from reranker.stores.base.names import RUN, VERSION_OF
from reranker.text.tokens import TOKENIZER_VERSION

# Raise it when older indices can no longer be read.
MAPPING_VERSION = 3


@dataclass(frozen=True, slots=True)
class IndexDescription:
    """The versions that an index was made with; kept in the index as `_meta`."""

    embeddings_version: str
    dim: int
    mapping_version: int = MAPPING_VERSION
    tokenizer_version: int = TOKENIZER_VERSION

    def as_meta(self, version_of: str | None = None, run: str | None = None) -> dict[str, Any]:
        """Returns the content of `_meta`.

        Args:
            version_of: the index of which this is a version; None if it is no version.
            run: the run that makes it.
        """
        more = {VERSION_OF: version_of, RUN: run}
        return {"sinkrank": asdict(self) | {name: value for name, value in more.items() if value is not None}}

    @classmethod
    def from_meta(cls, meta: Any, index: str) -> IndexDescription:
        """Reads `_meta`.

        Raises:
            NotOurIndex: the section of Sinkrank is missing, so Sinkrank did not make the index.
        """
        section = meta.get("sinkrank") if isinstance(meta, Mapping) else None
        try:
            return cls(
                embeddings_version=str(section["embeddings_version"]),  # type: ignore[index]
                dim=int(section["dim"]),  # type: ignore[index]
                mapping_version=int(section["mapping_version"]),  # type: ignore[index]
                tokenizer_version=int(section["tokenizer_version"]),  # type: ignore[index]
            )
        except (KeyError, TypeError, ValueError) as error:
            raise NotOurIndex(
                f"index {index!r} was not made by Sinkrank (no versions in its _meta); make one of your documents with "
                f"`sinkrank ingest FILE --index NAME`, or put the proxy in front of it, which re-ranks any index"
            ) from error


def check_versions(index: str, made: IndexDescription, embeddings: Embeddings, store: str) -> None:
    """Checks that an index fits the loaded embeddings and this version of Sinkrank.

    Raises:
        VersionMismatch: it does not; the message has the command that rebuilds the index.
    """
    check_same_versions(index, made, IndexDescription(embeddings.version, embeddings.dim), store)


def check_same_versions(index: str, made: IndexDescription, ours: IndexDescription, store: str) -> None:
    """Checks that an index was made with these versions.

    Raises:
        VersionMismatch: as `check_versions`.
    """
    if made != ours:
        differing = [
            f"{name} {value!r} there, {asdict(ours)[name]!r} here"
            for name, value in asdict(made).items()
            if value != asdict(ours)[name]
        ]
        raise VersionMismatch(
            f"index {index!r} was made with other versions ({'; '.join(differing)}); rebuild it with "
            f"{ingest_command(store, index, '--rebuild')}, or open it with the embeddings it was made with"
        )
