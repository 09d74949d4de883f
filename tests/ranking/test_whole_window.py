"""A window ranked by one thread and by two: the same order, scores and explanations, bit for bit."""

import numpy as np
import pytest

from reranker.ranking.reranker import Reranker
from reranker.text.idf import DocumentFrequencies, IdfTable
from tests.support.tiny import tiny_embeddings

WORDS = ["cat", "dog", "car", "bread", "water", "zzz"]
NAN = float("nan")


@pytest.fixture(scope="module")
def embeddings(tmp_path_factory):
    return tiny_embeddings(tmp_path_factory.mktemp("window") / "embeddings")


def ranked(embeddings, n, n_threads=1, query="cat water dog bread zzz", **given):
    rng = np.random.default_rng(n)
    texts = [" ".join(rng.choice(WORDS, rng.integers(1, 6))) for _ in range(n)]
    bags = [(embeddings.bag("" if place == 3 else text, "en"), "en") for place, text in enumerate(texts)]
    reranker = Reranker(embeddings, IdfTable({"en": DocumentFrequencies.count(bag for bag, _ in bags)}), n_threads)
    scores = given.pop("scores", rng.random(n) * 10)
    found = reranker.rerank_bags(reranker.query(query, "en"), bags, first_stage_scores=scores, **given)
    rows = [(each.index, each.score, each.distance, each.correction, dict(each.parts)) for each in found.documents]
    return rows, (found.has_feedback, found.n_candidates, found.n_without_known_word)


@pytest.mark.parametrize(
    ("n", "given"),
    [
        (0, {}),
        (1, {}),
        (30, {}),
        (30, {"scores": np.array([NAN, *range(28), NAN])}),
        (30, {"exact": np.arange(30) == 7}),
        (60, {"translated": np.arange(60) % 2 == 1}),
        (60, {"first_stage_share": 0.0}),
        (30, {"feedback": False}),
        (30, {"query": "cat water"}),
        (150, {"query": "cat water"}),
    ],
    ids=["none", "one", "30", "NaN", "exact", "translated", "share", "no feedback", "short", "150"],
)
def test_a_window_is_ranked_alike_by_one_thread_and_by_two(embeddings, n, given):
    rows, counts = ranked(embeddings, n, **given)
    assert (rows, counts) == ranked(embeddings, n, n_threads=2, **given)
    assert len(rows) == n
    assert [row[1] for row in rows] == sorted((row[1] for row in rows), reverse=True)
