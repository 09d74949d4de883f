"""What is cached of bags gives the same ranking."""

import numpy as np
import pytest

from reranker.embeddings.hubness import HubnessSample
from reranker.ranking.reranker import Reranker
from reranker.text.idf import DocumentFrequencies, IdfTable

TEXTS = ["bread water", "cat dog", "cat", "dog dog water", "car", "zzz", "bread cat car"]


def reranker_of(embeddings, texts=TEXTS, sampled=("cat", "dog", "bread")):
    bags = [embeddings.bag_of_tokens([sampled[place % len(sampled)]], "en") for place in range(60)]
    sample = HubnessSample.of(embeddings.version, [("en", str(place), bag) for place, bag in enumerate(bags)])
    counted = DocumentFrequencies.count(embeddings.bag(text, "en") for text in texts)
    return Reranker(embeddings, IdfTable({"en": counted}), hubness=sample)


def bags_of(embeddings, texts=TEXTS):
    return [(embeddings.bag(text, "en"), "en") for text in texts]


def ranked(reranker, bags):
    found = reranker.rerank_bags(
        reranker.query("cat water", "en"), bags, first_stage_scores=np.linspace(3, 1, len(bags))
    )
    return [(each.index, each.score, each.distance, each.correction, each.parts) for each in found.documents]


def values(rows):
    return [(index, score, distance, correction, dict(parts)) for index, score, distance, correction, parts in rows]


def test_bags_that_come_again_are_ranked_as_before(embeddings):
    reranker, bags = reranker_of(embeddings), bags_of(embeddings)
    first = values(ranked(reranker, bags))
    assert values(ranked(reranker, bags)) == first == values(ranked(reranker, bags_of(embeddings)))


@pytest.mark.parametrize("n_cached", [4, 3])
def test_new_bags_beside_others_are_ranked_as_among_new_ones(embeddings, n_cached):
    reranker, bags = reranker_of(embeddings), bags_of(embeddings)
    ranked(reranker, bags[:n_cached])
    found = values(ranked(reranker, bags))
    assert found == values(ranked(reranker, bags_of(embeddings)))


def test_a_bag_of_another_language_is_weighed_anew(embeddings):
    reranker, bags = reranker_of(embeddings), bags_of(embeddings)
    ranked(reranker, bags)
    french = [(bag, "fr") for bag, _ in bags[:2]]
    found = values(ranked(reranker, [*french, *bags[2:]]))
    assert found == values(
        ranked(reranker, [*((bag, "fr") for bag, _ in bags_of(embeddings)[:2]), *bags_of(embeddings)[2:]])
    )


def test_each_re_ranker_has_a_cache_of_its_own(embeddings):
    one, other = reranker_of(embeddings), reranker_of(embeddings, TEXTS[:3], sampled=("car", "water"))
    bags = bags_of(embeddings)
    expected = [values(ranked(each, bags_of(embeddings))) for each in (one, other)]
    assert expected[0] != expected[1]
    for _ in range(2):
        assert [values(ranked(each, bags)) for each in (one, other)] == expected
