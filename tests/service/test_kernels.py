"""A service whose kernels are not compiled yet answers at once, and takes them up when they are there."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from reranker.api.app import create_app, start, warm_up_if_quick
from reranker.embeddings import Embeddings
from reranker.service import kernels
from reranker.service.service import EXTENSION
from reranker.service.settings import Settings
from reranker.transport import compilation

PATIENCE_S = 120


@pytest.fixture
def app(tmp_path: Path, embeddings: Embeddings) -> Iterator[Flask]:
    yield create_app(Settings(home=tmp_path), None, embeddings)
    compilation.finish()


def precision(app: Flask) -> str:
    body = {"query": "cat", "documents": ["chat", "pain"], "language": "en", "document_languages": "fr"}
    answer = app.test_client().post("/v1/rerank", json=body)
    assert answer.status_code == 200
    found: str = answer.get_json()["meta"]["precision"]
    return found


def kernel(app: Flask) -> Any:
    answer = app.test_client().get("/-/ready")
    return answer.status_code, answer.get_json()["checks"]["kernel"]


def test_it_answers_while_the_kernels_are_compiled(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, may_end = threading.Event(), threading.Event()

    def compile_slowly() -> None:
        begun.set()
        assert may_end.wait(PATIENCE_S)

    monkeypatch.setattr(kernels, "loads_quickly", lambda: False)
    monkeypatch.setattr(kernels, "warm_up", compile_slowly)
    assert not warm_up_if_quick(app)
    assert kernel(app) == (503, {"ready": False})
    start(app)
    assert begun.wait(PATIENCE_S)
    assert precision(app) == "float64"
    assert kernel(app) == (200, {"ready": True, "message": kernels._COMPILING})
    may_end.set()
    app.extensions[EXTENSION].kernels._thread.join(PATIENCE_S)
    assert app.extensions[EXTENSION].kernels.is_loaded
    assert precision(app) == "float32"
    assert kernel(app) == (200, {"ready": True})


def test_kernels_on_disk_are_loaded_before_it_serves(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "loads_quickly", lambda: True)
    assert warm_up_if_quick(app)
    assert kernel(app) == (200, {"ready": True})
    assert precision(app) == "float32"


def test_where_they_do_not_compile_it_serves_on_and_says_so(
    app: Flask, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> None:
        raise RuntimeError("no target machine")

    monkeypatch.setattr(kernels, "loads_quickly", lambda: False)
    monkeypatch.setattr(kernels, "warm_up", fail)
    warm_up_if_quick(app)
    start(app)
    thread = app.extensions[EXTENSION].kernels._thread
    thread.join(PATIENCE_S)
    status, check = kernel(app)
    assert (status, check["ready"]) == (200, True)
    assert "no target machine" in check["message"]
    assert "the kernels do not compile" in caplog.text
    assert precision(app) == "float64"
