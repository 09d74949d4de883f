"""Stems by Snowball's rules of the word's language."""

from __future__ import annotations

import subprocess
import sys

import pytest
import snowballstemmer

from reranker.text.stems import STEMMERS, stem


def test_every_stemmer_exists() -> None:
    assert set(STEMMERS.values()) <= set(snowballstemmer.algorithms())


@pytest.mark.parametrize("language", STEMMERS)
def test_words_are_stemmed_as_the_package_does_it(language: str) -> None:
    package = snowballstemmer.stemmer(STEMMERS[language])
    for word in ("running", "katzen", "böckerna", "печатания", "εκτυπώσεων", "yazdırma", "الطباعة"):
        assert stem(word, language) == package.stemWord(word)


def test_only_the_stemmer_of_the_language_is_loaded() -> None:
    code = "import sys; from reranker.text.stems import stem; stem('katzen', 'de'); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert {name.rpartition(".")[2] for name in loaded if name.endswith("_stemmer")} == {"german_stemmer"}


@pytest.mark.parametrize(
    ("word", "language", "stemmed"),
    [("running", "en", "run"), ("katzen", "de", "katz"), ("chats", "fr", "chat"), ("habari", "sw", "habari")],
)
def test_a_word_is_stemmed_by_the_rules_of_its_language(word: str, language: str, stemmed: str) -> None:
    assert stem(word, language) == stemmed
