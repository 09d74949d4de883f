"""pytest plugin: real search engines as lazy fixtures; a test that uses one is marked `engine`.

`engine` (and `engine_url`) runs a test once for each engine; `first_engine` on the first of them, for tests to which
the engine makes no difference; `opensearch_2_url` and
`elasticsearch_8_url` name one. Each engine starts when the first test asks for it and stays until the
session ends. `opensearch_2_ml_url` is an OpenSearch with ml-commons and neural-search: always a node of our own, since
it has to reach what a test serves at 127.0.0.1. `secured_node` has the security plugin (`security.py`), with users and
certificates of our own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from typing import TypeVar

import pytest

from tests.support.engines.errors import EngineUnavailable
from tests.support.engines.nodes import Node, start_node
from tests.support.engines.recipes import (
    ELASTICSEARCH_8,
    OPENSEARCH_2,
    OPENSEARCH_2_ML,
    OPENSEARCH_2_SECURITY,
    RECIPES,
    Recipe,
)
from tests.support.engines.security import SecuredNode, start_secured_node
from tests.support.engines.sources import ENGINES_VARIABLE, Engine, EnginePool, chosen_engines, given_url

AnyNode = TypeVar("AnyNode", Node, SecuredNode)

ENGINE_FIXTURES = {
    "engine_pool",
    "engine",
    "engine_url",
    "first_engine",
    "opensearch_2_url",
    "opensearch_2_ml_url",
    "secured_node",
    "elasticsearch_8_url",
}


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "engine: talks to a real search engine")
    try:
        chosen_engines()
    except ValueError as wrong:
        raise pytest.UsageError(str(wrong)) from wrong


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "engine" in metafunc.fixturenames:
        metafunc.parametrize("engine", chosen_engines(), indirect=True, scope="session")


def pytest_itemcollected(item: pytest.Item) -> None:
    if ENGINE_FIXTURES & set(getattr(item, "fixturenames", ())):
        item.add_marker("engine")


def engine_of(item: pytest.Item) -> str:
    """The name of the engine that a test talks to; `several` where it is more than one, empty for none.

    `store_kind` (tests/stores) is an engine's name, or `embedded` for no engine.
    """
    fixtures = ENGINE_FIXTURES & set(getattr(item, "fixturenames", ()))
    callspec = getattr(item, "callspec", None)
    if not fixtures and callspec is None:
        return ""
    named = {
        "first_engine": chosen_engines()[0],
        "opensearch_2_url": OPENSEARCH_2.name,
        "opensearch_2_ml_url": OPENSEARCH_2_ML.name,
        "secured_node": OPENSEARCH_2_SECURITY.name,
        "elasticsearch_8_url": ELASTICSEARCH_8.name,
    }
    asked = {named[name] for name in fixtures if name in named}
    if callspec is not None:
        asked |= {str(callspec.params[name]) for name in ("engine", "store_kind") if name in callspec.params}
        asked &= RECIPES.keys()
    return asked.pop() if len(asked) == 1 else "several" if fixtures else ""


@pytest.fixture(scope="session")
def engine_pool() -> Iterator[EnginePool]:
    with closing(EnginePool()) as pool:
        yield pool


@pytest.fixture(scope="session")
def engine(request: pytest.FixtureRequest, engine_pool: EnginePool) -> Engine:
    """Each chosen engine in turn."""
    return _get(engine_pool, str(request.param))


@pytest.fixture(scope="session")
def engine_url(engine: Engine) -> str:
    return engine.url


@pytest.fixture(scope="session")
def first_engine(engine_pool: EnginePool) -> Engine:
    return _get(engine_pool, chosen_engines()[0])


@pytest.fixture(scope="session")
def opensearch_2_url(engine_pool: EnginePool) -> str:
    return _named_url(engine_pool, OPENSEARCH_2)


@pytest.fixture(scope="session")
def opensearch_2_ml_url() -> Iterator[str]:
    with _own_node(start_node(OPENSEARCH_2_ML.name)) as node:
        yield node.url


@pytest.fixture(scope="session")
def secured_node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredNode]:
    with _own_node(start_secured_node(tmp_path_factory.mktemp("security"))) as node:
        yield node


@pytest.fixture(scope="session")
def elasticsearch_8_url(engine_pool: EnginePool) -> str:
    return _named_url(engine_pool, ELASTICSEARCH_8)


def _named_url(pool: EnginePool, recipe: Recipe) -> str:
    """The URL of that engine; a test is left out only where SINKRANK_TEST_ENGINES says so."""
    if recipe.name not in chosen_engines() and not given_url(recipe):
        pytest.skip(f"{ENGINES_VARIABLE} leaves out {recipe.name}")
    return _get(pool, recipe.name).url


@contextmanager
def _own_node(starting: AbstractContextManager[AnyNode]) -> Iterator[AnyNode]:
    """A variant of OpenSearch 2; a test is left out only where SINKRANK_TEST_ENGINES leaves that out."""
    if OPENSEARCH_2.name not in chosen_engines():
        pytest.skip(f"{ENGINES_VARIABLE} leaves out {OPENSEARCH_2.name}")
    with ExitStack() as stack:
        try:
            node = stack.enter_context(starting)
        except EngineUnavailable as failed:
            pytest.fail(str(failed), pytrace=False)
        yield node


def _get(pool: EnginePool, name: str) -> Engine:
    try:
        return pool.get(name)
    except EngineUnavailable as failed:
        pytest.fail(str(failed), pytrace=False)
