"""The proxy in front of real engines, for clients that others wrote."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path

import pytest

from reranker.api.app import create_app
from reranker.embeddings import Embeddings
from reranker.service.settings import Settings
from reranker.stores import open_store
from tests.support.service import serving

Proxying = Callable[[str], AbstractContextManager[str]]


@pytest.fixture(scope="session")
def proxying(embeddings: Embeddings, tmp_path_factory: pytest.TempPathFactory) -> Proxying:
    """Gives the proxy's address in front of the engine at an address."""
    home: Path = tmp_path_factory.mktemp("clients-home")

    @contextmanager
    def start(engine_url: str) -> Iterator[str]:
        with closing(open_store(engine_url)) as store:
            settings = Settings(home=home, threads=1, store=engine_url, proxy_budget_ms=60_000)
            app = create_app(settings, store, embeddings)
            with serving(app) as url:
                yield url

    return start
