"""Documents deleted, their vectors replaced and their bags read, on every store."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

from reranker.stores.base.protocol import WritableStore
from reranker.stores.base.writing import NewVector, Revision, WriteResult
from reranker.text.bags import BagOfWords
from tests.stores.samples import ALL, DESCRIPTION, cosine, fill, ids, make_document, make_index, query


def revisions(store: WritableStore, index: str) -> dict[str, Revision]:
    return {one.doc_id: one.revision for one in store.bags(index)}


def test_a_deleted_document_is_found_no_more_and_can_come_again(store: WritableStore, index: str) -> None:
    fill(store, index, *(make_document(doc_id, "a cat", metadata={"kind": "x"}) for doc_id in "123"))
    assert len(store.open(index).knn(query(1, 0, 0, 0), 10, ALL)) == 3
    results = list(store.delete(index, ["1", "absent", "3"]))
    store.refresh(index)
    assert [(result.doc_id, result.error is None) for result in results] == [
        ("1", True),
        ("absent", False),
        ("3", True),
    ]
    assert "not_found" in str(results[1].error)
    assert store.open(index).count() == 1
    assert ids(store.open(index).knn(query(1, 0, 0, 0), 10, ALL)) == ["2"]
    assert ids(store.open(index).bm25("cat", 10, ALL)) == ["2"]
    fill(store, index, make_document("1", "a dog", vector=(0, 1, 0, 0)))
    assert store.open(index).fetch("1").document.text == "a dog"
    assert ids(store.open(index).knn(query(0, 1, 0, 0), 1, ALL)) == ["1"]


def test_a_replaced_vector_changes_nothing_else_of_a_document(store: WritableStore, index: str) -> None:
    written = make_document("1", "a cat", title="Title", url="https://a", metadata={"year": 1999, "tags": ["a"]})
    fill(store, index, written, make_document("2"))
    vector = query(0, 0, 1, 0).astype(np.float32)
    now = revisions(store, index)
    changes = [NewVector("1", vector, "v2", now["1"]), NewVector("absent", vector, "v2", now["1"])]
    results = list(store.replace_vectors(index, changes))
    store.refresh(index)
    assert results[0] == WriteResult("1")
    assert results[1].error is not None
    fetched = store.open(index).fetch("1")
    assert fetched.document == written.document
    assert fetched.bag.counts.tolist() == written.bag.counts.tolist()
    assert cosine(store, index, "1", vector) == pytest.approx(1, abs=1e-5)
    assert {one.doc_id for one in store.bags(index, {"en": "v2"})} == {"2"}
    assert ids(store.open(index).knn(vector, 1, ALL)) == ["1"]
    assert ids(store.open(index).bm25("cat", 10, ALL)) == ["1", "2"]


def test_a_vector_can_be_taken_away_and_given(store: WritableStore, index: str) -> None:
    fill(store, index, make_document("1"), make_document("2", vector=None))
    now, vector = revisions(store, index), query(1, 0, 0, 0).astype(np.float32)
    changes = [NewVector("1", None, "v2", now["1"]), NewVector("2", vector, "v2", now["2"])]
    assert list(store.replace_vectors(index, changes)) == [WriteResult("1"), WriteResult("2")]
    store.refresh(index)
    assert ids(store.open(index).knn(query(1, 0, 0, 0), 10, ALL)) == ["2"]


def test_a_vector_of_an_earlier_text_is_not_stored(store: WritableStore, index: str) -> None:
    fill(store, index, make_document("same"), make_document("changed"), make_document("gone"), make_document("new"))
    before, vector = revisions(store, index), query(0, 0, 1, 0).astype(np.float32)
    list(store.delete(index, ["gone", "new"]))
    other = BagOfWords(*np.array([[3], [1]], np.int32))
    fill(
        store, index, *(make_document(doc_id, "a dog", vector=(0, 1, 0, 0), bag=other) for doc_id in ("changed", "new"))
    )
    changes = [NewVector(doc_id, vector, "v2", before[doc_id]) for doc_id in ("same", "changed", "gone", "new")]
    results = list(store.replace_vectors(index, changes))
    store.refresh(index)
    assert [result.error is None for result in results] == [True, False, False, False]
    assert cosine(store, index, "same", vector) == pytest.approx(1, abs=1e-5)
    for doc_id in ("changed", "new"):
        assert cosine(store, index, doc_id, (0, 1, 0, 0)) == pytest.approx(1, abs=1e-5)


def test_all_bags_are_read_once_each(store: WritableStore, index: str) -> None:
    documents = [
        make_document(str(n), language="fr" if n % 3 else "en", bag=BagOfWords(*np.array([[n], [n + 1]], np.int32)))
        for n in range(2_345)
    ]
    fill(store, index, *documents)
    found = list(store.bags(index))
    assert sorted(int(one.doc_id) for one in found) == list(range(2_345))
    for one in found:
        number = int(one.doc_id)
        assert (one.bag.term_ids.tolist(), one.bag.counts.tolist()) == ([number], [number + 1])
        assert one.language == ("fr" if number % 3 else "en")


def test_stale_bags_are_those_of_a_language_weighed_with_other_figures(store: WritableStore, index: str) -> None:
    fill(
        store,
        index,
        replace(make_document("old", language="en"), weights_version="v1"),
        replace(make_document("new", language="en"), weights_version="v2"),
        make_document("unknown", language="en"),
        replace(make_document("other", language="fr"), weights_version="v1"),
        replace(make_document("unasked", language="de"), weights_version="v1"),
    )
    assert {one.doc_id for one in store.bags(index, {"en": "v2", "fr": "v1"})} == {"old", "unknown"}


def test_documents_are_counted_by_language(store: WritableStore, index: str) -> None:
    make_index(store, index, DESCRIPTION)
    assert store.open(index).languages() == {}
    fill(store, index, *(make_document(f"{language}{n}", language=language) for language in ("en", "fr") for n in "12"))
    list(store.delete(index, ["fr2"]))
    store.refresh(index)
    assert store.open(index).languages() == {"en": 2, "fr": 1}


def test_a_document_may_be_prepared_in_another_process(store: WritableStore, index: str) -> None:
    make_index(store, index, DESCRIPTION)
    prepare = pickle.loads(pickle.dumps(store.preparer(index)))
    prepared = pickle.loads(pickle.dumps([prepare(make_document("1", "a cat")), prepare(make_document("2"))]))
    assert list(store.write_prepared(index, prepared)) == [WriteResult("1"), WriteResult("2")]
    store.refresh(index)
    assert ids(store.open(index).bm25("cat", 10, ALL)) == ["1", "2"]


def test_lists_in_lists_are_metadata(store: WritableStore, index: str) -> None:
    fill(store, index, make_document("1", metadata={"deep": [[[[[[[["x"]]]]]]]]}))
    assert store.open(index).count() == 1
