"""Indices in real engines, and the proxy in front of them."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import urllib3
from flask import Flask

from reranker.api.app import create_app, warm_up
from reranker.embeddings import Embeddings
from reranker.proxy import PROXY_EXTENSION, Proxy
from reranker.service.settings import Settings
from reranker.stores import open_store
from tests.engines.sources import Engine
from tests.service.conftest import DOCUMENTS, fill, serving
from tests.service.proxy.calls import WORDS, make_index
from tests.service.proxy.fake_engine import FakeEngine, fake_engine

_numbers = itertools.count(1)


@pytest.fixture
def fake() -> Iterator[FakeEngine]:
    with fake_engine() as fake:
        yield fake


@pytest.fixture
def http() -> Iterator[urllib3.PoolManager]:
    with urllib3.PoolManager(retries=False) as http:
        yield http


@pytest.fixture
def index_name(engine: Engine, http: urllib3.PoolManager) -> Iterator[str]:
    """A name for an index, which is removed at the end."""
    name = f"proxy-{os.getpid()}-{next(_numbers)}"
    yield name
    http.request("DELETE", f"{engine.url}/{name}")


@pytest.fixture
def foreign(engine: Engine, http: urllib3.PoolManager, index_name: str) -> str:
    """An index that Sinkrank did not make."""
    documents = [{"n": n, "parts": {"body": words, "note": "qqq"}, "price": 1e16} for n, words in enumerate(WORDS)]
    make_index(http, engine.url, index_name, {"parts": {"type": "object"}, "n": {"type": "integer"}}, documents)
    return index_name


@pytest.fixture
def ours(engine: Engine, embeddings: Embeddings) -> Iterator[str]:
    """An index that Sinkrank made."""
    name = f"ours-{os.getpid()}-{next(_numbers)}"
    store = open_store(engine.url)
    fill(store, embeddings, name, DOCUMENTS)
    yield name
    store.drop(name)
    store.close()


@pytest.fixture
def app(engine: Engine, embeddings: Embeddings, tmp_path: Path) -> Iterator[Flask]:
    settings = Settings(
        home=tmp_path,
        threads=1,
        store=engine.url,
        proxy_window_size=100,
        proxy_budget_ms=60_000,  # a busy machine is slow
        max_body_bytes=100_000,
    )
    store = open_store(engine.url)
    app = create_app(settings, store, embeddings)
    warm_up(app)  # a kernel that is compiled within a search outlasts its budget
    yield app
    store.close()


@pytest.fixture
def url(app: Flask) -> Iterator[str]:
    with serving(app) as url:
        yield url


@pytest.fixture
def proxy(app: Flask) -> Proxy:
    proxy: Proxy = app.extensions[PROXY_EXTENSION]
    return proxy
