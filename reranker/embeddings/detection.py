"""Guesses the language of a text among those of an embedding store, by the share of words that the language knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from reranker.base.errors import WrongParameter
from reranker.embeddings import Embeddings
from reranker.text.normalization import normalization_of
from reranker.text.tokens import LONGEST_CACHED_TOKEN, is_stop_word, letter_tokens

# Each language's count has a byte of one integer, so that one sum counts for all: 255 at most.
_MAX_TOKENS = 100
# The nearest spelling takes some 30 microseconds a word and language.
_MAX_INFLECTED_TOKENS = 8

# Words come again and again, and asking each language for each of them takes longer than the transport. Some 200 bytes
# an entry.
_MAX_CACHED_TOKENS = 100_000
_votes: WeakKeyDictionary[Embeddings, dict[str, dict[str, int]]] = WeakKeyDictionary()
_term_ids: WeakKeyDictionary[Embeddings, dict[str, NDArray[np.int64]]] = WeakKeyDictionary()


def guess_language(text: str, embeddings: Embeddings, preferred: Sequence[str] = ()) -> str:
    """The language with the most stop words and known words in the text; it need only find the vocabulary that covers
    the text, which is why the vocabulary itself decides.

    Of several languages that know as many words it is the first of `preferred`; else the one in which these words are
    the more common (`print page` is English, though German texts hold both words); then the first of the store. Where
    no language knows a word (a Finnish query may hold inflected words alone), words count that are spelled nearly like
    a known one, of the first eight.

    Args:
        preferred: languages, the likeliest first (`preferred_languages`). They decide nothing but a tie, so a Finnish
            query stays Finnish where English is preferred.
    """
    return guess_and_tie(text, embeddings, preferred)[0]


def guess_and_tie(text: str, embeddings: Embeddings, preferred: Sequence[str] = ()) -> tuple[str, bool]:
    """The same, and whether several languages know as many words: only then do preferred ones count."""
    tokens = {
        normalization: letter_tokens(text, normalization, _MAX_TOKENS, with_stop_words=True)
        for normalization in dict.fromkeys(map(normalization_of, embeddings.languages))
    }
    total = 0
    for normalization, found in tokens.items():
        votes = _votes.setdefault(embeddings, {}).setdefault(normalization, {})
        for token in found:
            vote = votes.get(token)
            if vote is None:
                vote = _vote(token, normalization, embeddings)
                if len(token) <= LONGEST_CACHED_TOKEN:
                    if len(votes) >= _MAX_CACHED_TOKENS:
                        votes.clear()  # a thread that reads meanwhile only asks again
                    votes[token] = vote
            total += vote
    n_known: Sequence[int] = total.to_bytes(len(embeddings.languages), "little")
    if not any(n_known):
        n_known = [
            sum(
                embeddings.stand_in(language, token) is not None
                for token in tokens[normalization_of(language)][:_MAX_INFLECTED_TOKENS]
            )
            for language in embeddings.languages
        ]
    best = [language for language, n in zip(embeddings.languages, n_known, strict=True) if n == max(n_known)]
    if len(best) == 1:
        return best[0], False
    for language in preferred:
        if language in best:
            return language, True
    rarest = min(
        best,
        key=lambda language: sum(_rarity(token, language, embeddings) for token in tokens[normalization_of(language)]),
    )
    return rarest, True


def preferred_languages(
    embeddings: Embeddings, query_language: str | None, n_documents: Mapping[str, float] = MappingProxyType({})
) -> tuple[str, ...]:
    """The languages that a query is likely to be in, the likeliest first: what `guess_language` prefers.

    Args:
        query_language: the setting; it comes before all others.
        n_documents: how many documents the searched index has in each language, or their shares.

    Raises:
        WrongParameter: the embeddings do not hold the setting's language.
    """
    if query_language is not None and query_language not in embeddings.languages:
        raise WrongParameter(
            f"query_language is {query_language!r}, and the embeddings hold {', '.join(embeddings.languages)}; give "
            "one of these, or leave it out"
        )
    by_frequency = sorted(n_documents, key=lambda language: (-n_documents[language], language))
    return tuple(dict.fromkeys([*([query_language] if query_language else ()), *by_frequency]))


def _vote(token: str, normalization: str, embeddings: Embeddings) -> int:
    """One in the byte of each language that knows the token, of those whose terms are normalised so."""
    return sum(
        1 << 8 * place
        for place, language in enumerate(embeddings.languages)
        if normalization_of(language) == normalization
        and (is_stop_word(token, language) or embeddings.term_id(language, token) is not None)
    )


def _rarity(token: str, language: str, embeddings: Embeddings) -> float:
    """The share of the language's terms that are more common than the token: 0 for a stop word, 1 for no term."""
    if is_stop_word(token, language):
        return 0.0
    term_id = embeddings.term_id(language, token)
    if term_id is None:
        return 1.0
    by_language = _term_ids.setdefault(embeddings, {})
    if language not in by_language:
        by_language[language] = embeddings.vocabulary.term_ids(language)
    term_ids = by_language[language]  # the most frequent first, and ascending
    return float(np.searchsorted(term_ids, term_id)) / len(term_ids)
