"""Hubness by hand on three vectors, and the sample of queries that it is measured by."""

import numpy as np
import pytest

from reranker.base.errors import BadInput
from reranker.embeddings.hubness import Hubness, HubnessSample
from reranker.text.bags import BagOfWords, pack
from reranker.text.idf import IdfTable
from tests.support.tiny import POSITIONS


def sample_of(embeddings, words, language="en"):
    """A sample whose queries are these words."""
    bags = [embeddings.bag_of_tokens([word], language) for word in words]
    return HubnessSample.of(embeddings.version, [(language, f"{language}{n}", bag) for n, bag in enumerate(bags)])


def hubness(embeddings, sample, *words, language="en"):
    """Of documents of one word, for queries in a language."""
    queries = Hubness(sample, IdfTable(), embeddings).queries(language)
    vectors = np.array([POSITIONS["en"][word] for word in words], dtype=np.float32)
    return None if queries is None else queries.hubness(vectors)


def test_hubness_is_the_mean_cosine_to_the_nearest_ten_queries_and_never_below_zero(embeddings):
    sample = sample_of(embeddings, ["cat"] * 6 + ["dog"] * 4 + ["bread"] * 50)
    found = hubness(embeddings, sample, "cat", "water", "car")
    # cat: six times 1 and four times 0.8. water (-0.6, 0.8): bread at 0.6. car (0, -1): cat and bread at 0, dog below.
    assert found == pytest.approx([(6 * 1 + 4 * 0.8) / 10, 0.6, 0.0], abs=1e-6)
    assert hubness(embeddings, sample_of(embeddings, ["bread"] * 60), "cat") == pytest.approx([0.0])


def test_a_language_with_fewer_than_fifty_queries_has_no_hubness(embeddings):
    enough = sample_of(embeddings, ["cat"] * 50)
    assert hubness(embeddings, sample_of(embeddings, ["cat"] * 49), "cat") is None
    assert hubness(embeddings, enough, "cat") == pytest.approx([1.0])
    assert hubness(embeddings, enough, "cat", language="fr") is None
    assert hubness(embeddings, enough, "cat", language="el") is None


def test_a_sample_of_other_embeddings_counts_as_none(embeddings):
    made = sample_of(embeddings, ["cat"] * 60)
    other = HubnessSample("other", made.languages)
    assert hubness(embeddings, other, "cat") is None


def test_a_sample_of_another_format_counts_as_none(embeddings):
    sample = sample_of(embeddings, ["cat"])
    assert HubnessSample.from_json(sample.as_json() | {"format": 99}) == HubnessSample()


def test_a_sample_with_words_of_other_embeddings_is_refused(embeddings):
    # Whoever may write to the index may have written anything.
    packed = pack(BagOfWords(np.array([900_000_000]), np.array([1])))
    with pytest.raises(BadInput, match="term id 900000000 is outside the"):
        hubness(embeddings, HubnessSample(embeddings.version, {"en": {1: packed}}), "cat")
