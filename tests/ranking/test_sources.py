"""What the parts of a score came from, worked out by hand and by NumPy from the vectors alone.

By support/query_encoder.py the query `cat` is encoded as (0.8, 0.6) less (0.6, 0), of length 1: (0.2, 0.6) / sqrt(0.4).
"""

import pickle
import string
from concurrent.futures import Future
from dataclasses import asdict, replace
from math import sqrt

import numpy as np
import pytest

from reranker.ranking.sources import N_DOCUMENTS, N_ENCODER_WORDS, N_GAINED_WORDS
from reranker.text.bags import BagOfWords
from sinkrank import Reranker
from tests.support.query_encoder import encoding_embeddings
from tests.support.tiny import POSITIONS, tiny_embeddings, write_embeddings

ABOVE_FLOOR = 0.98
# Of the encoder, where one of three hits holds the query: the first stage has more than 0.33.
ENCODER_SHARE = 0.45 * (1 - 0.33 - 0.33**2 * (0.65 - 0.33)) / (1 - 0.33)
ENCODED = np.array([0.2, 0.6]) / sqrt(0.4)
EN = {word: np.array(place) for word, place in POSITIONS["en"].items()}


@pytest.fixture(scope="module")
def encoding(tmp_path_factory):
    pytest.importorskip("onnxruntime", reason="needs pip install 'sinkrank[prepare]'")
    return Reranker(encoding_embeddings(tmp_path_factory.mktemp("encoding") / "embeddings"))


def ranked(reranker, texts, query="cat", language="en", **options):
    """The documents by their text, with what their parts came from; all have the same score of the first stage."""
    candidates = reranker.read_documents(texts, language)
    scores = options.pop("scores", np.ones(len(texts)))
    found = reranker.rerank_bags(reranker.query(query, language), candidates, first_stage_scores=scores, **options)
    documents = sorted(found.documents, key=lambda document: document.index)
    return [(document, document.sources(reranker.embeddings)) for document in documents]


def total(encoder):
    words = sum(word.part for word in encoder.words)
    return words + encoder.other_words + encoder.window_offset + encoder.exact_match


def cosine(**counts):
    mean = sum(count * EN[word] for word, count in counts.items())
    return float(mean @ ENCODED / np.linalg.norm(mean))


def test_the_part_of_the_encoder_is_the_sum_of_its_words_and_of_what_the_window_takes_off(encoding):
    """Two words of weight 1/2 each: the mean of cat (1, 0) and water (-0.6, 0.8) is (0.2, 0.4), of length sqrt(0.2)."""
    texts = ["cat water", "dog", "car"]
    document, sources = ranked(encoding, texts)[0]
    cosines = [cosine(cat=1, water=1), cosine(dog=1), cosine(car=1)]
    slope = ABOVE_FLOOR * ENCODER_SHARE / (max(cosines) - min(cosines))
    expected = {word: slope * (EN[word] / 2 @ ENCODED) / sqrt(0.2) for word in ("cat", "water")}
    encoder = sources.encoder
    assert {word.word: word.part for word in encoder.words} == pytest.approx(expected, abs=1e-6)
    assert [word.word for word in encoder.words] == ["water", "cat"]  # the largest part first
    assert {word.language for word in encoder.words} == {"en"}
    assert encoder.cosine == pytest.approx(cosines[0])
    assert encoder.window_offset == pytest.approx(-slope * min(cosines), abs=1e-6)
    assert (encoder.other_words, encoder.exact_match) == pytest.approx((0, 0), abs=1e-9)
    assert total(encoder) == pytest.approx(document.parts.encoder, abs=1e-6)


def test_words_that_take_something_off_are_among_the_others(encoding):
    """The car at (0, -1) is far from the query: its product is below 0."""
    document, sources = ranked(encoding, ["dog car", "dog", "water"])[0]
    assert [word.word for word in sources.encoder.words] == ["dog"]
    assert sources.encoder.other_words < 0
    assert total(sources.encoder) == pytest.approx(document.parts.encoder, abs=1e-6)


def test_a_field_that_is_the_query_gets_the_full_part_by_the_exact_match(encoding):
    texts = ["cat", "dog", "water"]  # the cat is the least like
    document, sources = ranked(encoding, texts, exact=np.array([True, False, False]))[0]
    assert document.parts.encoder == pytest.approx(ABOVE_FLOOR * ENCODER_SHARE)
    assert sources.encoder.exact_match == pytest.approx(ABOVE_FLOOR * ENCODER_SHARE, abs=1e-6)
    assert total(sources.encoder) == pytest.approx(document.parts.encoder, abs=1e-6)


def test_equal_candidates_have_the_full_part_each(encoding):
    for document, sources in ranked(encoding, ["dog", "dog"]):
        assert document.parts.encoder == pytest.approx(ABOVE_FLOOR * 0.45)
        assert total(sources.encoder) == pytest.approx(ABOVE_FLOOR * 0.45, abs=1e-6)


def test_a_document_without_a_known_word_and_a_query_that_is_not_encoded_have_no_such_words(encoding):
    assert ranked(encoding, ["cat", "zzz"])[1][1].encoder is None
    found = ranked(encoding, ["cat", "dog"], "chat", "fr")
    assert [(sources.encoder, sources.feedback, sources.neighbours) for _, sources in found] == [(None,) * 3] * 2


def test_an_order_by_distance_alone_has_no_sources(encoding):
    assert ranked(encoding, ["cat", "dog"], method="nbow")[0][1] is None


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """400 words in 24 dimensions."""
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(400, 24))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    words = {f"w{letters(n)}": row for n, row in enumerate(rows)}
    return Reranker(write_embeddings(tmp_path_factory.mktemp("many") / "embeddings", {"en": words}))


def letters(n):
    return "".join(chr(ord("a") + digit) for digit in (n // 676, n // 26 % 26, n % 26))


def many_ranked(reranker, n_documents=40, translated=None):
    """Bags of 30 random words each, ranked for a query of six words; and the query's vector and all weighted bags."""
    rng = np.random.default_rng(9)
    vector = rng.normal(size=24)
    vector = (vector / np.linalg.norm(vector)).astype(np.float32)
    bags = [
        BagOfWords(
            np.sort(rng.choice(400, 30, replace=False)).astype(np.int32), rng.integers(1, 5, 30).astype(np.int32)
        )
        for _ in range(n_documents)
    ]
    encoded = Future()
    encoded.set_result(vector)
    query = reranker.query(" ".join(f"w{letters(n)}" for n in (3, 50, 120, 200, 310, 399)), "en")
    found = reranker.rerank_bags(
        replace(query, encoding=lambda: encoded),
        [(bag, "en") for bag in bags],
        first_stage_scores=rng.random(n_documents),
        translated=translated,
    )
    return query, vector, [reranker.idf.weigh(bag, "en") for bag in bags], found


@pytest.mark.parametrize("translated", [None, np.arange(40) < 3], ids=["one language", "some translated"])
def test_of_many_words_the_largest_are_named_and_all_sum_to_the_part(many, translated):
    _, vector, weighted, found = many_ranked(many, translated=translated)
    means = np.array([bag.weights @ many.embeddings.vectors[bag.term_ids] for bag in weighted], dtype=np.float64)
    cosines = means @ vector / np.linalg.norm(means, axis=1)
    for document in found.documents:
        encoder = document.sources(many.embeddings).encoder
        bag = weighted[document.index]
        each = bag.weights * (many.embeddings.vectors[bag.term_ids].astype(float) @ vector)
        each /= np.linalg.norm(means[document.index])
        assert encoder.cosine == pytest.approx(cosines[document.index], abs=1e-6)
        slope = (document.parts.encoder / (cosines[document.index] - cosines.min())) if document.parts.encoder else 0
        names = [many.embeddings.term(int(term))[1] for term in bag.term_ids[np.argsort(-each)[:N_ENCODER_WORDS]]]
        assert [word.word for word in encoder.words] == names
        if slope:
            largest = np.sort(each)[::-1][:N_ENCODER_WORDS]
            assert [word.part for word in encoder.words] == pytest.approx(list(slope * largest), rel=1e-4)
            assert encoder.window_offset == pytest.approx(-slope * cosines.min(), rel=1e-4, abs=1e-6)
        assert total(encoder) == pytest.approx(document.parts.encoder, abs=1e-9)


def raised_shares(parts, before):
    """The share of first stage and coverage, which coverage has raised from 0.25 · 0.75 = 0.1875, and to what it raises
    another share. The first stage's best hit has 0.7 of it."""
    share = max(part.first_stage for part in parts) / 0.98 / 0.7
    return share, before + (share - 0.1875) / (0.65 - 0.1875) * (0.65 - before)


def test_feedback_names_the_words_that_the_query_gained_and_their_documents(many):
    """By the formula of `feedback`: candidates count by the eighth power of the score of the first order."""
    query, _, weighted, found = many_ranked(many)
    feedback = found.documents[0].sources(many.embeddings).feedback
    by_index = sorted(found.documents, key=lambda document: document.index)
    # The first order: first stage, coverage and transport by the shares without feedback, neighbours and encoder.
    parts = [document.parts for document in by_index]
    share, before = raised_shares(parts, 0.6)
    first = np.array([p.first_stage + p.coverage for p in parts]) * before / share
    near = np.array([p.words + p.lacking_words + p.hubness for p in parts])
    scores = 0.02 + first + near * (0.4 * (1 - before) / 0.4) / (0.15 * (1 - share) / 0.8125)
    best = np.argsort(-scores)[:20]
    counts = (scores[best] / scores.max()) ** 8
    summed = np.zeros(400)
    for place, count in zip(best, counts, strict=True):
        summed[weighted[place].term_ids] += count * weighted[place].weights
    taken = np.argsort(-summed)[:60]
    moved = 0.5 * summed / summed[taken].sum()
    gained = [term for term in taken if term not in query.weighted.term_ids]
    names = [many.embeddings.term(int(term))[1] for term in gained[:N_GAINED_WORDS]]
    assert [word.word for word in feedback.words] == names
    assert [word.weight for word in feedback.words] == pytest.approx(list(moved[gained[:N_GAINED_WORDS]]))
    shares = {
        str(place): count * weighted[place].weights[np.isin(weighted[place].term_ids, gained)].sum()
        for place, count in zip(best.tolist(), counts, strict=True)
    }
    largest = sorted(shares, key=lambda place: -shares[place])[:N_DOCUMENTS]
    assert [document.id for document in feedback.documents] == largest
    assert [document.share for document in feedback.documents] == pytest.approx(
        [shares[place] / sum(shares.values()) for place in largest]
    )


def test_neighbours_name_the_documents_that_the_hit_resembles(many):
    """Their share is likeness⁴ · score, of all five."""
    _, _, weighted, found = many_ranked(many)
    by_index = sorted(found.documents, key=lambda document: document.index)
    parts = [document.parts for document in by_index]
    # Without neighbours the encoder's share stays, and the others share what they leave.
    share, raised = raised_shares(parts, 0.25)
    lexical = np.array([p.first_stage + p.coverage for p in parts])
    encoder = np.array([p.encoder for p in parts])
    others = np.array([sum(p.values()) - p.neighbours - p.encoder - p.window for p in parts]) - lexical
    before = (
        0.02 + lexical * raised / share + (others / 0.75 + encoder) * ((1 - raised) / 0.75) / ((1 - share) / 0.8125)
    )
    dense = np.zeros((40, 400))
    for row, bag in zip(dense, weighted, strict=True):
        row[bag.term_ids] = np.sqrt(bag.weights)
    likeness = dense @ dense.T
    np.fill_diagonal(likeness, 0)
    for document in found.documents[:5]:
        nearest = np.argsort(-likeness[document.index])[:5]
        counted = likeness[document.index][nearest] ** 4 * before[nearest]
        largest = np.argsort(-counted)[:N_DOCUMENTS]
        neighbours = document.sources(many.embeddings).neighbours.documents
        assert [each.id for each in neighbours] == [str(place) for place in nearest[largest]]
        assert [each.share for each in neighbours] == pytest.approx(list(counted[largest] / counted.sum()), rel=1e-5)


def test_documents_are_named_as_the_caller_names_them(tmp_path):
    reranker = Reranker(tiny_embeddings(tmp_path / "embeddings"))
    texts = ["cat dog", "cat dog", *["water bread car"] * 20]
    candidates = reranker.read_documents(texts, "en")
    scores = np.linspace(1, 0.1, len(texts))
    found = reranker.rerank_bags(
        reranker.query("cat dog water bread", "en"),
        candidates,
        "auto",
        first_stage_scores=scores,
    )
    first = next(document for document in found.documents if document.index == 0)
    (neighbour,) = first.sources(reranker.embeddings, lambda index: f"page {index}").neighbours.documents
    assert (neighbour.id, neighbour.share) == ("page 1", 1.0)


@pytest.mark.parametrize(("texts", "language"), [(["cat water", "dog", "car"], "en"), (["chat eau", "chien"], "fr")])
@pytest.mark.parametrize("method", ["auto", "sinkhorn"])
def test_a_pickled_ranking_says_the_same_of_each_document(encoding, texts, language, method):
    """Texts in French have no lexical evidence for the English query: they are ordered by distance."""
    found = encoding.rerank("cat dog", texts, language="en", document_languages=language, method=method)
    again = pickle.loads(pickle.dumps(found))
    assert again == found
    for copy, document in zip(again.documents, found.documents, strict=True):
        assert (copy.parts, copy.correction, copy.relevance) == (
            document.parts,
            document.correction,
            document.relevance,
        )
        assert copy.sources(encoding.embeddings) == document.sources(encoding.embeddings)


def test_neither_a_pickled_ranking_nor_a_document_as_a_dictionary_copies_the_embeddings(tmp_path):
    random = np.random.default_rng(7)
    words = ["cat", "dog", *(f"{first}{second}o" for first in string.ascii_lowercase for second in "bcdfghklmnpr")]
    places = {word: random.normal(size=64) for word in words}
    reranker = Reranker(write_embeddings(tmp_path / "embeddings", {"en": places}))
    candidates = reranker.read_documents(["cat dog", "dog"], "en")
    found = reranker.rerank_bags(reranker.query("cat", "en"), candidates, first_stage_scores=np.ones(2))
    assert len(pickle.dumps(found)) < reranker.embeddings.vectors.nbytes / 4
    assert asdict(found.documents[0])["reasons"] is found.documents[0].reasons
