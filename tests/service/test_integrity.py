"""The check of the stored files in the background."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from flask import Flask

from reranker.api.app import create_app
from reranker.embeddings import Embeddings, manifest
from reranker.service.service import EXTENSION, Service
from reranker.service.settings import Settings
from reranker.stores import open_store
from tests.support.service import DOCUMENTS, fill
from tests.support.tiny import tiny_embeddings


def flip(path: Path, place: int) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= 16
    path.write_bytes(content)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with embeddings and a store; no file counts as small, so that opening reads no byte of the vectors
    beyond its sample."""
    embeddings = tiny_embeddings(tmp_path / "embeddings")
    store = open_store(str(tmp_path / "store"))
    fill(store, embeddings, "docs", DOCUMENTS)
    store.close()
    monkeypatch.setattr(manifest, "_CHECKED_AT_OPEN", 0)
    return tmp_path


def served(home: Path, embeddings: Embeddings) -> tuple[Flask, Service]:
    """A service that has been started, and ended its checks."""
    app = create_app(Settings(home=home), open_store(str(home / "store")), embeddings)
    service: Service = app.extensions[EXTENSION]
    service.start()
    assert service.integrity.wait(30)
    return app, service


def test_sound_files_are_ready_and_their_blocks_are_counted(home: Path) -> None:
    app, service = served(home, Embeddings.open(home / "embeddings"))
    ready = app.test_client().get("/-/ready")
    assert (ready.status_code, ready.get_json()["checks"]["files"]) == (200, {"ready": True})
    metrics = app.test_client().get("/-/metrics").text
    assert 'sinkrank_checked_blocks_total{part="store"} 5.0' in metrics  # pages, two languages, documents, vectors
    n_files = len(list((home / "embeddings").glob("*.npy")))  # of a block each
    assert f'sinkrank_checked_blocks_total{{part="embeddings"}} {n_files}.0' in metrics
    assert 'sinkrank_damaged_parts_total{part="store"} 0.0' in metrics
    service.start()  # once is enough
    assert f'part="embeddings"}} {n_files}.0' in app.test_client().get("/-/metrics").text


def test_damaged_vectors_make_the_service_not_ready(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    embeddings = Embeddings.open(home / "embeddings")
    flip(home / "embeddings" / "vectors.npy", 130)
    with caplog.at_level(logging.ERROR):
        app, _ = served(home, embeddings)
    client = app.test_client()
    ready = client.get("/-/ready")
    assert ready.status_code == 503
    message = ready.get_json()["checks"]["files"]["message"]
    assert "vectors.npy is damaged: its bytes 0 to " in message
    assert "make the embeddings again with `sinkrank embeddings prepare --replace`" in message
    assert "vectors.npy is damaged" in caplog.text
    assert 'sinkrank_damaged_parts_total{part="embeddings"} 1.0' in client.get("/-/metrics").text
    refused = client.post("/v1/search", json={"query": "cat"})
    assert (refused.status_code, refused.get_json()["detail"]) == (503, message)


def test_a_damaged_store_makes_the_service_not_ready_and_answers_no_search(home: Path) -> None:
    path = home / "store" / "store.sqlite3"
    flip(path, path.read_bytes().index(b"zzz qqq"))
    app, service = served(home, Embeddings.open(home / "embeddings"))
    assert service.integrity.problems.keys() == {"store"}
    client = app.test_client()
    assert client.get("/-/ready").status_code == 503
    refused = client.post("/v1/search", json={"query": "cat", "first_stage": "bm25"})
    assert refused.status_code == 503
    assert "store.sqlite3 is damaged: " in refused.get_json()["detail"]
    assert "ingest the documents again" in refused.get_json()["detail"]
    texts = {"query": "cat", "texts": ["cat", "bread"]}
    assert client.post("/rerank", json=texts).status_code == 200  # what needs no store goes on
