"""What the engine store makes of a real engine's other indices, and what other clients see of ours."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import opensearchpy
import pytest

from reranker.base.errors import BadInput, NotFound, NotOurIndex
from reranker.stores import open_store
from reranker.stores.base.filters import Filters
from reranker.stores.base.protocol import WritableStore
from reranker.stores.base.writing import WriteResult
from reranker.stores.engine import notes
from reranker.stores.engine.notes import NOTES_INDEX
from reranker.stores.engine.writable import WritableEngineStore
from reranker.text.idf import DocumentFrequencies, IdfTable
from tests.stores.samples import (
    ALL,
    DESCRIPTION,
    calls,
    fill,
    ids,
    make_document,
    make_index,
    searches,
    write_documents,
)
from tests.support.engines.sources import Engine

TABLE = IdfTable({"en": DocumentFrequencies(3, np.array([1], np.int32), np.array([2], np.int32))})


@pytest.fixture
def store(engine: Engine) -> Iterator[WritableStore]:
    store = open_store(engine.url)
    yield store
    store.close()


@pytest.fixture
def client(engine: Engine) -> Iterator[opensearchpy.OpenSearch]:
    client = opensearchpy.OpenSearch(engine.url, timeout=60)
    yield client
    client.close()


@pytest.fixture
def index(new_index: Callable[[], str], store: WritableStore, client: opensearchpy.OpenSearch) -> Iterator[str]:
    name = new_index()
    yield name
    names = [version.name for version in store.versions(name)] or [name]
    client.indices.delete(index=",".join(names), ignore_unavailable=True)


def test_an_index_that_another_made_is_refused_and_not_listed(
    store: WritableStore, client: opensearchpy.OpenSearch, index: str
) -> None:
    client.index(index=index, id="1", body={"text": "a cat"}, refresh=True)
    for call in (*calls(store, index), lambda: store.stage(index, DESCRIPTION)):
        with pytest.raises(NotOurIndex, match=index):
            call()
    assert index not in store.indices()
    assert client.count(index=index)["count"] == 1


def test_the_idf_is_kept_where_no_search_of_everything_meets_it(
    store: WritableStore, client: opensearchpy.OpenSearch, index: str
) -> None:
    fill(store, index, make_document("1"))
    store.save_idf(index, TABLE)
    client.indices.refresh(index=NOTES_INDEX)
    note = f"{store.versions(index)[0].name}:idf"
    assert client.exists(index=NOTES_INDEX, id=note)
    everything = client.search(index="_all", body={"size": 1000})["hits"]["hits"]
    assert NOTES_INDEX not in {hit["_index"] for hit in everything}
    assert NOTES_INDEX not in store.indices()
    store.drop(index)
    assert not client.exists(index=NOTES_INDEX, id=note)


def test_a_note_far_larger_than_any_idf_is_bad_input(
    store: WritableStore, index: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_index(store, index, DESCRIPTION)
    store.save_idf(index, TABLE)
    monkeypatch.setattr(notes, "_MOST_CHARACTERS", 100)
    numbers = np.arange(999, dtype=np.int32)
    large = IdfTable({"en": DocumentFrequencies(3, numbers**2, numbers)})
    with pytest.raises(BadInput, match="fewer languages"):
        store.save_idf(index, large)
    assert store.open(index).idf().version == TABLE.version


def test_nobody_gets_an_index_where_the_idf_is_kept(store: WritableStore, index: str) -> None:
    make_index(store, index, DESCRIPTION)
    store.save_idf(index, TABLE)
    with pytest.raises(BadInput, match="idf"):
        make_index(store, NOTES_INDEX, DESCRIPTION)
    with pytest.raises(NotOurIndex):
        store.drop(NOTES_INDEX)


def test_an_idf_of_an_index_deleted_by_other_means_is_not_taken_for_the_new_ones(
    store: WritableStore, client: opensearchpy.OpenSearch, index: str
) -> None:
    version = make_index(store, index, DESCRIPTION)
    store.save_idf(index, TABLE)
    client.indices.delete(index=version)
    make_index(store, index, DESCRIPTION)
    assert store.open(index).idf().languages == {}


def test_an_alias_stands_for_its_index(
    store: WritableStore, client: opensearchpy.OpenSearch, index: str, new_index: Callable[[], str]
) -> None:
    alias, other = new_index(), new_index()
    fill(store, index, make_document("1", "a cat"))
    store.save_idf(index, TABLE)
    client.indices.put_alias(index=store.versions(index)[0].name, name=alias)
    assert store.open(alias).description == DESCRIPTION
    assert ids(store.open(alias).bm25("cat", 5, ALL)) == ["1"]
    assert store.open(alias).fetch("1").document.doc_id == "1"
    assert store.open(alias).idf().version == TABLE.version
    client.indices.put_alias(index=make_index(store, other, DESCRIPTION), name=alias)
    with pytest.raises(NotOurIndex, match="2 indices"):
        store.open(alias)
    store.drop(other)


def test_an_index_deleted_by_other_means_is_not_found(
    store: WritableStore, client: opensearchpy.OpenSearch, index: str
) -> None:
    fill(store, index, make_document("1"))
    opened = store.open(index)
    client.indices.delete(index=store.versions(index)[0].name)
    for call in (*searches(opened), *calls(store, index)):
        with pytest.raises(NotFound, match=f"no index '{index}'"):
            call()
    assert not client.indices.exists(index=index)


def test_a_filter_of_the_wrong_type_is_bad_input(store: WritableStore, index: str) -> None:
    fill(store, index, make_document("1", metadata={"year": 2019}))
    with pytest.raises(BadInput, match="filter"):
        store.open(index).bm25("cat", 10, Filters.parse(None, {"year": "soon"}))


def test_the_index_has_term_vectors_of_unstemmed_words(
    store: WritableStore, client: opensearchpy.OpenSearch, index: str
) -> None:
    fill(store, index, make_document("1", "Running Dogs", title="Title"))
    vectors = client.termvectors(index=index, id="1", fields="text.en.words,title.en.words")["term_vectors"]
    assert set(vectors["text.en.words"]["terms"]) == {"running", "dogs"}
    assert set(vectors["title.en.words"]["terms"]) == {"title"}


def test_to_ask_which_documents_are_stored_is_no_search(
    store: WritableStore, client: opensearchpy.OpenSearch, index: str
) -> None:
    fill(store, index, make_document("1"))

    def n_searches() -> int:
        return int(client.indices.stats(index=index, metric="search")["_all"]["total"]["search"]["query_total"])

    before = n_searches()
    assert store.open(index).stored(["1", "2"]) == {"1"}
    assert n_searches() == before


def test_a_query_of_many_words_in_many_languages_is_not_too_many_clauses(store: WritableStore, index: str) -> None:
    languages = ["en", "fr", "de", "el", "fi", "ru", "es", "it", "sv", "tr"]
    fill(store, index, *(make_document(language, "walrus", language) for language in languages))
    book = "walrus " + " ".join(f"word{number}" for number in range(5000))
    assert set(ids(store.open(index).bm25(book, 20, ALL))) == set(languages)


def test_an_index_that_another_program_made_by_our_definition_is_written_to_and_not_rebuilt(
    store: WritableStore, client: opensearchpy.OpenSearch, index: str
) -> None:
    assert isinstance(store, WritableEngineStore)
    client.indices.create(index=index, body=store._definition(DESCRIPTION))
    assert list(write_documents(store, index, [make_document("1", "a cat")])) == [WriteResult("1")]
    store.refresh(index)
    assert ids(store.open(index).bm25("cat", 10, ALL)) == ["1"]
    assert (store.versions(index), index in store.indices()) == ([], True)
    with pytest.raises(BadInput, match="without versions"):
        store.stage(index, DESCRIPTION)
