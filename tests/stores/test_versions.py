"""Versions of an index behind its name, on every store."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from reranker.base.errors import BadInput, NotFound
from reranker.embeddings.hubness import HubnessSample
from reranker.stores.base.names import IndexVersion
from reranker.stores.base.protocol import WritableStore
from reranker.text.idf import DocumentFrequencies, IdfTable
from tests.stores.samples import ALL, DESCRIPTION, ids, make_document, query, write_documents


def put(store: WritableStore, index: str, *doc_ids: str) -> None:
    results = list(write_documents(store, index, [make_document(doc_id, "a cat") for doc_id in doc_ids]))
    assert all(result.error is None for result in results)
    store.refresh(index)


def found(store: WritableStore, index: str) -> list[str]:
    return sorted(ids(store.open(index).bm25("cat", 10, ALL)))


def test_a_staged_version_is_met_under_its_own_name_alone(store: WritableStore, index: str) -> None:
    version = store.stage(index, DESCRIPTION)
    put(store, version, "1")
    assert version == f"{index}-000001"
    assert store.versions(index) == [IndexVersion(version, is_serving=False)]
    assert found(store, version) == ["1"]
    assert not {index, version} & set(store.indices())
    with pytest.raises(NotFound):
        store.open(index).count()


def test_a_version_is_rebuilt_by_the_name_of_its_index(store: WritableStore, index: str) -> None:
    version = store.stage(index, DESCRIPTION)
    for _ in range(2):
        with pytest.raises(BadInput, match=f"'{version}' is a version of the index '{index}'; use --index {index}$"):
            store.stage(version, DESCRIPTION)
        store.promote(index, version)


def test_a_version_says_which_run_makes_it_until_it_is_complete(store: WritableStore, index: str) -> None:
    first, second = store.stage(index, DESCRIPTION, "one"), store.stage(index, DESCRIPTION, "two")
    store.promote(index, first)
    assert store.versions(index) == [IndexVersion(first, True, "one"), IndexVersion(second, False, "two")]
    store.complete(first)
    store.complete(first)
    assert store.versions(index) == [IndexVersion(first, True), IndexVersion(second, False, "two")]
    assert store.open(index).description == DESCRIPTION


def test_a_promoted_version_stands_behind_the_name_and_the_one_before_stays(store: WritableStore, index: str) -> None:
    first = store.stage(index, DESCRIPTION)
    put(store, first, "old")
    store.promote(index, first)
    assert index in store.indices()
    assert first not in store.indices()
    second = store.stage(index, replace(DESCRIPTION, embeddings_version="newer"))
    put(store, second, "new", "newer")
    assert found(store, index) == ["old"]
    store.promote(index, second)
    assert found(store, index) == ["new", "newer"]
    assert store.open(index).description.embeddings_version == "newer"
    assert store.versions(index) == [IndexVersion(first, False), IndexVersion(second, True)]
    assert len(store.open(index).knn(query(1, 0, 0, 0), 10, ALL)) == 2
    store.promote(index, first)
    assert found(store, index) == ["old"]
    assert store.versions(index) == [IndexVersion(first, True), IndexVersion(second, False)]
    assert len(store.open(index).knn(query(1, 0, 0, 0), 10, ALL)) == 1


def test_each_version_has_its_own_idf_and_hubness_sample(store: WritableStore, index: str) -> None:
    tables = [
        IdfTable({"en": DocumentFrequencies(n, np.array([1], np.int32), np.array([1], np.int32))}) for n in (2, 3)
    ]
    versions = [store.stage(index, DESCRIPTION) for _ in tables]
    for version, table in zip(versions, tables, strict=True):
        store.save_idf(version, table)
        store.promote(index, version)
        assert (store.open(index).idf().version, store.open(index).hubness_sample()) == (table.version, HubnessSample())
        store.save_hubness_sample(index, HubnessSample(version))
    assert store.open(versions[0]).idf().version == tables[0].version
    assert store.open(versions[0]).hubness_sample() == HubnessSample(versions[0])


def test_no_search_misses_an_index_while_its_versions_change_places(store: WritableStore, index: str) -> None:
    versions = [store.stage(index, DESCRIPTION) for _ in range(2)]
    for version in versions:
        put(store, version, "1")
    store.promote(index, versions[0])
    stop, failures, n_found = threading.Event(), [], 0

    def search() -> None:
        nonlocal n_found
        while not stop.is_set():
            try:
                assert found(store, index) == ["1"]
                n_found += 1
            except Exception as error:
                failures.append(error)

    searching = threading.Thread(target=search)
    searching.start()
    for turn in range(10):
        store.promote(index, versions[turn % 2])
    stop.set()
    searching.join()
    assert failures == []
    assert n_found > 0


def test_dropping_the_name_drops_all_versions_and_dropping_a_version_that_alone_whose_number_is_not_given_again(
    store: WritableStore, index: str
) -> None:
    versions = [store.stage(index, DESCRIPTION) for _ in range(3)]
    store.promote(index, versions[2])
    store.drop(versions[0])
    assert [version.name for version in store.versions(index)] == versions[1:]
    assert store.stage(index, DESCRIPTION) == f"{index}-000004"
    store.drop(index)
    assert store.versions(index) == []
    with pytest.raises(NotFound):
        store.open(versions[1])


def test_a_version_that_is_not_there_cannot_be_promoted(
    store: WritableStore, index: str, new_index: Callable[[], str]
) -> None:
    version = store.stage(index, DESCRIPTION)
    for wrong in (f"{index}-000009", new_index()):
        with pytest.raises(NotFound, match=wrong):
            store.promote(index, wrong)
    with pytest.raises(NotFound, match="no version"):
        store.promote(new_index(), version)


def test_no_index_gets_the_name_of_another_index_s_version(store: WritableStore, index: str) -> None:
    version = store.stage(index, DESCRIPTION)
    put(store, version, "1")
    with pytest.raises(BadInput, match=f"{version!r} is"):
        store.stage(version, DESCRIPTION)
    store.promote(index, version)
    with pytest.raises(BadInput, match=f"{version!r} is"):
        store.stage(version, DESCRIPTION)
    assert store.versions(index) == [IndexVersion(version, True)]
    assert found(store, version) == ["1"]


def test_a_name_that_leaves_no_room_for_a_number_is_bad_input(store: WritableStore) -> None:
    with pytest.raises(BadInput, match="121"):
        store.stage("x" * 122, DESCRIPTION)
