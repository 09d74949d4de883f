"""Indexes a collection in an empty store."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from ingest.documents import Layout
from ingest.pipeline import Options, ingest
from ingest.progress import Progress, no_progress
from papers.base.stopwatch import cpu_seconds
from papers.judged.beir import Collection
from reranker.base.errors import BadInput, StoreUnavailable
from reranker.embeddings import Embeddings
from reranker.stores.base.protocol import WritableStore

INDEX = "documents"
"""The name of the index."""


@dataclass(frozen=True)
class Indexed:
    """The index of a collection.

    Attributes:
        n_left_out: rows of the corpus that are not documents, or have the id of an earlier document.
        document_ms: CPU time (ms) for a document, of all processes.
    """

    n_documents: int
    n_left_out: int
    document_ms: float


def index_collection(
    collection: Collection,
    language: str,
    store: WritableStore,
    embeddings: Embeddings,
    progress: Progress = no_progress,
) -> Indexed:
    """Makes the index `INDEX` of a collection.

    Args:
        language: of documents without one.

    Raises:
        BadInput: the corpus has no document.
        StoreUnavailable: the store failed.
    """
    started = cpu_seconds()
    with tempfile.TemporaryDirectory(prefix="sinkrank-") as folder:
        options = Options(Layout(default_language=language), rejects=Path(folder) / "rejects.jsonl")
        summary = ingest([collection.source], store, INDEX, embeddings, options, progress=progress)
    if summary.failure is not None:
        raise StoreUnavailable(f"the collection {collection.name} could not be indexed: {summary.failure}")
    if not summary.indexed:
        raise BadInput(
            f"{collection.corpus} holds no document; a line is "
            '{"_id": "1", "title": "a title, or empty", "text": "its text"}'
        )
    spent_ms = 1000 * (cpu_seconds() - started)
    return Indexed(summary.indexed, summary.rejected, spent_ms / summary.indexed)
