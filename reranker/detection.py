"""Guesses the language of a text among those of an embedding store, by the share of words that the language knows."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from reranker.embeddings import Embeddings
from reranker.tokens import LONGEST_CACHED_TOKEN, is_stop_word, tokenize

# Each language's count has a byte of one integer, so that one sum counts for all: 255 at most.
_MAX_TOKENS = 100

# Words come again and again, and asking each language for each of them takes longer than the transport. Some 200 bytes
# an entry.
_MAX_CACHED_TOKENS = 100_000
_votes: WeakKeyDictionary[Embeddings, dict[str, int]] = WeakKeyDictionary()


def guess_language(text: str, embeddings: Embeddings) -> str:
    """The language with the most stop words and known words in the text; ties by the store's order of languages.

    It need only find the vocabulary that covers the text, which is why the vocabulary itself decides.
    """
    votes = _votes.setdefault(embeddings, {})
    total = 0
    for token in tokenize(text, "und", _MAX_TOKENS):
        vote = votes.get(token)
        if vote is None:
            vote = _vote(token, embeddings)
            if len(token) <= LONGEST_CACHED_TOKEN:
                if len(votes) >= _MAX_CACHED_TOKENS:
                    votes.clear()  # a thread that reads meanwhile only asks again
                votes[token] = vote
        total += vote
    n_known = total.to_bytes(len(embeddings.languages), "little")
    return embeddings.languages[n_known.index(max(n_known))]


def _vote(token: str, embeddings: Embeddings) -> int:
    """One in the byte of each language that knows the token."""
    return sum(
        1 << 8 * place
        for place, language in enumerate(embeddings.languages)
        if is_stop_word(token, language) or embeddings.term_id(language, token) is not None
    )
