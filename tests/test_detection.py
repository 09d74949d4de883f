"""Guessing the language of a text with the hand-placed vocabulary (tests/tiny.py)."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reranker.detection import guess_language
from reranker.tokens import is_stop_word, tokenize
from tests.tiny import POSITIONS, tiny_embeddings

WORDS = [*POSITIONS["en"], *POSITIONS["fr"], "the", "le", "et", "zzz", "café"]


@pytest.fixture(scope="module")
def embeddings(tmp_path_factory):
    return tiny_embeddings(tmp_path_factory.mktemp("tiny") / "embeddings")


@given(st.lists(st.sampled_from(WORDS), max_size=150))
def test_the_language_that_knows_most_of_the_first_100_words_is_taken(embeddings, words):
    def n_known(language):
        tokens = tokenize(" ".join(words), "und", 100)
        return sum(is_stop_word(one, language) or embeddings.term_id(language, one) is not None for one in tokens)

    assert guess_language(" ".join(words), embeddings) == max(embeddings.languages, key=n_known)


def test_the_languages_are_asked_for_each_word_once(embeddings, monkeypatch):
    before = guess_language("le chat boit", embeddings)
    monkeypatch.setattr(type(embeddings), "term_id", lambda *_: pytest.fail("asked again"))
    assert guess_language("boit le chat", embeddings) == before


def test_no_word_of_any_length_stays_in_memory(embeddings):
    tracemalloc.start()
    try:
        for letter in "abcdefghij":
            word = letter * 300_000
            guess_language(word, embeddings)
            embeddings.bag(word, "en")
        del word
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 300_000
