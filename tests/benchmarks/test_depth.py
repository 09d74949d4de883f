"""The benchmark of depth, on a collection whose recall is counted by hand."""

import json
from contextlib import closing

import pytest

from benchmarks.depth import Work, measure, spread, table
from papers.judged.beir import read_beir
from reranker.search.searcher import Searcher
from reranker.stores import open_store
from tests.support.tiny import tiny_embeddings

TEXTS = {"1": "cat", "2": "dog", "3": "water", "4": "bread"}


@pytest.fixture
def work(tmp_path):
    folder = tmp_path / "pets"
    (folder / "qrels").mkdir(parents=True)
    documents = [json.dumps({"_id": doc_id, "text": text}) for doc_id, text in TEXTS.items()]
    (folder / "corpus.jsonl").write_text("\n".join(documents))
    (folder / "queries.jsonl").write_text(json.dumps({"_id": "q", "text": "cat"}))
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq\t1\t1\nq\t4\t1\n")
    return Work(read_beir(folder), "en", "en")


def test_recall_grows_with_the_depth_until_all_relevant_documents_are_found(work, tmp_path):
    """Bread lies opposite cat, so it is found last of the four."""
    embeddings = tiny_embeddings(tmp_path / "embeddings")
    with closing(open_store(str(tmp_path / "store"))) as store:
        found = measure(Searcher(store, embeddings), work, (1, 4), n_queries=10, rounds=2)
        assert store.indices() == []
    assert (found["documents"], found["queries"], found["rounds"]) == (4, 1, 2)
    first, last = found["depths"]
    assert [(row["depth"], row["first_stage"], row["recall"], row["MRR"]) for row in (first, last)] == [
        (1, "hybrid", 0.5, 1.0),
        (4, "hybrid", 1.0, 1.0),
    ]
    assert all(row["total_ms"]["median"] > 0 for row in (first, last))
    assert len(table(found["depths"]).splitlines()) == 3


def test_times_are_told_by_median_and_quartiles():
    assert spread([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]) == {"median": 4.0, "lower": 2.0, "upper": 6.0}
