"""Stems by Snowball's rules of the word's language."""

from __future__ import annotations

import pytest
from Stemmer import algorithms

from reranker.text.stems import STEMMERS, stem


def test_every_stemmer_exists() -> None:
    assert set(STEMMERS.values()) <= set(algorithms())


@pytest.mark.parametrize(
    ("word", "language", "stemmed"),
    [
        ("running", "en", "run"),
        ("katzen", "de", "katz"),
        ("chats", "fr", "chat"),
        ("böckerna", "sv", "böck"),
        ("kissoissa", "fi", "kiso"),
        ("печатания", "ru", "печатан"),
        ("habari", "sw", "habari"),
    ],
)
def test_a_word_is_stemmed_by_the_rules_of_its_language(word: str, language: str, stemmed: str) -> None:
    assert stem(word, language) == stemmed


def test_a_word_of_more_than_64_letters_is_its_own_stem() -> None:
    """The Serbian stemmer takes a time that grows with the square of the letters."""
    assert stem("x" * 57 + "running", "en") == "x" * 57 + "run"
    assert stem("x" * 58 + "running", "en") == "x" * 58 + "running"
    assert stem("ова" * 100_000, "sr") == "ова" * 100_000
