"""Warnings of a re-ranking that goes by spelling alone."""

import pytest

from reranker.api.rerank_warnings import spelling_warnings
from reranker.text.tokens import tokenize
from tests.support.queries import query_of
from tests.support.tiny import write_words

WORDS = {"de": ["bildschirm", "helligkeit", "lösung"], "fi": ["kirja", "tulostin"]}


@pytest.mark.parametrize(
    ("language", "text", "n_warnings"),
    [
        ("de", "Bildschirmhelligkeit", 0),
        ("de", "Loesung", 0),
        ("fi", "kirjoissa tulostimessa", 0),
        ("de", "Bildschurm", 2),  # only spelled like a term
        ("fi", "Helligkeit", 2),  # a term of the other language
    ],
)
def test_a_compound_or_a_form_of_known_words_is_no_guess_by_spelling(tmp_path, language, text, n_warnings):
    embeddings = write_words(tmp_path / "embeddings", WORDS)
    query = query_of(tokenize(text, language), language, embeddings)
    candidates = [(embeddings.bag(text, language), language)]
    assert len(spelling_warnings(query, [text], candidates, embeddings)) == n_warnings
