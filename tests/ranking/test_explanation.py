"""Explanations with the hand-placed vocabulary (tests/support/tiny.py)."""

from math import cos, pi, sin, sqrt

import numpy as np
import pytest

from reranker.base.errors import BadInput
from reranker.embeddings import EmbeddingsWriter
from reranker.ranking.explanation import explain
from reranker.text.bags import WeightedBag
from sinkrank import Parameters, Reranker
from tests.support.tiny import TRANSLATION_COST


@pytest.fixture(scope="module")
def reranker(embeddings):
    return Reranker(embeddings)


def explained(reranker, query, document, **options):
    embeddings = reranker.embeddings
    return explain(
        reranker.query(query, "fr").weighted,
        reranker.idf.weigh(embeddings.bag(document, "en"), "en"),
        embeddings,
        **options,
    )


def test_exact_transport_moves_each_word_to_its_translation(reranker):
    found = explained(reranker, "chat pain", "bread cat", method="emd")
    pairs = {(pair.query_word, pair.document_word): pair for word in found.words for pair in word.pairs}
    assert set(pairs) == {("chat", "cat"), ("pain", "bread")}
    assert pairs["chat", "cat"].mass == pytest.approx(0.5)
    assert pairs["chat", "cat"].cost == pytest.approx(TRANSLATION_COST, abs=1e-5)
    assert pairs["chat", "cat"].share == pytest.approx(0.5, abs=1e-5)


@pytest.mark.parametrize("method", ["nbow", "rwmd", "emd", "sinkhorn", "relaxed", "auto"])
def test_the_parts_sum_to_the_distance_that_ranks(reranker, method):
    text = "cat dog water bread car"
    found = explained(reranker, "chat pain eau", text, method=method)
    ranked = reranker.rerank("chat pain eau", [text], language="fr", document_languages="en", method=method).documents[
        0
    ]
    assert sum(word.distance for word in found.words) == pytest.approx(found.distance, abs=1e-9)
    assert sum(word.share for word in found.words) == pytest.approx(1.0)
    for word in found.words:
        parts = sum(pair.mass * pair.cost for pair in word.pairs) + word.rest_distance
        assert parts == pytest.approx(word.distance, abs=1e-9)
        assert sum(pair.mass for pair in word.pairs) + word.rest_mass == pytest.approx(word.mass, abs=1e-9)
    assert found.distance == pytest.approx(ranked.distance, rel=1e-4)


def test_the_telling_pair_is_the_translation(reranker):
    found = explained(reranker, "chat eau", "cat bread car", method="relaxed")
    assert (found.telling_pairs[0].query_word, found.telling_pairs[0].document_word) == ("chat", "cat")
    assert found.telling_pairs[0].saving > 0


def test_the_telling_pairs_are_found_among_all_words_of_the_document(tmp_path):
    """`wing` and `airfoil`, 30 degrees from it, get the least mass; all others are at right angles to `wing`."""
    others = ["slipstream", "increment", "lift", "evaluation", "theory", "propeller"]
    with EmbeddingsWriter(tmp_path / "embeddings", dim=2, source="test") as writer:
        writer.append(
            "en", ["wing", "airfoil", *others], np.array([[1.0, 0.0], [cos(pi / 6), sin(pi / 6)], *[[0.0, 1.0]] * 6])
        )
        writer.commit()
    embeddings = Reranker.open(tmp_path / "embeddings").embeddings
    query, document = (embeddings.bag(" ".join(words), "en") for words in (["wing"], ["wing", "airfoil", *others]))
    weights = [0.05 if embeddings.term(int(term))[1] in ("wing", "airfoil") else 0.15 for term in document.term_ids]
    weighted = WeightedBag(document.term_ids, np.array(weights))
    found = explain(WeightedBag(query.term_ids, np.array([1.0])), weighted, embeddings, "rwmd")
    to_airfoil = 2 * sin(pi / 12)
    typical = 6 * 0.15 * sqrt(2) + 0.05 * to_airfoil
    assert [(pair.document_word, pair.saving) for pair in found.telling_pairs] == [
        ("wing", pytest.approx(0.05 * typical, abs=1e-6)),
        ("airfoil", pytest.approx(0.05 * (typical - to_airfoil), abs=1e-6)),
    ]
    named = [pair.document_word for pair in found.words[0].pairs]
    assert (len(named), named[-1], "airfoil" in named) == (5, "wing", False)
    by_means = explain(WeightedBag(query.term_ids, np.array([1.0])), weighted, embeddings, "nbow")
    assert [pair.document_word for pair in by_means.telling_pairs] == ["wing", "airfoil"]


def test_a_document_without_a_known_word_cannot_be_explained(reranker):
    nothing = WeightedBag(np.array([], np.int32), np.array([]))
    with pytest.raises(BadInput, match="no word"):
        explain(reranker.query("chat", "fr").weighted, nothing, reranker.embeddings, "sinkhorn", Parameters())


def test_greek_words_are_shown_as_they_are_written(tmp_path):
    with EmbeddingsWriter(tmp_path / "embeddings", dim=2, source="test") as writer:
        writer.append("el", ["λόγοσ"], np.array([[1.0, 0.0]]))
        writer.append("en", ["word"], np.array([[0.6, 0.8]]))
        writer.commit()
    reranker = Reranker.open(tmp_path / "embeddings")
    found = explain(
        reranker.query("Λόγος", "el").weighted,
        reranker.query("λόγος", "el").weighted,
        reranker.embeddings,
        "emd",
    )
    assert (found.words[0].word, found.words[0].pairs[0].document_word) == ("λόγος", "λόγος")
