"""The systems that our methods are measured beside, and ours as systems, on a handful of words."""

from __future__ import annotations

from math import log, sqrt
from pathlib import Path

import numpy as np
import pytest

from ingest.embeddings.dictionaries import Translations
from papers.corpora.tasks import Direction
from papers.systems.dictionary import BilingualDictionary
from papers.systems.runs import encode, method_distances, plain_run
from papers.systems.tfidf import TfIdf
from papers.systems.translated_bm25 import Index, TranslatedBM25, load_dictionary, translated
from papers.systems.transport import Transport
from papers.tests.small_tasks import FR_EN, small_task
from reranker.embeddings import Embeddings

# tf-idf


def test_tf_idf_is_the_cosine_of_shared_spellings_weighted_in_each_language() -> None:
    found = TfIdf().distances(
        small_task(["paris table"], ["paris paris cat", "table dog"], ["paris chat", "table chien"])
    )

    # Every word stands in one of two texts of its language, so each idf is log(3 / 2) and cancels.
    assert found.values[0] == pytest.approx([1 - 2 / sqrt(5) / sqrt(2), 1 - 1 / 2])


def test_the_idf_of_a_query_word_is_that_of_its_own_language() -> None:
    documents = ["menu cat", "paris dog", "cat bread"]
    found = TfIdf().distances(small_task(["menu paris"], documents, ["menu chat", "menu paris", "pain"]))

    # French: menu stands in two of three texts, paris in one. English: each in one, cat in two.
    query = np.array([log(4 / 3), log(4 / 2)])
    once, twice = log(4 / 2), log(4 / 3)
    first = query[0] * once / np.linalg.norm(query) / sqrt(once**2 + twice**2)
    assert found.values[0, 0] == pytest.approx(1 - first)
    assert found.values[0, 1] == pytest.approx(1 - query[1] / np.linalg.norm(query) / sqrt(2))


def test_a_document_that_shares_no_word_is_not_found() -> None:
    given = small_task(["paris chat"], ["paris cat", "dog bread"], ["paris chat", "chien pain"])
    values = TfIdf().distances(given).values

    assert np.isinf(values[0, 1])
    assert [scored.doc_id for scored in plain_run(given, values)] == ["d0"]


# Dictionaries


@pytest.fixture
def dictionary() -> BilingualDictionary:
    found = BilingualDictionary(FR_EN)
    found.add(
        [
            Translations("ouvrir", (("open", "open up"), ("unlock",))),
            Translations("fichier", (("file",),)),
            Translations("pomme de terre", (("potato",),)),
            Translations("tableur", (("spreadsheet program",),)),
            Translations("prévenir", (("warn sb.",),)),
        ]
    )
    return found


@pytest.mark.parametrize(
    ("token", "expected"),
    [
        # A word shares its weight among its translations, and they among their words.
        ("tableur", {"spreadsheet": 1 / 2, "program": 1 / 2}),
        # Three translations; "up" is a stop word, so that "open up" is "open" once more.
        ("ouvrir", {"open": 2 / 3, "unlock": 1 / 3}),
        ("fichiers", {"file": 1.0}),
        ("prévenir", {"warn": 1.0}),
        # A name stays, in the stems of the documents.
        ("libreoffice", {"libreoffic": 1.0}),
    ],
)
def test_a_word_is_translated_by_itself_or_its_stem(
    dictionary: BilingualDictionary, token: str, expected: dict[str, float]
) -> None:
    assert dictionary.translate(token) == pytest.approx(expected)


def test_headwords_of_several_words_are_left_out(dictionary: BilingualDictionary) -> None:
    held = [token for token in ("fichiers", "libreoffice", "pomme", "terre") if token in dictionary]
    assert held == ["fichiers"]


def test_a_word_as_it_is_written_goes_before_its_stem() -> None:
    german = BilingualDictionary(Direction("de", "en"))
    german.add([Translations("Anzeige", (("display",),)), Translations("anzeigen", (("show",),))])

    # All have the stem "anzeig".
    assert german.translate("anzeigen") == {"show": 1.0}
    assert german.translate("anzeige") == {"display": 1.0}
    assert german.translate("anzeiger") == pytest.approx({"display": 1 / 2, "show": 1 / 2})


def test_the_dictionary_of_the_other_direction_adds_words_and_votes(dictionary: BilingualDictionary) -> None:
    dictionary.add_inverted(
        [
            Translations("unlock", (("ouvrir", "débloquer"),)),
            Translations("spell out", (("épeler",),)),
        ]
    )

    assert dictionary.translate("débloquer") == {"unlock": 1.0}
    # unlock now has two votes of four.
    assert dictionary.translate("ouvrir") == pytest.approx({"open": 2 / 4, "unlock": 2 / 4})


def test_both_dictionaries_of_a_direction_are_read_where_there_are_two(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = {
        "fr-en": [Translations("chat", (("cat",),))],
        "en-fr": [Translations("pussy", (("chat",),)), Translations("dog", (("chien",),))],
    }
    monkeypatch.setattr("ingest.embeddings.freedict.fetch", lambda folder, direction, progress: folder)
    monkeypatch.setattr(
        "papers.systems.dictionary.read_entries_of", lambda found: held[f"{found.language}-{found.target}"]
    )

    found = load_dictionary(FR_EN, tmp_path)

    assert found.translate("chien") == {"dog": 1.0}
    assert sum(found.translate("chat").values()) == pytest.approx(1)
    assert len(found.translate("chat")) == 2


# BM25

DOCUMENTS = [["file", "file", "open"], ["open"], ["cell", "cell", "cell", "tabl"]]
MEAN_LENGTH = 8 / 3


def lucene(tf: int, df: int, length: int, k1: float, b: float) -> float:
    """Lucene's BM25 of one term, of three documents with a mean length of 8/3."""
    idf = log(1 + (3 - df + 0.5) / (df + 0.5))
    return idf * tf / (tf + k1 * (1 - b + b * length / MEAN_LENGTH))


def test_a_weight_multiplies_a_terms_score_and_unknown_terms_add_nothing() -> None:
    index = Index(DOCUMENTS, k1=2.0, b=0.9)

    scores = index.scores({"cell": 0.25, "tabl": 2.0, "hous": 1.0, "": 1.0})

    assert scores == pytest.approx([0, 0, 0.25 * lucene(3, 1, 4, 2, 0.9) + 2 * lucene(1, 1, 4, 2, 0.9)], rel=1e-5)


def test_a_word_that_a_query_repeats_counts_each_time(dictionary: BilingualDictionary) -> None:
    weights = translated(["fichier", "fichiers", "ouvrir"], dictionary)

    assert weights == pytest.approx({"file": 2.0, "open": 2 / 3, "unlock": 1 / 3})


def test_bm25_finds_the_documents_that_hold_translations_of_inflected_words(
    dictionary: BilingualDictionary, tmp_path: Path
) -> None:
    given = small_task(["fichiers", "maison"], ["files opened", "locked cells"], [""])
    system = TranslatedBM25([FR_EN], tmp_path, lambda direction, folder, progress: dictionary)
    system.fit()

    values = system.distances(given).values

    assert values[0, 0] < 0
    assert np.isinf(values[0, 1])
    assert [(scored.query_id, scored.doc_id) for scored in plain_run(given, values)] == [("q0", "d0")]


def test_bm25_that_was_not_fitted_says_so(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="call fit first"):
        TranslatedBM25([FR_EN], tmp_path).distances(small_task(["chat"], ["cat"], ["chat"]))


# Ours


@pytest.mark.parametrize("method", ["nbow", "rwmd", "emd", "sinkhorn", "relaxed", "auto"])
def test_our_methods_are_systems_that_give_what_they_always_gave(method: str, embeddings: Embeddings) -> None:
    given = small_task(["chat chien", "eau"], ["cat dog", "water bread", "car"], ["chat chien", "eau pain", "voiture"])
    system = Transport(method, embeddings)
    system.fit()

    found = system.distances(given)

    np.testing.assert_array_equal(found.values, method_distances(encode(given, embeddings), method))
    assert system.name == method
    assert found.document_s > 0
    assert found.query_s > 0


# Runs


def test_ties_keep_the_order_of_the_documents_and_not_that_of_our_first_stage() -> None:
    given = small_task(["a"], ["x", "y", "z"], [""])

    run = plain_run(given, np.array([[0.5, 0.25, 0.5]]))

    assert [scored.doc_id for scored in run] == ["d1", "d0", "d2"]
    assert run[1].score > run[2].score
