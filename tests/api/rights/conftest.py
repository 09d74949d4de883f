"""A service in front of a node with users: the index `notes` is ours, `press` is not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from reranker.api.app import create_app
from reranker.embeddings import Embeddings
from reranker.service.settings import Settings
from reranker.stores.base.protocol import Store
from reranker.text.documents import Document
from sinkrank.console.resources import opened_store
from tests.support.engines.security import SecuredNode
from tests.support.service import fill

# `redsecret` and `bluesecret` stand in one text each, and in no title.
DOCUMENTS = [
    Document("red", "cat dog redsecret", "en", title="A red cat", url="https://e.org/red", metadata={"team": "red"}),
    Document("blue", "cat water bluesecret", "en", title="A cat", url="https://e.org/blue", metadata={"team": "blue"}),
    Document("all", "cat bread", "en", title="A cat", url="https://e.org/all", metadata={"team": "all"}),
    Document("chat", "chat pain", "fr", title="Le chat", metadata={"team": "all"}),
]

MakeApp = Callable[..., Flask]


@pytest.fixture(scope="session")
def access(secured_node: SecuredNode) -> dict[str, Any]:
    """The settings of a service with no more rights than a search needs."""
    return {
        "store": secured_node.url,
        "store_username": "searcher",
        "store_password": "searcher-secret",
        "store_ca_certs": secured_node.ca,
        "store_client_cert": secured_node.certificate,
        "store_client_key": secured_node.key,
        "threads": 1,
        "proxy_budget_ms": 60_000,
    }


@pytest.fixture(scope="session")
def writing(access: dict[str, Any]) -> dict[str, Any]:
    """The settings of an ingest."""
    return access | {"store_username": "service", "store_password": "service-secret"}


@pytest.fixture(scope="session")
def secured_store(
    secured_node: SecuredNode, access: dict[str, Any], writing: dict[str, Any], embeddings: Embeddings
) -> Iterator[Store]:
    with opened_store(Settings(**writing)) as store:
        fill(store, embeddings, "notes", DOCUMENTS)
    team = {"properties": {"team": {"type": "keyword"}}}
    mapping = {"properties": {"text": {"type": "text"}, "metadata": team}}
    assert secured_node.request("PUT", "/press", body={"mappings": mapping})[0] == 200
    for document in DOCUMENTS:
        source = {"text": document.text, "metadata": dict(document.metadata)}
        assert secured_node.request("PUT", f"/press/_doc/{document.doc_id}?refresh=true", body=source)[0] == 201
    with opened_store(Settings(**access)) as store:
        yield store


@pytest.fixture
def make_app(access: dict[str, Any], secured_store: Store, embeddings: Embeddings, tmp_path: Path) -> MakeApp:  # type: ignore[override]
    """A service of its own, with empty caches."""

    def make(**more: Any) -> Flask:
        app = create_app(Settings(**{"home": tmp_path, **access, **more}), secured_store, embeddings)
        return app

    return make
