"""What tests of ingest share: tiny embeddings, an index in every kind of store, and documents to put into it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from reranker.embeddings import Embeddings
from reranker.stores.base.protocol import WritableStore
from reranker.stores.embedded.writable import WritableEmbeddedStore
from tests.ingest.runs import N_DOCUMENTS, N_MANY, Pages, Runs, write_documents
from tests.stores.conftest import index, new_index, store, store_address, store_kind

__all__ = ["index", "new_index", "store", "store_address", "store_kind"]


@pytest.fixture
def embedded(tmp_path: Path) -> Iterator[WritableStore]:
    """An empty embedded store."""
    opened = WritableEmbeddedStore(tmp_path / "store")
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_documents(tmp_path_factory.mktemp("documents") / "in.jsonl", N_DOCUMENTS)


@pytest.fixture(scope="session")
def many_documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_documents(tmp_path_factory.mktemp("documents") / "in.jsonl", N_MANY)


@pytest.fixture
def runs(documents: Path, embeddings: Embeddings, tmp_path: Path) -> Runs:
    return Runs(documents, embeddings, tmp_path)


@pytest.fixture
def many_runs(many_documents: Path, embeddings: Embeddings, tmp_path: Path) -> Runs:
    return Runs(many_documents, embeddings, tmp_path, N_MANY)


@pytest.fixture
def pages(store: WritableStore, index: str, embeddings: Embeddings, tmp_path: Path) -> Pages:
    """An index in every kind of store."""
    return Pages(store, index, embeddings, tmp_path)
