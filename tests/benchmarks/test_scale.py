"""The smallest step of each measurement of scale."""

import json
import os
from itertools import islice, product

import pytest

from benchmarks.proxy import pool
from benchmarks.scale import ingesting, loading, ordinary, resources, searching
from benchmarks.scale.kinds import kinds, plain_name
from tests.support.tiny import write_embeddings

INDEX = "scale-test"
WORDS = {
    "en": {"water": (-0.6, 0.8), "bread": (-1.0, 0.0), "horse": (1.0, 0.0), "house": (0.0, -1.0)},
    "de": {"wasser": (-0.8, 0.6), "brot": (-0.96, -0.28), "pferd": (0.96, 0.28), "haus": (0.28, -0.96)},
}
N_DOCUMENTS = 48


@pytest.fixture(scope="module")
def measured(first_engine, tmp_path_factory):
    """A folder as `collect` leaves it, and nodes as `nodes` describes them; the process is this one."""
    folder = tmp_path_factory.mktemp("scale")
    write_embeddings(folder / "embeddings", WORDS)
    rows = [
        {"id": f"{language}-{number}", "language": language, "title": words[0], "text": " ".join(words)}
        for language, known in WORDS.items()
        for number, words in enumerate(islice(product(known, repeat=4), 0, None, 11))
    ]
    assert len(rows) == N_DOCUMENTS
    queries = [
        {"id": "q1", "language": "en", "text": "water bread"},
        {"id": "q2", "language": "de", "text": "pferd haus"},
    ]
    for name, lines in (("documents.jsonl", rows), ("queries.jsonl", queries)):
        (folder / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    nodes = [{"url": first_engine.url, "pid": os.getpid()}]
    made = ingesting.ingest(folder / "documents.jsonl", nodes, INDEX, N_DOCUMENTS, folder / "embeddings", 1)
    ordinary.index_plainly(folder / "documents.jsonl", nodes, plain_name(INDEX), N_DOCUMENTS)
    yield folder, nodes, made
    for name in (f"{INDEX}-*", "_index_template/" + INDEX):
        resources.ask(first_engine.url, f"/{name}", method="DELETE")


def test_an_ingest_is_counted_by_its_ids(measured):
    folder, nodes, made = measured
    assert made["each"] == {"documents": N_DOCUMENTS, "missing": 0, "twice": 0, "others": 0}
    with pytest.raises(SystemExit, match="'missing': 0, 'twice': 0, 'others': 8"):
        ingesting.check_ids(folder / "documents.jsonl", N_DOCUMENTS - 8, nodes[0]["url"], INDEX)


def test_each_kind_of_search_is_asked_of_both_sides(measured):
    folder, nodes, _ = measured
    embeddings, url = folder / "embeddings", nodes[0]["url"]
    queries = searching.with_vectors(searching.titles(folder), url, INDEX, embeddings, 2)
    found = searching.search(nodes, INDEX, embeddings, queries, queries)
    assert list(found["kinds"]) == list(kinds(INDEX, []))
    for row in found["kinds"].values():
        assert row["engine"]["n"] == row["ours"]["n"] == 2
        assert sum(row["outcomes"].values()) == 2
    assert found["kinds"]["ordinary, proxy, translated"]["outcomes"] == {"applied, translated": 2}
    # All vectors are compared: there are fewer than `ef`.
    assert searching.recall(nodes, INDEX, queries)["by_ef"][0]["recall"] == 1.0


def test_spans_are_distinct(measured):
    spans = [row["text"] for row in searching.spans(measured[0] / "documents.jsonl")]
    assert spans[0] == "water water water"
    assert len(spans) == len(set(spans))


def test_a_load_counts_every_answer_and_what_was_not_re_ranked(measured):
    folder, nodes, _ = measured
    rows = list(searching.titles(folder))
    queries = [searching.Asked(row, None) for row in rows * 60]
    (found,) = loading.load(nodes, INDEX, folder / "embeddings", queries, [2], 0.5, kill=False)
    not_applied = sum(row["n"] for row in found["not_re_ranked"].values())
    assert found["searches"] >= 2
    assert found["re_ranked"] == round(1 - not_applied / found["searches"], 4)
    assert sum(row["searches"] for row in found["kinds"].values()) == found["searches"]
    assert not any(outcome.startswith(("error", "4", "5")) for outcome in found["not_re_ranked"])


def test_a_refusal_is_told_with_its_reason(measured):
    http = pool(measured[1][0]["url"])
    (refused,) = loading.ask_all(f"{http.host}:{http.port}", iter([("no", loading.Request("/no-such/_search", b"{}"))]))
    assert refused.outcome.startswith("404, ")
    assert "no_such" in refused.outcome or "no such index" in refused.outcome
