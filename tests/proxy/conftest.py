"""Indices in real engines, and the proxy in front of them."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
import urllib3
from flask import Flask

from reranker.api.app import create_app
from reranker.embeddings import Embeddings
from reranker.proxy import PROXY_EXTENSION, Proxy
from reranker.service.settings import Settings
from reranker.stores import open_store
from tests.support.calls import WORDS, make_index
from tests.support.engines.sources import Engine
from tests.support.service import DOCUMENTS, fill, serving

_numbers = itertools.count(1)


@pytest.fixture
def index_name(engine: Engine) -> Iterator[str]:
    """A name for an index, which is removed at the end."""
    with named_index(engine.url) as name:
        yield name


@contextmanager
def named_index(url: str) -> Iterator[str]:
    name = f"proxy-{os.getpid()}-{next(_numbers)}"
    yield name
    urllib3.request("DELETE", f"{url}/{name}")


@pytest.fixture(scope="module")
def foreign(engine: Engine) -> Iterator[str]:
    """An index that Sinkrank did not make, for tests that only read it."""
    with named_index(engine.url) as name:
        make_foreign(engine.url, name)
        yield name


@pytest.fixture
def own_foreign(engine: Engine, index_name: str) -> str:
    """As `foreign`, for a test that changes it."""
    make_foreign(engine.url, index_name)
    return index_name


def make_foreign(url: str, name: str) -> None:
    documents = [{"n": n, "parts": {"body": words, "note": "qqq"}, "price": 1e16} for n, words in enumerate(WORDS)]
    with urllib3.PoolManager(retries=False) as http:
        make_index(http, url, name, {"parts": {"type": "object"}, "n": {"type": "integer"}}, documents)


@pytest.fixture(scope="module")
def ours(engine: Engine, embeddings: Embeddings) -> Iterator[str]:
    """An index that Sinkrank made, for tests that only read it."""
    name = f"ours-{os.getpid()}-{next(_numbers)}"
    with closing(open_store(engine.url)) as store:
        fill(store, embeddings, name, DOCUMENTS)
        yield name
        store.drop(name)


@pytest.fixture
def app(engine: Engine, embeddings: Embeddings, tmp_path: Path) -> Iterator[Flask]:
    settings = Settings(
        home=tmp_path,
        threads=1,
        store=engine.url,
        depth=100,
        proxy_budget_ms=60_000,  # a busy machine is slow
        max_body_bytes=100_000,
    )
    store = open_store(engine.url)
    app = create_app(settings, store, embeddings)
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
