"""Guessing the language of a text with the hand-placed vocabulary (tests/tiny.py)."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reranker.detection import guess_language
from reranker.embeddings import Embeddings, EmbeddingsWriter
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

    assert n_known(guess_language(" ".join(words), embeddings)) == max(map(n_known, embeddings.languages))


def test_of_languages_that_know_as_many_words_the_one_in_which_they_are_common_is_taken(tmp_path):
    # Both know `page` and `print`, but they are the rarest of the German words.
    words = {"de": ["seite", "drucken", "page", "print"], "en": ["page", "print", "sheet", "ink"]}
    with EmbeddingsWriter(tmp_path / "embeddings", dim=2, source="test") as writer:
        for language, terms in words.items():
            writer.append(language, terms, np.ones((4, 2)))
        writer.commit()
    assert guess_language("print page", Embeddings.open(tmp_path / "embeddings")) == "en"


def test_the_languages_are_asked_for_each_word_once(embeddings, monkeypatch):
    before = guess_language("le chat boit", embeddings)
    monkeypatch.setattr(type(embeddings), "term_id", lambda *_: pytest.fail("asked again"))
    assert guess_language("boit le chat", embeddings) == before


def test_no_word_of_any_length_stays_in_memory(embeddings):
    embeddings.bag("unknown", "en")  # what look-ups need is made at the first
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
