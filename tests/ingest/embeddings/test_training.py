"""Aligned texts into cross-lingual embeddings: the arithmetic by hand, and a language of a few words."""

from dataclasses import replace
from math import log

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import TruncatedSVD

from ingest.embeddings.sparse_rows import SparseRows
from ingest.embeddings.spectral import truncated_svd
from ingest.embeddings.spelling import smooth, spelling_matrix
from ingest.embeddings.training import train
from ingest.embeddings.unit_counts import count_units
from ingest.embeddings.units import Unit
from reranker.base.errors import BadInput
from reranker.embeddings import Embeddings
from tests.ingest.embeddings.test_dictionaries import WORDS, texts


def unit(group, language, text, document=None):
    return Unit(str(group), language, text, str(group) if document is None else document)


def sparse_rows(dense):
    found = sparse.csr_matrix(np.asarray(dense, dtype=np.float32))
    return SparseRows(found.data, found.indices, found.indptr.astype(np.int64), found.shape[1])


@pytest.mark.parametrize("shape", [(60, 40), (12, 9)], ids=["randomised", "exact"])
def test_the_svd_finds_a_matrix_of_low_rank_again(shape):
    rng = np.random.default_rng(3)
    left, _ = np.linalg.qr(rng.standard_normal((shape[0], 3)))
    right, _ = np.linalg.qr(rng.standard_normal((shape[1], 3)))
    matrix = sparse_rows((left * [5, 3, 2]) @ right.T)
    found, values = truncated_svd(matrix, 8, seed=1)
    assert values == pytest.approx([5, 3, 2], rel=1e-4)  # the rank is 3, though 8 were asked for
    assert np.abs(np.sum(found * left, axis=0)) == pytest.approx([1, 1, 1], abs=1e-4)


def test_smoothing_moves_the_rare_term_most_and_leaves_the_term_without_kin():
    vectors = np.array([[1, 0], [0, 1], [-1, 0]], dtype=np.float32)
    terms = ["kirjasto", "kirjastossa", "vene"]
    spelling = spelling_matrix(terms).dense()
    moved = smooth(vectors, terms, np.array([1000, 1, 1]))
    assert moved[2].tolist() == [-1, 0]
    assert moved[0] == pytest.approx([1, 0], abs=0.02)  # a thousand units speak for themselves
    # One unit does not: 2 · 20 / (20 + 1) times the likeness times 1000 / (1000 + 5) of the other's vector is added.
    likeness = float((spelling @ spelling.T)[0, 1])
    assert moved[1, 0] / moved[1, 1] == pytest.approx(2 * 20 / 21 * likeness * 1000 / 1005)
    assert np.linalg.norm(moved, axis=1) == pytest.approx([1, 1, 1])


def test_smoothing_gives_a_vector_to_a_term_of_which_nothing_else_is_known():
    moved = smooth(
        np.array([[1, 0], [0, 0], [0, 0]], np.float32), ["kirjasto", "kirjastossa", "vene"], np.array([9, 0, 0])
    )
    assert moved.tolist() == [[1, 0], [1, 0], [0, 0]]


def test_a_word_lies_nearest_to_its_translation(tmp_path):
    summary = train(texts(), tmp_path / "store", dim=6)
    store = Embeddings.open(tmp_path / "store")
    for english, french in WORDS.items():
        assert store.nearest(english, "en", "fr", 1)[0][:2] == ("fr", french)
        assert store.nearest(french, "fr", "en", 1)[0][:2] == ("en", english)
    assert (summary.languages, summary.warnings) == ({"en": 6, "fr": 6}, ())
    assert (summary.version, summary.dim) == (store.version, store.dim)


def test_rows_are_in_order_of_frequency_and_then_of_the_alphabet(tmp_path):
    units = [
        unit(1, "en", "dog cat cat zebra"),
        unit(1, "fr", "chien chat"),
        unit(2, "en", "cat bread"),
        unit(2, "fr", "pain"),
    ]
    train(units, tmp_path / "store", dim=2)
    store = Embeddings.open(tmp_path / "store")
    assert [term for _, term in store.vocabulary.terms("en")] == ["cat", "bread", "dog", "zebra"]


def test_document_frequencies_are_counted_over_documents_where_they_are_named(tmp_path):
    units = [
        unit("a1", "en", "cat dog", document="a"),
        unit("a1", "fr", "chat chien", document="a"),
        unit("a2", "en", "cat bread", document="a"),
        unit("a2", "fr", "pain", document="a"),
        unit("b1", "en", "cat water", document="b"),
        unit("b1", "fr", "eau chat", document="b"),
    ]
    counts = count_units(units).languages
    english = dict(zip(counts["en"].terms, counts["en"].document_frequencies.tolist(), strict=True))
    assert english == {"cat": 2, "dog": 1, "bread": 1, "water": 1}
    assert counts["en"].n_documents == 2
    without = count_units([replace(each, document=each.group) for each in units]).languages["en"]
    assert (without.n_documents, without.document_frequencies[0]) == (3, 3)
    train(units, tmp_path / "store", dim=3)
    store = Embeddings.open(tmp_path / "store")
    french = store.idf.languages["fr"]
    # chat stands in both documents: log(3 / 3) = 0; eau in one: log(3 / 2)
    ids = np.array([store.term_id("fr", "chat"), store.term_id("fr", "eau")], np.int32)
    assert french.idf(ids) == pytest.approx([0, log(3 / 2)])


def test_unaligned_units_and_rare_terms_beyond_the_limit_are_skipped_and_counted(tmp_path, monkeypatch):
    n_terms = len({word for each in texts() for word in each.text.split() if each.language == "en"})
    monkeypatch.setattr("ingest.embeddings.unit_counts.MAX_TERMS", n_terms + 1)
    more = [unit("lonely", "en", "cat unicorn unicorn"), unit("cat-dog", "en", "hapax")]
    summary = train([*texts(), *more], tmp_path / "store", dim=6)
    store = Embeddings.open(tmp_path / "store")
    assert (store.term_id("en", "hapax"), store.term_id("en", "unicorn")) == (None, None)
    assert summary.skipped == {
        "rare terms beyond the limit": 1,
        "terms in none of the texts for training, or in nearly all": 1,
        "texts of groups in one language only": 1,
    }


def test_too_little_text_for_the_dimensions_is_warned_of(tmp_path):
    summary = train(texts(), tmp_path / "store")
    assert summary.dim < 300
    assert "dimensions instead of 300, since 15 texts allow no more" in summary.warnings[0]


def test_a_language_that_nothing_ties_to_the_others_is_warned_of(tmp_path):
    summary = train([*texts(), unit("alone", "de", "Katze")], tmp_path / "store", dim=6)
    assert "no text in language 'de' has a translation" in summary.warnings[0]
    assert Embeddings.open(tmp_path / "store").languages == ("en", "fr")


def test_the_same_texts_and_seed_give_the_same_store(tmp_path):
    rng = np.random.default_rng(1)
    units = []
    for group in range(80):  # enough for the randomised SVD
        words = rng.choice(60, 5)
        units += [unit(group, "en", " ".join(f"e{chr(97 + w // 26)}{chr(97 + w % 26)}" for w in words))]
        units += [unit(group, "fr", " ".join(f"f{chr(97 + w // 26)}{chr(97 + w % 26)}" for w in words))]
    first, second, other = (
        train(units, tmp_path / "store", dim=20, seed=seed, replace=True).version for seed in (1, 1, 2)
    )
    assert first == second != other


@pytest.mark.parametrize(
    ("units", "language", "message"),
    [
        ([unit(1, "en", "cat"), unit(2, "fr", "chat")], None, "no texts are translations of each other"),
        ([unit(1, "en", "cat")], "fr", "there is no text in 'fr'"),
        ([unit(g, lang, "same") for g in (1, 2) for lang in ("de", "fr")], None, "words cannot be told apart"),
    ],
    ids=["no translations", "another language", "one word everywhere"],
)
def test_texts_that_teach_nothing_are_refused_with_the_cure(tmp_path, units, language, message):
    with pytest.raises(BadInput, match=message) as caught:
        train(units, tmp_path / "store", language=language)
    assert "give" in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_one_language_is_trained_on_without_translations(tmp_path):
    english = [unit(n, "en", text) for n, text in enumerate(["cat dog", "dog cat", "bread water", "water bread car"])]
    others = [unit(n, "fr", "chat chien") for n in range(3)]
    summary = train([*english, *others], tmp_path / "both", language="en")
    found = Embeddings.open(tmp_path / "both")
    assert summary.languages == {"en": 5}
    assert [found.nearest(word, "en", "en", 1)[0][1] for word in ("cat", "bread")] == ["dog", "water"]
    assert found.idf.languages["en"].n_documents == 4
    train(english, tmp_path / "alone", language="en")
    assert Embeddings.open(tmp_path / "alone").version == found.version


def test_the_vectors_of_one_language_are_those_of_scikit_learns_svd_of_ppmi_by_numpy(tmp_path):
    """Five words, no two of which are spelled alike, so that nothing is smoothed.

    The PPMI of text 1 and cat by hand: 11 pairs, cat in 3 texts, text 1 with 2 terms: log(11 / (3 · 2)).
    """
    lines = ["cat dog", "cat dog dog", "cat bread", "bread salt", "salt bread jug"]
    terms = ["bread", "cat", "dog", "salt", "jug"]
    presence = np.array([[term in text.split() for text in lines] for term in terms], dtype=float)
    assert presence.sum() == 11
    p = presence / 11
    with np.errstate(divide="ignore"):
        expected = np.maximum(0, np.log(p / (p.sum(axis=1, keepdims=True) * p.sum(axis=0))))
    assert expected[1, 0] == pytest.approx(log(11 / (3 * 2)))
    svd = TruncatedSVD(3, algorithm="arpack", random_state=0)
    rows = svd.fit_transform(expected) / np.sqrt(svd.singular_values_)  # U·S / S^0.5
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    train([unit(n, "en", text) for n, text in enumerate(lines)], tmp_path / "store", dim=3, language="en")
    store = Embeddings.open(tmp_path / "store")
    found = np.array([store.vectors[store.term_id("en", term)] for term in terms])
    assert found @ found.T == pytest.approx(rows @ rows.T, abs=1e-5)  # an SVD leaves signs open
    assert store.idf.languages["en"].n_documents == 5
