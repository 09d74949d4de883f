"""LangChain's, LlamaIndex's and PyTerrier's own classes, in an environment that has them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.clients.frameworks_environment import run_tests
from tests.support.engines.sources import ENGINES_VARIABLE, URL_VARIABLES, Engine

# They fetch much: `make check` is to be quick.
pytestmark = [pytest.mark.conformance, pytest.mark.engine]

STORES = {
    "opensearch": [
        "tests/clients/frameworks/test_langchain_opensearch.py",
        "tests/clients/frameworks/test_llamaindex_opensearch.py",
    ],
    "elasticsearch": ["tests/clients/frameworks/test_langchain_elasticsearch.py"],
}


def test_adapters_and_rerank_classes_work_with_the_frameworks(tmp_path: Path) -> None:
    paths = ["tests/adapters", "tests/api/test_rerank_clients.py"]
    assert run_tests(paths, tmp_path, {}) > len(paths)


def test_stores_read_and_write_through_the_proxy(
    engine: Engine, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    name = request.node.callspec.params["engine"]
    paths = STORES[engine.distribution]
    assert run_tests(paths, tmp_path, {ENGINES_VARIABLE: name, URL_VARIABLES[engine.distribution]: engine.url}) > 1
