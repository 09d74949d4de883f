"""Judged collections: their files, their languages, and the index that they are searched in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from papers.judged.beir import read_beir
from papers.judged.collection import languages_of
from papers.judged.indexing import INDEX, index_collection
from papers.tests.judged_collections import write_collection
from reranker.base.errors import NotFound, UnknownLanguage, WrongParameter
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
