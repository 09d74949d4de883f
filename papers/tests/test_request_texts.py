"""Texts that come with a request, with BM25 of them and without (tests/support/tiny.py)."""

from __future__ import annotations

from pathlib import Path

import pytest

from papers.judged.beir import read_beir
from papers.studies.request_texts import main, rows
from papers.tests.judged_collections import write_collection
from reranker.embeddings import Embeddings
from tests.support.tiny import tiny_embeddings

# Both words of the query against words near to them: BM25 has the first before the second, transport the second.
DOCUMENTS = [
    {"_id": "both", "text": "cat dog bread bread bread"},
    {"_id": "near", "text": "dog dog"},
    {"_id": "other", "text": "water car"},
]


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    return write_collection(
        tmp_path / "two", DOCUMENTS, [{"_id": "q", "text": "cat dog"}], [("q", "both", 1), ("q", "near", 0)]
    )


def test_each_row_says_how_good_the_orders_are(embeddings: Embeddings, collection: Path) -> None:
    found = list(rows(read_beir(collection), embeddings, "en"))
    # The relevant document at rank 2 has an nDCG of 1 / log2(3). By Zipf's law the ten words of the vocabulary stand in
    # every text, so that without document frequencies BM25 says nothing.
    assert found == [
        ["two", "the collection's", "1.000", "0.631", "1.000"],
        ["two", "none", "1.000", "0.631", "0.631"],
    ]


def test_a_query_of_unknown_words_that_finds_nothing_counts_as_nothing(embeddings: Embeddings, tmp_path: Path) -> None:
    queries = [{"_id": "q", "text": "cat dog"}, {"_id": "unknown", "text": "xyzzy"}]
    judgments = [("q", "both", 1), ("unknown", "near", 1)]
    collection = read_beir(write_collection(tmp_path / "two", DOCUMENTS, queries, judgments))
    found = list(rows(collection, embeddings, "en"))
    assert [row[2] for row in found] == ["0.500", "0.500"]


def test_the_command_prints_a_table(tmp_path: Path, collection: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tiny_embeddings(tmp_path / "embeddings")
    main([str(collection), "--embeddings", str(tmp_path / "embeddings")])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("| collection | document frequencies |")
    assert [line.count("|") for line in lines] == [6] * 4
