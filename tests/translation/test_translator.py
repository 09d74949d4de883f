"""Word groups on the hand-placed vocabulary (support/tiny.py): a French word has cosine 0.96 with its translation."""

import numpy as np
import pytest

from reranker.base.errors import UnknownLanguage
from reranker.embeddings import Embeddings, EmbeddingsWriter
from reranker.ranking.reranker import Reranker
from reranker.text.idf import DocumentFrequencies, IdfTable
from reranker.translation import Translation, Translator, translator
from reranker.translation import nearest_terms as nearest


@pytest.fixture
def translate(embeddings):
    reranker = Reranker(embeddings)

    def of(text, query_language="fr", language="en", idf=None):
        query = reranker.query_with_unknown_words(text, query_language)
        return Translator(embeddings, idf).groups(query, language)

    return of


def test_a_word_is_translated_by_its_nearest_words_weighted_by_their_cosines(translate):
    (group,) = translate("chat")
    # chat (0.96, 0.28): cat at 0.96, dog at 0.96 * 0.8 + 0.28 * 0.6 = 0.936; the others lie on the other side.
    assert group.token == "chat"
    assert [translation.term for translation in group.translations] == ["chat", "cat", "dog"]
    weights = [translation.weight for translation in group.translations]
    assert weights == pytest.approx([1.0, 0.96**2, 0.936**4 / 0.96**2], rel=1e-5)


def test_a_word_at_right_angles_is_no_translation_whatever_else_is_translated(translate):
    # dog (0.8, 0.6) and water (-0.6, 0.8); rounded, their product is 0 or 2e-9.
    for text in ("dog", "dog chat", "water dog chat bread"):
        (terms,) = ([each.term for each in group.translations] for group in translate(text) if group.token == "dog")
        assert terms == ["dog", "cat"]


def test_a_word_that_both_languages_have_is_there_once_with_weight_1(tmp_path):
    rows = {"en": {"chat": (0.0, 1.0), "cat": (1.0, 0.0)}, "fr": {"chat": (0.6, 0.8)}}
    with EmbeddingsWriter(tmp_path / "two", dim=2, source="test") as writer:
        for language, positions in rows.items():
            writer.append(language, list(positions), np.array(list(positions.values())))
        writer.commit()
    embeddings = Embeddings.open(tmp_path / "two")
    query = Reranker(embeddings).query("chat", "fr")
    (group,) = Translator(embeddings).groups(query, "en")
    assert [each.term for each in group.translations] == ["chat", "cat"]
    # The nearest has cosine 0.8, cat 0.6.
    assert [each.weight for each in group.translations] == pytest.approx([1.0, 0.6**4 / 0.8**2], rel=1e-5)


def test_a_repeated_word_is_one_group_with_its_number_of_occurrences(translate):
    groups = translate("voiture pain voiture")
    assert [(group.token, group.n_occurrences) for group in groups] == [("voiture", 2), ("pain", 1)]


def test_the_words_of_several_queries_are_compared_in_one_pass_over_the_language(embeddings, monkeypatch):
    asked = []

    def nearest_terms(vectors, term_ids, words, n):
        asked.append(len(words))
        return nearest.nearest_terms(vectors, term_ids, words, n)

    reranker, texts = Reranker(embeddings), ["chat pain", "pain", "voiture chat chat", "zyzzyva"]
    queries = [reranker.query_with_unknown_words(text, "fr") for text in texts]
    alone = [Translator(embeddings).groups(query, "en") for query in queries]
    monkeypatch.setattr(translator, "nearest_terms", nearest_terms)
    assert Translator(embeddings).groups_of(queries, "en") == alone
    assert asked == [3]
    assert Translator(embeddings).groups_of([], "en") == []


def test_numbers_and_words_without_an_embedding_stay_as_they_are(translate):
    groups = translate("8601 Zyzzyva eau")
    assert groups[0].translations == (Translation("8601", 1.0, None, ("8601",)),)
    assert groups[1].translations == (Translation("zyzzyva", 1.0, None, ("Zyzzyva",)),)
    assert [translation.term for translation in groups[2].translations][:2] == ["eau", "water"]


@pytest.fixture
def of_two_languages(tmp_path):
    """Embeddings of one English word, and of one word of another language that translates it."""

    def write(english, language, term):
        with EmbeddingsWriter(tmp_path / language, dim=2, source="test") as writer:
            for code, word in (("en", english), (language, term)):
                writer.append(code, [word], np.array([(1.0, 0.0)]))
            writer.commit()
        return Embeddings.open(tmp_path / language)

    return write


def test_a_translation_is_spelled_as_texts_have_it(of_two_languages):
    embeddings = of_two_languages("printer", "el", "εκτυπωτήσ")
    (group,) = Translator(embeddings).groups(Reranker(embeddings).query("printer", "en"), "el")
    assert [each.spellings for each in group.translations] == [("printer",), ("εκτυπωτής",)]


@pytest.mark.parametrize(
    ("text", "language"),
    [("Weiß", "de"), ("Παπαδόπουλος", "el"), ("Горбачёв", "ru"), ("Isparta", "tr"), ("أحمد", "ar"), ("Gal·la", "ca")],
)
def test_a_name_is_spelled_as_the_query_has_it(of_two_languages, text, language):
    embeddings = of_two_languages("printer", language, "x")
    query = Reranker(embeddings).query_with_unknown_words(f"{text}, x", language)
    groups = Translator(embeddings).groups(query, "en")
    assert [group.translations[0].spellings for group in groups] == [(text,), ("x",)]


@pytest.mark.parametrize(
    ("text", "language", "word"), [("٢٠٢٤", "ar", "2024"), ("ＷＩＦＩ", "ja", "WIFI"), ("oﬃce", "fr", "office")]
)
def test_a_word_is_searched_with_ascii_digits_and_letters_of_ordinary_width(of_two_languages, text, language, word):
    embeddings = of_two_languages("printer", language, "x")
    query = Reranker(embeddings).query_with_unknown_words(text, language)
    (group,) = Translator(embeddings).groups(query, "en")
    assert group.translations[0].spellings == (word,)


def test_only_terms_that_the_index_holds_are_translations(translate):
    dog_and_bread = DocumentFrequencies(7, np.array([1, 3], np.int32), np.array([2, 5], np.int32))
    (group,) = translate("chat", idf=IdfTable({"en": dog_and_bread}))
    assert [(each.term, each.n_documents) for each in group.translations] == [("chat", None), ("dog", 2)]


def test_a_language_that_the_embeddings_do_not_hold_is_an_error_that_names_those_that_they_hold(translate):
    with pytest.raises(UnknownLanguage, match="en, fr"):
        translate("chat", language="de")


def test_translations_are_kept_for_the_next_query(embeddings):
    translator, query = Translator(embeddings), Reranker(embeddings).query("chat eau", "fr")
    first, again = (translator.groups(query, "en")[0].translations[1] for _ in range(2))
    assert again is first
    assert translator.groups(query, "fr") != translator.groups(query, "en")
