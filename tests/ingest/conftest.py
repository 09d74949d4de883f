"""What tests of ingest share: tiny embeddings, an index in every kind of store, and documents to put into it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from ingest.files import open_sources
from ingest.pipeline import Options, ingest
from reranker.embeddings import Embeddings
from reranker.stores.base.protocol import Store
from tests.stores.conftest import index, new_index, store, store_address, store_kind
from tests.tiny import tiny_embeddings

__all__ = ["index", "new_index", "store", "store_address", "store_kind"]


@pytest.fixture(scope="module")
def embeddings(tmp_path_factory: pytest.TempPathFactory) -> Embeddings:
    return tiny_embeddings(tmp_path_factory.mktemp("embeddings") / "tiny")


def add(
    store: Store, index: str, embeddings: Embeddings, folder: Path, texts: Mapping[str, str], language: str = "fr"
) -> None:
    """Ingests texts by document id."""
    path = folder / "in.jsonl"
    rows = [{"id": doc_id, "lang": language, "text": text} for doc_id, text in texts.items()]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with open_sources([str(path)]) as sources:
        assert ingest(sources, store, index, embeddings, Options(n_workers=1)).indexed == len(texts)
