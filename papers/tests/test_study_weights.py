"""Weights by powers of idf and norm, and the norms that embeddings had before training brought them to length 1."""

import numpy as np
import pytest
from scipy.linalg import sqrtm

from evaluation.corpora.pages import Corpus, Page, Paragraph
from evaluation.trained import train_on
from papers.studies.study_weights import Weights, spectral_norms
from reranker.text.bags import BagOfWords
from reranker.text.idf import DocumentFrequencies

# Terms 0 and 2 stand in one and in three of three documents: idf log(4 / 2) and 0.
FREQUENCIES = DocumentFrequencies(3, np.array([0, 2], np.int32), np.array([1, 3], np.int32))
NORMS = np.array([0.25, 9.0, 4.0])


def bag(*term_ids):
    ids, counts = np.unique(term_ids, return_counts=True)
    return BagOfWords(ids.astype(np.int32), counts.astype(np.int32))


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        (Weights(), {0: 1.0}),  # term 2 has no idf
        (Weights(idf=0, norm=1), {0: 0.5 / 4.5, 2: 4 / 4.5}),
        (Weights(idf=0, norm=0.5), {0: 1 / 3, 2: 2 / 3}),
        (Weights(norm=1), {0: 1.0}),
        (Weights(idf=0), {0: 2 / 3, 2: 1 / 3}),
    ],
)
def test_a_term_that_came_twice_and_one_that_came_once_are_weighed(weights, expected):
    weighed = weights.weigh(bag(0, 0, 2), FREQUENCIES, NORMS)
    assert dict(zip(weighed.term_ids.tolist(), weighed.weights.tolist(), strict=True)) == pytest.approx(expected)


def test_both_powers_are_multiplied():
    # Term 1 is in no document: idf log(4 / 1), twice that of term 0.
    weighed = Weights(idf=2, norm=0.5).weigh(bag(0, 0, 1), FREQUENCIES, NORMS)
    assert weighed.weights.tolist() == pytest.approx([2 * 0.5 / (2 * 0.5 + 4 * 3), 4 * 3 / (2 * 0.5 + 4 * 3)])


def test_where_no_term_has_a_weight_it_is_tf_alone():
    assert Weights().weigh(bag(2, 2), FREQUENCIES, NORMS).weights.tolist() == [1.0]


UNITS = {
    "un": ("red green blue", "rouge vert bleu"),
    "deux": ("red house", "rouge maison"),
    "trois": ("green house lake", "vert maison lac"),
    "quatre": ("blue lake", "bleu lac"),
}


def test_norms_are_those_of_the_rows_of_us_before_they_are_brought_to_length_1(tmp_path):
    pages = tuple(
        Page(name, code, "", (Paragraph("p", text),))
        for name, texts in UNITS.items()
        for code, text in zip(("en", "fr"), texts, strict=True)
    )
    corpus = Corpus("tiny", ("en", "fr"), pages, ())
    embeddings = train_on(corpus, tmp_path / "embeddings")

    norms = spectral_norms(corpus, embeddings)

    # A row of U S^0.5 has the square of its length on the diagonal of U S U' = (A A')^0.5; A by its definition.
    terms = [(code, term) for n, code in enumerate(("en", "fr")) for term in _terms(n)]
    rows = [[term in texts[code == "fr"].split() for texts in UNITS.values()] for code, term in terms]
    present = np.array(rows, dtype=float)
    information = np.zeros_like(present)
    for block in (slice(0, 5), slice(5, 10)):
        part = present[block]
        expected = part.sum(axis=1, keepdims=True) * part.sum(axis=0, keepdims=True) / part.sum()
        information[block] = np.maximum(0, np.log(np.where(part > 0, part / expected, 1)))
    lengths = np.sqrt(np.diag(sqrtm(information @ information.T)).real)
    ids = [embeddings.term_id(code, term) for code, term in terms]
    np.testing.assert_allclose(norms[ids], lengths, rtol=1e-3)
    assert lengths.min() < 0.9 * lengths.max()  # and they tell the terms apart


def _terms(language):
    return sorted({term for texts in UNITS.values() for term in texts[language].split()})
