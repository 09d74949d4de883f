"""Guesses the language of a text among those of an embedding store, by the share of words that the language knows."""

from __future__ import annotations

from reranker.embeddings import Embeddings
from reranker.tokens import is_stop_word, tokenize


def guess_language(text: str, embeddings: Embeddings) -> str:
    """The language with the most stop words and known words in the text; ties by the store's order of languages.

    It need only find the vocabulary that covers the text, which is why the vocabulary itself decides.
    """
    tokens = tokenize(text, "und", max_tokens=100)

    def n_known(language: str) -> int:
        return sum(is_stop_word(token, language) or embeddings.term_id(language, token) is not None for token in tokens)

    return max(embeddings.languages, key=n_known)
