"""Candidates read from doc values are those read from `_source`, on real engines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
import urllib3

from reranker.base.errors import NotFound
from reranker.stores import open_store
from reranker.stores.base.checks import MAX_ID_BYTES
from reranker.stores.engine.queries import make_source
from reranker.stores.engine.writable import WritableEngineStore
from reranker.text.bags import MAX_UNKNOWN_HASHES, BagOfWords
from reranker.text.documents import Candidate, EncodedDocument
from reranker.text.exact_text import exact_key
from reranker.translation.groups import Translation, WordGroup
from tests.stores.samples import (
    ALL,
    DESCRIPTION,
    fill,
    ids,
    install_template,
    make_document,
    make_index,
    query,
    remove_template,
)
from tests.support.engines.sources import Engine

IDS = [
    "1",
    'a "quoted" \\ id',
    "two\nlines\tand a tab",
    "ä/ö, *?#%",
    "日本語 🐈",
    "..",
    "_all",
    "é" * (MAX_ID_BYTES // 2),
]
LONG_BAG = BagOfWords(
    np.arange(500, dtype=np.int32) * 400,
    np.full(500, 65_535, np.int32),
    n_unknown=70_000,
    unknown_hashes=np.arange(MAX_UNKNOWN_HASHES, dtype=np.uint32) * 2_000_000,
)
EMPTY_BAG = BagOfWords(np.empty(0, np.int32), np.empty(0, np.int32))
GROUPS = {"en": [WordGroup("chat", 1, (Translation("cat", 1.0),))]}

Read = tuple[str, str, list[int], list[int], int, list[int] | None, int | None]


@pytest.fixture
def store(engine: Engine) -> Iterator[WritableEngineStore]:
    with closing(open_store(engine.url)) as store:
        assert isinstance(store, WritableEngineStore)
        yield store


@pytest.fixture
def name(store: WritableEngineStore, engine: Engine, new_index: Callable[[], str]) -> Iterator[str]:
    name = new_index()
    yield name
    remove_template(engine.url, name)
    with suppress(NotFound):
        store.drop(name)


def documents() -> list[EncodedDocument]:
    """Of all ids, with titles, long, empty and usual bags, and equal scores."""
    return [
        make_document(
            doc_id,
            "a cat" if number % 2 else "a cat and another cat",
            ("en", "fr")[number == 3],
            vector=(1, number % 3, 0, 0),
            title="A cat!" if number % 4 == 1 else "",
            bag=(None, LONG_BAG, EMPTY_BAG)[number % 3],
        )
        for number, doc_id in enumerate(IDS)
    ]


def lists(store: WritableEngineStore, name: str) -> list[list[Candidate]]:
    """What each kind of search finds."""
    return [
        store.open(name).knn(query(1, 0.2, 0, 0), 20, ALL),
        store.open(name).bm25("cat", 20, ALL),
        store.open(name).translated(GROUPS, 20, ALL),
    ]


def read(doc_id: str, language: str, bag: BagOfWords, title_key: int | None) -> Read:
    hashes = bag.unknown_hashes.tolist()
    return doc_id, language, bag.term_ids.tolist(), bag.counts.tolist(), bag.n_unknown, hashes, title_key


def as_read(found: list[Candidate]) -> list[tuple[Read, float, int]]:
    return [
        (read(one.doc_id, one.language, one.bag, one.title_key), one.first_stage_score, one.first_stage_rank)
        for one in found
    ]


def put(engine: Engine, path: str, body: Mapping[str, Any]) -> None:
    answer = urllib3.request("PUT", f"{engine.url}/{path}", json=body, timeout=60)
    assert answer.status < 300, answer.data


def asked(store: WritableEngineStore, monkeypatch: pytest.MonkeyPatch) -> list[Mapping[str, Any]]:
    """The bodies of the searches to come."""
    bodies: list[Mapping[str, Any]] = []
    search = store._client.search

    def recorded(**arguments: Any) -> Any:
        bodies.append(arguments["body"])
        return search(**arguments)

    monkeypatch.setattr(store._client, "search", recorded)
    return bodies


@pytest.mark.parametrize("n_shards", [1, 3])
def test_candidates_come_from_doc_values_as_the_documents_were_written(
    store: WritableEngineStore, engine: Engine, name: str, n_shards: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_template(engine.url, name, {"number_of_shards": n_shards})
    fill(store, name, *documents())
    written = {
        one.document.doc_id: read(
            one.document.doc_id, one.document.language, one.bag, exact_key("a cat") if one.document.title else None
        )
        for one in documents()
    }
    bodies = asked(store, monkeypatch)
    found_by_knn, found_by_words, translated = lists(store, name)
    assert {body.get("stored_fields") for body in bodies if body["size"]} == {"_none_"}
    for found in (found_by_knn, found_by_words, translated):
        assert [each for each, *_ in as_read(found)] == [written[one.doc_id] for one in found]
    assert set(ids(found_by_knn)) == set(ids(found_by_words)) == set(IDS)
    assert set(ids(translated)) == set(IDS) - {IDS[3]}
    assert store.open(name).documents(IDS).keys() == set(IDS)


def test_documents_of_other_programs_are_found_beside_ours(
    store: WritableEngineStore, engine: Engine, name: str
) -> None:
    version = make_index(store, name, DESCRIPTION)
    fill(store, name, *documents())
    bare = {"lang": "en", "text": {"en": "a cat and another cat"}, "nbow": [1, 0, 0, 0]}
    put(engine, f"{version}/_doc/bare?refresh=true", bare)
    for found in lists(store, name):
        assert "bare" in ids(found)
        (other,) = [one for one in found if one.doc_id == "bare"]
        assert (other.language, len(other.bag), other.title_key) == ("en", 0, None)
        assert len(next(one for one in found if one.doc_id == IDS[1]).bag) == 500


def test_a_copy_of_a_document_under_another_id_is_found_by_its_own_id(
    store: WritableEngineStore, engine: Engine, name: str
) -> None:
    version = make_index(store, name, DESCRIPTION)
    fill(store, name, *documents())
    copied = make_source(engine.distribution, documents()[0])
    put(engine, f"{version}/_doc/copy?refresh=true", copied | {"nbow": copied["nbow"].tolist()})
    for found in lists(store, name):
        assert {"copy", IDS[0]} <= set(ids(found))


def test_a_document_written_with_a_routing_value_is_found(
    store: WritableEngineStore, engine: Engine, name: str
) -> None:
    install_template(engine.url, name, {"number_of_shards": 3})
    version = make_index(store, name, DESCRIPTION)
    fill(store, name, *documents())
    for number in range(4):
        source = make_source(engine.distribution, make_document(f"routed {number}", "a cat", title="A cat"))
        path = f"{version}/_doc/{quote(f'routed {number}')}?routing={number}&refresh=true"
        put(engine, path, source | {"nbow": source["nbow"].tolist()})
    for found in lists(store, name):
        assert {f"routed {number}" for number in range(4)} <= set(ids(found))
    assert store.open(name).documents(["routed 1"])["routed 1"].title == "A cat"
