"""Indexes a collection, and deletes the index afterwards unless the user named it."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from ingest.documents import Layout
from ingest.pipeline import Options, ingest
from ingest.progress import Progress, no_progress
from papers.base.stopwatch import cpu_seconds
from papers.judged.beir import Collection
from reranker.base.errors import BadInput, NotFound, SinkrankError, StoreUnavailable
from reranker.embeddings import Embeddings
from reranker.stores.base.names import check_index_name
from reranker.stores.base.protocol import WritableStore

_PREFIX = "sinkrank-evaluate-"
# Number of documents to look up in an existing index, to check that it has the collection.
_LOOKED_UP = 50


@dataclass(frozen=True)
class Indexed:
    """The index of a collection.

    Attributes:
        n_left_out: rows of the corpus that are not documents, or have the id of an earlier document.
        document_ms: CPU time (ms) for a document, of all processes except the engine's; None if the index existed.
    """

    index: str
    n_documents: int
    n_left_out: int = 0
    document_ms: float | None = None


@contextmanager
def indexed(
    collection: Collection,
    language: str,
    store: WritableStore,
    embeddings: Embeddings,
    index: str | None = None,
    progress: Progress = no_progress,
) -> Iterator[Indexed]:
    """Indexes a collection.

    Args:
        language: of documents without one.
        index: name of the index, which is made if it is missing, and kept. If it already has this collection, it is
            searched as it is. None: an index with a random name, which is deleted at the end.

    Raises:
        BadInput: the corpus has no document, or the index has something else.
        StoreUnavailable: the store failed.
    """
    name = f"{_PREFIX}{secrets.token_hex(6)}" if index is None else check_index_name(index)
    n_found = None if index is None else _n_documents(store, name)
    if n_found is not None:
        _check_holds(collection, language, store, name, n_found)
        yield Indexed(name, n_found)
        return
    is_kept = False
    try:
        filled = _fill(collection, language, store, name, embeddings, progress)
        is_kept = index is not None
        yield filled
    finally:
        if not is_kept:
            _drop(store, name)


def _n_documents(store: WritableStore, index: str) -> int | None:
    try:
        return store.open(index).count()
    except NotFound:
        return None


def _check_holds(collection: Collection, language: str, store: WritableStore, index: str, n_found: int) -> None:
    """Raises BadInput unless the index has the number of documents of the collection, and its first documents."""
    doc_ids = dict.fromkeys(document.doc_id for document in collection.documents(language))
    missing = None
    for document in islice(collection.documents(language), _LOOKED_UP):
        try:
            found = store.open(index).fetch(document.doc_id).document
        except NotFound:
            found = None
        if found is None or found.language != document.language or found.full_text != document.full_text:
            missing = document.doc_id
            break
    if missing is not None or len(doc_ids) != n_found:
        why = f"document {missing!r} is not in it as here" if missing is not None else f"it holds {n_found}"
        raise BadInput(
            f"index {index!r} is there and is not the collection {collection.name} of {len(doc_ids)} documents "
            f"({why}); name another with --index, or leave --index out"
        )


def _fill(
    collection: Collection, language: str, store: WritableStore, index: str, embeddings: Embeddings, progress: Progress
) -> Indexed:
    started = cpu_seconds()
    with tempfile.TemporaryDirectory(prefix="sinkrank-") as folder:
        options = Options(Layout(default_language=language), rejects=Path(folder) / "rejects.jsonl")
        summary = ingest([collection.source], store, index, embeddings, options, progress=progress)
    if summary.failure is not None:
        raise StoreUnavailable(f"the collection {collection.name} could not be indexed: {summary.failure}")
    if not summary.indexed:
        raise BadInput(
            f"{collection.corpus} holds no document; a line is "
            '{"_id": "1", "title": "a title, or empty", "text": "its text"}'
        )
    spent_ms = 1000 * (cpu_seconds() - started)
    return Indexed(index, summary.indexed, summary.rejected, spent_ms / summary.indexed)


def _drop(store: WritableStore, index: str) -> None:
    """Deletes the index if it exists.

    Raises:
        StoreUnavailable: the store failed; the message names the index.
    """
    try:
        store.drop(index)
    except NotFound:
        pass
    except SinkrankError as error:
        raise StoreUnavailable(f"the index {index!r} of this evaluation could not be dropped: {error}") from error
