"""Every store in turn: the embedded one in a fresh folder, and each engine that the suite starts."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from reranker.stores import open_store
from reranker.stores.base.protocol import Store
from tests.engines.sources import EnginePool, chosen_engines

EMBEDDED = "embedded"

_numbers = itertools.count(1)


@pytest.fixture(
    scope="session", params=[EMBEDDED, *(pytest.param(name, marks=pytest.mark.engine) for name in chosen_engines())]
)
def store_kind(request: pytest.FixtureRequest) -> str:
    """The name of an engine, or `embedded`; of session scope so that one engine's tests run together."""
    return str(request.param)


@pytest.fixture
def store_address(store_kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if store_kind == EMBEDDED:
        return str(tmp_path / "store")
    pool: EnginePool = request.getfixturevalue("engine_pool")
    return pool.get(store_kind).url


@pytest.fixture
def store(store_address: str, new_index: Callable[[], str]) -> Iterator[Store]:
    store = open_store(store_address)
    yield store
    store.close()


@pytest.fixture
def new_index() -> Callable[[], str]:
    """Makes index names that no other test has: engines are shared."""
    return lambda: f"stores-{os.getpid()}-{next(_numbers)}"


@pytest.fixture
def index(store: Store, store_kind: str, new_index: Callable[[], str]) -> Iterator[str]:
    """A name to make an index of; an engine's is dropped after the test."""
    name = new_index()
    yield name
    if store_kind != EMBEDDED and name in store.indices():
        store.drop(name)
