"""Index templates, ingest pipelines and the settings that others give to an index, on real engines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import urllib3

from reranker.stores.engine.writable import WritableEngineStore
from reranker.upstream.addresses import EngineAddress, read_address
from tests.stores.samples import ALL, DESCRIPTION, ids, install_template, make_document, query, write_documents
from tests.support.engines.sources import Engine


def ask(url: str, method: str, path: str, body: object = None) -> Any:
    answer = urllib3.request(method, f"{url}/{path}", json=body, timeout=60)
    assert answer.status == 200, answer.data
    return answer.json()


@pytest.fixture
def store(engine: Engine) -> Iterator[WritableEngineStore]:
    address = read_address(engine.url)
    assert isinstance(address, EngineAddress)
    store = WritableEngineStore(address)
    yield store
    store.close()


@pytest.fixture
def index(engine: Engine, store: WritableEngineStore, new_index: Callable[[], str]) -> Iterator[str]:
    """A name; the index template, the pipeline and the indices of it go at the end."""
    name = new_index()
    yield name
    for path in (
        f"{name},{name}-*?ignore_unavailable=true",
        f"_index_template/{name}",
        f"_ingest/pipeline/{name}",
    ):
        urllib3.request("DELETE", f"{engine.url}/{path}", timeout=60)


def settings_of(engine: Engine, name: str) -> dict[str, Any]:
    (found,) = ask(engine.url, "GET", f"{name}/_settings").values()
    return dict(found["settings"]["index"])


def test_an_index_that_an_operator_makes_takes_documents_and_is_searched(
    engine: Engine, store: WritableEngineStore, index: str
) -> None:
    (ours,) = ask(engine.url, "GET", store.stage(index, DESCRIPTION)).values()
    copied = {
        name: ours["settings"]["index"][name]
        for name in ("analysis", "mapping", "knn")
        if name in ours["settings"]["index"]
    }
    install_template(engine.url, index, {**copied, "number_of_shards": "2", "refresh_interval": "7s"}, ours["mappings"])
    ask(engine.url, "PUT", f"{index}-000007")
    made = f"{index}-000007"
    assert store.open(made).description == DESCRIPTION
    assert settings_of(engine, made)["refresh_interval"] == "7s"
    assert settings_of(engine, made)["number_of_shards"] == "2"
    assert all(result.error is None for result in write_documents(store, made, [make_document("1", "a cat")]))
    store.refresh(made)
    assert ids(store.open(made).bm25("cat", 10, ALL)) == ["1"]
    assert ids(store.open(made).knn(query(1, 0, 0, 0), 10, ALL)) == ["1"]


def test_a_version_that_ingest_makes_has_the_settings_of_a_template(
    engine: Engine, store: WritableEngineStore, index: str
) -> None:
    ask(engine.url, "PUT", f"_ingest/pipeline/{index}", {"processors": []})
    install_template(engine.url, index, {"number_of_shards": "3", "number_of_replicas": "2", "default_pipeline": index})
    version = store.stage(index, DESCRIPTION)
    found = settings_of(engine, version)
    assert (found["number_of_shards"], found["number_of_replicas"], found["default_pipeline"]) == ("3", "2", index)
    assert [result.error for result in write_documents(store, version, [make_document("1", "a cat")])] == [None]
