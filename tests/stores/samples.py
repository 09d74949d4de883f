"""Small encoded documents, made by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import urllib3

from reranker.base.errors import NotFound
from reranker.embeddings.hubness import HubnessSample
from reranker.stores.base.description import IndexDescription
from reranker.stores.base.filters import Filters
from reranker.stores.base.protocol import IndexReader, Store, WritableStore
from reranker.stores.base.writing import WriteResult
from reranker.text.bags import BagOfWords
from reranker.text.documents import Candidate, Document, EncodedDocument
from reranker.text.idf import IdfTable

DIM = 4
DESCRIPTION = IndexDescription(embeddings_version="five-words", dim=DIM)
ALL = Filters()
MAPPING = {"docs": {"mappings": {"_meta": DESCRIPTION.as_meta()}}}
"""An engine's answer about the mapping of the index `docs`."""


def make_document(
    doc_id: str,
    text: str = "a cat on a mat",
    language: str = "en",
    vector: Iterable[float] | None = (1, 0, 0, 0),
    title: str = "",
    url: str = "",
    metadata: Mapping[str, Any] | None = None,
    bag: BagOfWords | None = None,
) -> EncodedDocument:
    """A document with its vector normalised."""
    nbow = None
    if vector is not None:
        nbow = np.array(list(vector), dtype=np.float32)
        nbow /= np.linalg.norm(nbow)
    if bag is None:
        bag = BagOfWords(np.array([1, 7], np.int32), np.array([1, 2], np.int32))
    return EncodedDocument(Document(doc_id, text, language, title, url, metadata or {}), bag, nbow)


def fill(store: WritableStore, index: str, *documents: EncodedDocument) -> None:
    """Makes the index where it is missing, writes the documents and lets searches see them."""
    if index not in _indices(store):
        make_index(store, index, DESCRIPTION)
    errors = [result for result in write_documents(store, index, documents) if result.error is not None]
    assert errors == []
    store.refresh(index)


def make_index(store: WritableStore, index: str, description: IndexDescription) -> str:
    """Makes an empty index as `sinkrank ingest` does: its first version, which serves at once; the version's name."""
    version = store.stage(index, description)
    store.promote(index, version)
    return version


def install_template(
    url: str, index: str, settings: Mapping[str, Any], mappings: Mapping[str, Any] | None = None
) -> None:
    """Makes an engine's own index template, for the versions of an index."""
    template = {"settings": {"index": settings}, "mappings": mappings or {}}
    body = {"index_patterns": [f"{index}-*"], "priority": 300, "template": template}
    answer = urllib3.request("PUT", f"{url}/_index_template/{index}", json=body, timeout=60)
    assert answer.status == 200, answer.data


def remove_template(url: str, index: str) -> None:
    urllib3.request("DELETE", f"{url}/_index_template/{index}", timeout=60)


def write_documents(store: WritableStore, index: str, documents: Iterable[EncodedDocument]) -> Iterator[WriteResult]:
    """Prepares and writes documents."""
    return store.write_prepared(index, map(store.preparer(index), documents))


def calls(store: WritableStore, index: str) -> list[Callable[[], Any]]:
    """What may be asked of an index by its name."""
    return [
        lambda: store.open(index),
        lambda: store.drop(index),
        lambda: list(write_documents(store, index, [make_document("1")])),
        lambda: store.refresh(index),
        lambda: store.save_idf(index, IdfTable()),
        lambda: store.save_hubness_sample(index, HubnessSample()),
    ]


def searches(index: IndexReader) -> list[Callable[[], Any]]:
    """What a search may ask of the documents of an open index."""
    return [
        lambda: index.documents(["1"]),
        lambda: index.stored(["1"]),
        lambda: index.random_documents(1),
        lambda: index.bm25("cat", 10, ALL),
        lambda: index.knn(query(1, 0, 0, 0), 10, ALL),
        lambda: index.fetch("1"),
        lambda: index.count(),
    ]


def ids(candidates: Iterable[Candidate]) -> list[str]:
    return [candidate.doc_id for candidate in candidates]


def query(*numbers: float) -> np.ndarray:
    vector = np.array(numbers, dtype=np.float32)
    return vector / np.linalg.norm(vector)


def cosine(store: Store, index: str, doc_id: str, vector: Iterable[float]) -> float | None:
    """Of a document's vector with this one; None for a document without a vector."""
    found = store.open(index).knn(query(*vector), 10_000, ALL)
    return next((one.first_stage_score for one in found if one.doc_id == doc_id), None)


def _indices(store: Store) -> list[str]:
    try:
        return store.indices()
    except NotFound:
        return []
