"""A service over the tiny vocabulary and a small embedded store."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
import urllib3
from flask import Flask
from flask.testing import FlaskClient

from reranker.api.app import create_app
from reranker.embeddings import Embeddings
from reranker.service.settings import Settings
from reranker.stores import open_store
from reranker.stores.base.description import IndexDescription
from reranker.stores.base.protocol import Store, WritableStore
from reranker.text.documents import Document
from reranker.text.idf import DocumentFrequencies, IdfTable
from sinkrank.serving.server import Server, bind
from tests.stores.samples import make_index, write_documents
from tests.support.encode import encode
from tests.support.fake_engine import FakeEngine, fake_engine
from tests.support.tiny import tiny_embeddings

MakeProxy = Callable[..., Flask]

DOCUMENTS = [
    Document(
        "cat-fr", "chat chat chien", "fr", title="Le chat", url="https://example.org/chat", metadata={"year": 1999}
    ),
    Document("cat-en", "cat dog", "en", title="A cat", metadata={"year": 2005, "tag": ["pet", "home"]}),
    Document("bread-fr", "pain eau", "fr", metadata={"year": 2010}),
    Document("car-en", "car water", "en"),
    Document("unknown", "zzz qqq", "en"),
]


def fill(store: WritableStore, embeddings: Embeddings, index: str, documents: list[Document]) -> None:
    """Makes an index as `sinkrank ingest` does."""
    make_index(store, index, IndexDescription(embeddings.version, embeddings.dim))
    encoded = [encode(document, embeddings, IdfTable()) for document in documents]
    assert [result.error for result in write_documents(store, index, encoded)] == [None] * len(documents)
    languages = {document.language for document in documents}
    table = {
        code: DocumentFrequencies.count(one.bag for one in encoded if one.document.language == code)
        for code in languages
    }
    store.save_idf(index, IdfTable(table))
    store.refresh(index)


@contextmanager
def serving(app: Any, settings: Settings | None = None) -> Iterator[str]:
    """The app behind our server at a free port; gives its URL."""
    with running(Server(app, settings or Settings(), bind("127.0.0.1", 0))) as url:
        yield url


@contextmanager
def running(server: Server) -> Iterator[str]:
    """Runs a server in a thread; gives its URL."""
    stopped = threading.Event()

    def run() -> None:
        while not stopped.is_set():
            server.poll_once(0.05)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.effective_port}"
    finally:
        stopped.set()
        server.pull_trigger()  # or it ends its turn first
        thread.join(10)
        server.close_all()


@contextmanager
def serving_page(
    embeddings: Embeddings, home: Path, indices: Mapping[str, list[Document]], **settings: Any
) -> Iterator[str]:
    """A service whose store is a folder with these indices; gives its URL."""
    chosen = Settings(home=home, threads=1, **settings)
    with closing(open_store(chosen.store_address)) as store:
        for index, documents in indices.items():
            fill(store, embeddings, index, documents)
        with serving(create_app(chosen, store, embeddings)) as url:
            yield url


@pytest.fixture(scope="session")
def embeddings(tmp_path_factory: pytest.TempPathFactory) -> Embeddings:
    return tiny_embeddings(tmp_path_factory.mktemp("service") / "embeddings")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path, threads=1, max_body_bytes=20_000)


@pytest.fixture(scope="session")
def filled_store(embeddings: Embeddings, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that `store` copies."""
    folder = tmp_path_factory.mktemp("filled") / "store"
    with closing(open_store(str(folder))) as store:
        fill(store, embeddings, "pages", DOCUMENTS)
    return folder


@pytest.fixture
def store(settings: Settings, filled_store: Path) -> Iterator[Store]:
    shutil.copytree(filled_store, settings.store_address)
    with closing(open_store(settings.store_address)) as store:
        yield store


@pytest.fixture
def app(settings: Settings, store: Store, embeddings: Embeddings) -> Flask:
    return create_app(settings, store, embeddings)


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    return app.test_client()


@pytest.fixture
def make_app(embeddings: Embeddings) -> Callable[[Settings, Store | None], Flask]:
    return lambda settings, store: create_app(settings, store, embeddings)


@pytest.fixture
def fake() -> Iterator[FakeEngine]:
    with fake_engine() as fake:
        yield fake


@pytest.fixture
def http() -> Iterator[urllib3.PoolManager]:
    with urllib3.PoolManager(retries=False) as http:
        yield http


@pytest.fixture
def make_proxy(fake: FakeEngine, embeddings: Embeddings, tmp_path: Path) -> MakeProxy:
    """A service in front of the fake engine, with other embeddings and settings where a test gives some."""

    def make(others: Embeddings | None = None, **changes: Any) -> Flask:
        settings = {"store": fake.url, "proxy_budget_ms": 60_000} | changes  # a busy machine is slow
        return create_app(Settings(home=tmp_path, threads=1, **settings), None, others or embeddings)

    return make
