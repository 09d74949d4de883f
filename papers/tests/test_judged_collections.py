"""Judged collections: their files, their languages, and the index that they are searched in."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest

from papers.judged.beir import read_beir
from papers.judged.collection import languages_of
from papers.judged.indexing import INDEX, index_collection
from papers.judged.sources import opened_collection
from papers.tests.judged_collections import write_collection
from reranker.base.errors import BadInput, NotFound, UnknownLanguage, WrongParameter
from reranker.embeddings import Embeddings
from reranker.stores import open_store
from reranker.stores.base.protocol import WritableStore


@pytest.fixture
def store(tmp_path: Path) -> Iterator[WritableStore]:
    with closing(open_store(str(tmp_path / "store"))) as opened:
        yield opened


# Files


def test_beirs_layout_is_read(tmp_path: Path) -> None:
    collection = read_beir(write_collection(tmp_path / "pets"))
    assert collection.name == "pets"
    # q3 has no relevant document.
    assert [(query.query_id, query.text, query.relevance) for query in collection.queries] == [
        ("q1", "chat", {"cat": 1}),
        ("q2", "pain car", {"bread": 2, "car": 0}),
    ]
    assert [(one.doc_id, one.title, one.text, one.language) for one in collection.documents("en")] == [
        ("cat", "Cat", "cat dog", "en"),
        ("bread", "", "bread water", "en"),
        ("car", "", "car car bread", "en"),
    ]
    assert collection.texts({"cat", "car"}, "en") == {"cat": "Cat\ncat dog", "car": "car car bread"}


def test_a_row_that_names_its_language_keeps_it(tmp_path: Path) -> None:
    rows = [{"_id": "1", "text": "chat", "language": "fr"}, {"_id": "2", "text": "cat"}, {"_id": "3", "text": ""}]
    collection = read_beir(write_collection(tmp_path / "pets", rows))
    assert [(one.doc_id, one.language) for one in collection.documents("en")] == [("1", "fr"), ("2", "en")]


def test_a_file_that_is_missing_is_named_with_the_layout(tmp_path: Path) -> None:
    folder = write_collection(tmp_path / "pets")
    (folder / "queries.jsonl").unlink()
    with pytest.raises(NotFound, match=r"has no queries\.jsonl; a collection is a folder with corpus\.jsonl"):
        read_beir(folder)


def test_other_judgments_are_named_where_those_of_the_test_are_missing(tmp_path: Path) -> None:
    folder = write_collection(tmp_path / "pets")
    (folder / "qrels" / "test.tsv").rename(folder / "qrels" / "dev.tsv")
    with pytest.raises(NotFound, match=r"name one of .*dev\.tsv with --qrels"):
        read_beir(folder)
    assert len(read_beir(folder, folder / "qrels" / "dev.tsv").queries) == 2


# ir_datasets


def dataset(has_qrels: bool = True, n_documents: int | None = None) -> SimpleNamespace:
    """What a data set of ir_datasets offers, as its documentation says."""
    documents = [
        SimpleNamespace(doc_id="a", title="Chat", text="noir"),
        SimpleNamespace(doc_id="b", default_text=lambda: "pain\u2028eau"),
    ]
    return SimpleNamespace(
        has_docs=lambda: True,
        has_queries=lambda: True,
        has_qrels=lambda: has_qrels,
        docs_count=lambda: n_documents,
        docs_lang=lambda: "fr",
        queries_lang=lambda: None,
        docs_iter=lambda: iter(documents),
        queries_iter=lambda: iter([SimpleNamespace(query_id="1", default_text=lambda: "cat")]),
        qrels_iter=lambda: iter([SimpleNamespace(query_id="1", doc_id="a", relevance=1)]),
    )


def offer(monkeypatch: pytest.MonkeyPatch, **datasets: SimpleNamespace) -> None:
    """Puts a package ir_datasets in place that knows these."""
    monkeypatch.setitem(sys.modules, "ir_datasets", SimpleNamespace(load=lambda name: datasets[name]))  # type: ignore[arg-type]


def test_a_name_of_ir_datasets_is_read_as_a_folder_is(monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, pets=dataset())
    with opened_collection("pets") as collection:
        assert collection.name == "pets"
        assert [(one.doc_id, one.title, one.text, one.language) for one in collection.documents("en")] == [
            ("a", "Chat", "noir", "fr"),
            ("b", "", "pain\u2028eau", "fr"),
        ]
        (query,) = collection.queries
        assert (query.text, query.language, query.relevance) == ("cat", None, {"a": 1})
    assert not collection.corpus.exists()


@pytest.mark.parametrize(
    ("name", "offered", "error", "told"),
    [
        ("other", dataset(), NotFound, "'other' is neither a folder nor a name of ir_datasets"),
        ("pets", dataset(has_qrels=False), BadInput, "has no qrels; name a part that has, such as pets/test"),
        ("pets", dataset(n_documents=8_841_823), BadInput, "8,841,823 documents, and at most 1,000,000"),
        ("pets", None, NotFound, "pip install ir-datasets"),
        ("./gone", None, NotFound, r"there is no folder '\./gone'"),
    ],
    ids=["no name", "no judgments", "too large", "no package", "a path is never a name"],
)
def test_what_cannot_be_read_is_refused_with_the_cure(
    monkeypatch: pytest.MonkeyPatch, name: str, offered: SimpleNamespace | None, error: type[Exception], told: str
) -> None:
    if offered is None:
        monkeypatch.setitem(sys.modules, "ir_datasets", None)
    else:
        offer(monkeypatch, pets=offered)
    with pytest.raises(error, match=told), opened_collection(name):
        pass


def test_the_real_ir_datasets_gives_a_local_data_set(tmp_path: Path) -> None:
    ir_datasets = pytest.importorskip("ir_datasets")
    (tmp_path / "docs.tsv").write_text("d1\tchat noir\nd2\tpain\n", encoding="utf-8")
    (tmp_path / "queries.tsv").write_text("7\tcat\n", encoding="utf-8")
    (tmp_path / "qrels").write_text("7 0 d1 2\n", encoding="utf-8")
    dataset = ir_datasets.create_dataset(
        docs_tsv=str(tmp_path / "docs.tsv"),
        queries_tsv=str(tmp_path / "queries.tsv"),
        qrels_trec=str(tmp_path / "qrels"),
    )
    ir_datasets.registry.register("sinkrank-pets", dataset)
    with opened_collection("sinkrank-pets") as collection:
        assert collection.texts({"d1"}, "fr") == {"d1": "chat noir"}
        assert [(query.text, query.relevance) for query in collection.queries] == [("cat", {"d1": 2})]


# Languages


def test_one_language_or_a_direction_is_given(tmp_path: Path, embeddings: Embeddings) -> None:
    collection = read_beir(write_collection(tmp_path / "pets"))
    assert languages_of(collection, "fr-en", embeddings) == ("fr", "en")
    assert languages_of(collection, "en", embeddings) == ("en", "en")
    with pytest.raises(WrongParameter, match="xx"):
        languages_of(collection, "xx", embeddings)


def test_a_language_that_the_embeddings_lack_is_refused(tmp_path: Path, embeddings: Embeddings) -> None:
    collection = read_beir(write_collection(tmp_path / "pets"))
    with pytest.raises(UnknownLanguage, match="the documents of pets are in 'de', and the embeddings have only en, fr"):
        languages_of(collection, "en-de", embeddings)


# The index


def test_rows_that_are_no_document_are_counted(tmp_path: Path, embeddings: Embeddings, store: WritableStore) -> None:
    rows = [{"_id": "1", "text": "cat"}, {"_id": "1", "text": "dog"}, {"_id": "2", "title": "", "text": ""}]
    collection = read_beir(write_collection(tmp_path / "pets", rows))
    made = index_collection(collection, "en", store, embeddings)
    assert (made.n_documents, made.n_left_out, store.open(INDEX).count()) == (1, 2, 1)
    assert store.open(INDEX).fetch("1").document.language == "en"
    assert sorted(path.name for path in collection.corpus.parent.iterdir()) == [
        "corpus.jsonl",
        "qrels",
        "queries.jsonl",
    ]
