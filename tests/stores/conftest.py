"""Every store in turn: the embedded one in a fresh folder, and each engine that the suite starts."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from reranker.stores import open_store
from reranker.stores.base.protocol import WritableStore
from reranker.text.documents import EncodedDocument
from tests.stores.samples import fill
from tests.support.engines.sources import EnginePool, chosen_engines
from tests.support.waiting import PATIENCE_S

EMBEDDED = "embedded"

_numbers = itertools.count(1)


@pytest.fixture(
    scope="session", params=[EMBEDDED, *(pytest.param(name, marks=pytest.mark.engine) for name in chosen_engines())]
)
def store_kind(request: pytest.FixtureRequest) -> str:
    """The name of an engine, or `embedded`; of session scope so that one engine's tests run together."""
    return str(request.param)


class ReadOnly:
    """Indices that tests only read: each is made once, by what it holds."""

    def __init__(self, store: WritableStore) -> None:
        self.store = store
        self._names: dict[str, str] = {}

    def holding(self, *documents: EncodedDocument) -> str:
        """The name of an index of these documents."""
        key = repr(documents)
        if key not in self._names:
            self._names[key] = new_name()
            fill(self.store, self._names[key], *documents)
        return self._names[key]

    def drop(self) -> None:
        for name in self._names.values():
            self.store.drop(name)


@pytest.fixture(scope="session")
def read_only(
    store_kind: str, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ReadOnly]:
    is_embedded = store_kind == EMBEDDED
    address = tmp_path_factory.mktemp("read-only") / "store" if is_embedded else _engine_url(request, store_kind)
    with closing(open_store(str(address), timeout_s=PATIENCE_S)) as store:
        shared = ReadOnly(store)
        yield shared
        shared.drop()


@pytest.fixture
def store_address(store_kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if store_kind == EMBEDDED:
        return str(tmp_path / "store")
    return _engine_url(request, store_kind)


def _engine_url(request: pytest.FixtureRequest, name: str) -> str:
    pool: EnginePool = request.getfixturevalue("engine_pool")
    return pool.get(name).url


def new_name() -> str:
    """An index name that no other test has: engines are shared."""
    return f"stores-{os.getpid()}-{next(_numbers)}"


@pytest.fixture
def store(store_address: str, new_index: Callable[[], str]) -> Iterator[WritableStore]:
    store = open_store(store_address, timeout_s=PATIENCE_S)
    yield store
    store.close()


@pytest.fixture
def new_index() -> Callable[[], str]:
    return new_name


@pytest.fixture
def index(store: WritableStore, store_kind: str, new_index: Callable[[], str]) -> Iterator[str]:
    """A name to make an index of; an engine's is dropped after the test with all its versions."""
    name = new_index()
    yield name
    if store_kind != EMBEDDED:
        for version in store.versions(name):
            store.drop(version.name)
        if name in store.indices():
            store.drop(name)
