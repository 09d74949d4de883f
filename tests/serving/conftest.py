"""A service before engines that misbehave."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from reranker.api.app import create_app
from reranker.embeddings import Embeddings
from reranker.service.settings import Settings
from sinkrank.console.resources import opened_store
from sinkrank.serving.server import Server, bind
from sinkrank.serving.slow_clients import TIMEOUT_S, SlowClients
from tests.serving.engines import Clients, Engine, engine
from tests.support.service import running

Serve = Callable[..., AbstractContextManager[str]]


@pytest.fixture
def serve(tmp_path: Path, embeddings: Embeddings) -> Serve:
    """Serves before these nodes with patience, and with other settings where a test gives some; gives the URL."""

    @contextmanager
    def start(*nodes: Engine, client_timeout_s: float = TIMEOUT_S, **values: Any) -> Iterator[str]:
        settings = Settings(
            home=tmp_path,
            threads=1,
            store=",".join([nodes[0].url, *(node.url.partition("://")[2] for node in nodes[1:])]),
            store_timeout_s=600,
            proxy_timeout_s=600,
            proxy_budget_ms=600_000,
            **values,
        )
        with opened_store(settings) as store:
            server = Server(create_app(settings, store, embeddings), settings, bind("127.0.0.1", 0))
            server.slow_clients = SlowClients(client_timeout_s)
            with running(server) as url:
                yield url

    return start


@pytest.fixture
def stuck() -> Iterator[Engine]:
    with engine(is_stuck=True) as one:
        yield one


@pytest.fixture
def clients() -> Clients:
    return Clients()
