"""Hubness by hand on three vectors, and the sample of queries that it is measured by."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reranker.base.errors import BadInput
from reranker.embeddings.hubness import SAMPLE_QUERIES, Hubness, HubnessSample, HubnessSampleBuilder
from reranker.text.bags import unpack
from reranker.text.documents import id_hash
from reranker.text.idf import IdfTable
from tests.support.tiny import POSITIONS, tiny_embeddings


@pytest.fixture(scope="module")
def embeddings(tmp_path_factory):
    return tiny_embeddings(tmp_path_factory.mktemp("tiny") / "embeddings")


def sample_of(embeddings, words, language="en"):
    """A sample whose queries are these words."""
    builder = HubnessSampleBuilder(embeddings.version)
    for place, word in enumerate(words):
        builder.add(language, f"{language}{place}", embeddings.bag_of_tokens([word], language))
    return builder.result()


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
    with pytest.raises(BadInput, match="sinkrank ingest refresh"):
        made.merged(other)


def test_a_document_without_a_known_first_word_is_no_query(embeddings):
    builder = HubnessSampleBuilder(embeddings.version)
    builder.add("en", "1", embeddings.bag_of_tokens(["zzz"], "en"))
    assert builder.result() == HubnessSample(embeddings.version)


def drawn(embeddings, numbers):
    bags = [embeddings.bag_of_tokens([word], "en") for word in POSITIONS["en"]]
    builder = HubnessSampleBuilder(embeddings.version)
    for number in numbers:
        builder.add("en", str(number), bags[number % 5])
    return builder.result()


@settings(max_examples=20, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(0, 1_500), st.integers(0, 1_500))
def test_samples_of_parts_make_the_sample_of_the_whole_in_any_order(embeddings, random, n, cut):
    numbers = list(range(n))
    whole = drawn(embeddings, numbers)
    random.shuffle(numbers)
    first, second = drawn(embeddings, numbers[:cut]), drawn(embeddings, numbers[cut:])
    assert first.merged(second) == second.merged(first) == whole
    assert len(whole.languages.get("en", {})) == min(n, SAMPLE_QUERIES)


def test_the_sample_holds_the_documents_of_the_smallest_hashes(embeddings):
    smallest = sorted(range(1_000), key=lambda number: id_hash(str(number)))[:400]
    found = drawn(embeddings, range(1_000)).languages["en"]
    assert set(found) == {id_hash(str(number)) for number in smallest}
    words = {hashed: int(unpack(packed).term_ids[0]) for hashed, packed in found.items()}
    assert words == {id_hash(str(number)): number % 5 for number in smallest}


def test_a_document_that_comes_again_has_its_new_words(embeddings):
    old, new = sample_of(embeddings, ["cat"]), sample_of(embeddings, ["car"])
    (packed,) = old.merged(new).languages["en"].values()
    assert unpack(packed).term_ids.tolist() == [4]


def test_a_sample_survives_json_and_one_of_another_format_counts_as_none(embeddings):
    sample = sample_of(embeddings, ["cat", "dog"]).merged(sample_of(embeddings, ["chat"], "fr"))
    assert HubnessSample.from_json(sample.as_json()) == sample
    assert HubnessSample.from_json(sample.as_json() | {"format": 99}) == HubnessSample()
