"""Guessing the language of a text with the hand-placed vocabulary (tests/support/tiny.py)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reranker.base.errors import WrongParameter
from reranker.embeddings.detection import guess_language, preferred_languages
from reranker.text.tokens import is_stop_word, letter_tokens
from tests.support.tiny import POSITIONS, write_embeddings, write_words

WORDS = [*POSITIONS["en"], *POSITIONS["fr"], "the", "le", "et", "zzz", "café"]


@given(st.lists(st.sampled_from(WORDS), max_size=150))
def test_the_language_that_knows_most_of_the_first_100_words_is_taken(embeddings, words):
    def n_known(language):
        tokens = letter_tokens(" ".join(words), "und", 100)
        return sum(is_stop_word(one, language) or embeddings.term_id(language, one) is not None for one in tokens)

    assert n_known(guess_language(" ".join(words), embeddings)) == max(map(n_known, embeddings.languages))


def test_of_languages_that_know_as_many_words_the_one_in_which_they_are_common_is_taken(tmp_path):
    # Both know `page` and `print`, but they are the rarest of the German words.
    words = {"de": ["seite", "drucken", "page", "print"], "en": ["page", "print", "sheet", "ink"]}
    embeddings = write_words(tmp_path / "embeddings", words)
    assert guess_language("print page", embeddings) == "en"
    assert guess_language("print page", embeddings, ["fi", "de"]) == "de"


def test_of_languages_that_know_as_many_words_one_that_was_added_for_queries_comes_last(tmp_path):
    # `page` is the commonest German word, and the rarest English one.
    positions = {"de": {"page": (1, 1), "seite": (1, 1)}, "en": {"sheet": (1, 1), "page": (1, 1)}}
    embeddings = write_embeddings(tmp_path / "embeddings", positions, mapped_languages=["de"])
    assert guess_language("page", embeddings) == "en"
    assert guess_language("page", embeddings, ["de"]) == "de"
    assert guess_language("seite", embeddings) == "de"


def test_where_no_language_knows_a_word_the_nearest_spellings_decide(tmp_path):
    """Finnish inflects: the dictionary has asiakirja and tulostaa, the query says asiakirjan and tulostan."""
    words = {"en": ["document", "print", "page"], "fi": ["asiakirja", "tulostaa", "sivu"]}
    embeddings = write_words(tmp_path / "embeddings", words)
    assert guess_language("asiakirjan tulostan", embeddings, ["en"]) == "fi"
    assert guess_language("qqqq", embeddings, ["en"]) == "en"


@given(st.lists(st.sampled_from([*WORDS, "12", "cat2"]), max_size=20), st.permutations(["en", "fr", "fi"]))
def test_a_preferred_language_decides_nothing_but_a_tie(embeddings, words, preferred):
    def n_known(language):
        tokens = letter_tokens(" ".join(words), "und")
        return sum(is_stop_word(one, language) or embeddings.term_id(language, one) is not None for one in tokens)

    guessed = guess_language(" ".join(words), embeddings, preferred)
    if n_known("en") == n_known("fr"):
        assert guessed == next(language for language in preferred if language != "fi")
    else:
        assert guessed == max(["en", "fr"], key=n_known)


def test_the_setting_comes_first_then_the_languages_of_the_index_by_their_documents(embeddings):
    assert preferred_languages(embeddings, "fr", {"und": 3, "en": 9, "fr": 1, "de": 9}) == ("fr", "de", "en", "und")
    assert preferred_languages(embeddings, None, {"en": 9, "fr": 10}) == ("fr", "en")
    assert preferred_languages(embeddings, None) == ()
    with pytest.raises(WrongParameter, match=r"'de'.*hold en, fr"):
        preferred_languages(embeddings, "de")
