"""A random sample of any index's documents, limited in number, size and fields."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator

import pytest
import urllib3

from reranker.base.errors import NotFound, WrongParameter
from reranker.stores import open_store
from reranker.stores.engine import sample
from reranker.stores.engine.fields import VECTOR_TYPES, fields_of_types, mapped_fields, text_fields
from reranker.stores.engine.store import EngineStore
from tests.support.calls import make_index
from tests.support.engines.sources import Engine

_numbers = itertools.count(1)

MAPPINGS = {
    "properties": {
        "title": {"type": "text", "fields": {"raw": {"type": "keyword"}, "stemmed": {"type": "text"}}},
        "sku": {"type": "keyword"},
        "body": {"properties": {"text": {"type": "text"}, "vector": {"type": "knn_vector", "dimension": 2}}},
        "parts": {"type": "nested", "properties": {"note": {"type": "text"}}},
    }
}


def test_a_mapping_is_read_into_its_fields() -> None:
    types = {name: field["type"] for name, field in mapped_fields(MAPPINGS).items()}
    assert types == {
        "title": "text",
        "sku": "keyword",
        "body.text": "text",
        "body.vector": "knn_vector",
        "parts": "nested",
        "parts.note": "text",
    }
    assert text_fields(MAPPINGS) == ["title", "body.text"]
    assert fields_of_types(MAPPINGS, VECTOR_TYPES) == ["body.vector"]
    assert mapped_fields({}) == {}


@pytest.fixture
def store(engine: Engine) -> Iterator[EngineStore]:
    store = open_store(engine.url)
    assert isinstance(store, EngineStore)
    yield store
    store.close()


@pytest.fixture
def foreign(engine: Engine) -> Iterator[str]:
    """400 documents of 1,000 letters, two thirds of which are in `text`; and a vector."""
    name = f"sampled-{os.getpid()}-{next(_numbers)}"
    vector = (
        {"type": "dense_vector", "dims": 2}
        if engine.distribution == "elasticsearch"
        else {"type": "knn_vector", "dimension": 2}
    )
    documents = [{"text": "a" * 700, "note": "b" * 300, "n": n, "vector": [0.5, 0.5]} for n in range(400)]
    with urllib3.PoolManager() as http:
        make_index(http, engine.url, name, {"vector": vector}, documents)
        yield name
        http.request("DELETE", f"{engine.url}/{name}")


def test_the_same_sample_is_drawn_each_time(store: EngineStore, foreign: str) -> None:
    samples = [[hit["_id"] for hit in store.sample(foreign, (), 100)] for _ in range(2)]
    assert sorted(samples[0]) == sorted(samples[1])
    assert len(set(samples[0])) == 100
    # Not the first hundred, nor the last.
    assert 120 < sum(map(int, samples[0])) / 100 < 280


def test_all_documents_of_a_small_index_are_the_sample(store: EngineStore, foreign: str) -> None:
    found = [int(hit["_id"]) for hit in store.sample(foreign, (), 1_000)]
    assert sorted(found) == list(range(400))


def test_fields_that_are_not_read_are_not_fetched(store: EngineStore, foreign: str) -> None:
    assert {tuple(hit["_source"]) for hit in store.sample(foreign, ("t*t",), 10)} == {("text",)}
    assert {tuple(sorted(hit["_source"])) for hit in store.sample(foreign, (), 10)} == {("n", "note", "text")}


def test_a_sample_ends_at_so_many_bytes(store: EngineStore, foreign: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sample, "_SAMPLE_BYTES", 100_000)
    monkeypatch.setattr(sample, "_PAGE_BYTES", 50_000)
    # 20 documents of 1 KB, then pages of 48 or so.
    assert 100 <= len(list(store.sample(foreign, (), 400))) <= 150


def test_a_sample_ends_after_its_time(engine: Engine, store: EngineStore, foreign: str) -> None:
    times = iter([0.0, 1.0, 19.0, 21.0])
    hits = list(sample.sample_documents(store._client, foreign, ("n",), 400, lambda: next(times)))
    assert len(hits) == 20 + 250


@pytest.mark.parametrize("name", ["", "..", "_all", "a,b", "pages*", "../x", "a b", "-pages", "<pages-{now/d}>"])
def test_what_is_no_name_is_refused(store: EngineStore, name: str) -> None:
    with pytest.raises(WrongParameter, match="is not an index"):
        list(store.sample(name, (), 10))
    with pytest.raises(WrongParameter, match="is not an index"):
        store.mappings(name)


def test_an_index_that_is_not_there(store: EngineStore) -> None:
    with pytest.raises(NotFound, match="no index 'absent'"):
        list(store.sample("absent", (), 10))


def test_an_alias_of_several_indices_is_sampled_as_a_whole(engine: Engine, store: EngineStore, foreign: str) -> None:
    with urllib3.PoolManager() as http:
        make_index(http, engine.url, f"{foreign}-b", {}, [{"text": "more"}])
        actions = [{"add": {"index": f"{foreign}*", "alias": f"{foreign}-alias"}}]
        assert http.request("POST", f"{engine.url}/_aliases", json={"actions": actions}).status == 200
        found = list(store.sample(f"{foreign}-alias", (), 1_000))
        http.request("DELETE", f"{engine.url}/{foreign}-b")
    assert {hit["_index"] for hit in found} == {foreign, f"{foreign}-b"}
    assert len(found) == 401
