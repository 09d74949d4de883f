"""Guesses which language of an embedding store a text is in: the language that knows the most words of it."""

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

# The counts of all languages are the bytes of one integer, so that one sum adds them all. A byte holds at most 255.
_MAX_TOKENS = 100
# Looking for the nearest spelling and for parts takes some 100 microseconds for each word and language.
_MAX_INFLECTED_TOKENS = 8

# Looking every word up in every language takes longer than the transport, and words repeat. An entry takes some 200
# bytes.
_MAX_CACHED_TOKENS = 100_000
_votes: WeakKeyDictionary[Embeddings, dict[str, dict[str, int]]] = WeakKeyDictionary()
_term_ids: WeakKeyDictionary[Embeddings, dict[str, NDArray[np.int64]]] = WeakKeyDictionary()


def guess_language(text: str, embeddings: Embeddings, preferred: Sequence[str] = ()) -> str:
    """The language with the most stop words and known words in the text.

    Ties go to the language that splits most of the first eight words into known parts (`paperitukos` is Finnish), then
    to the first of `preferred`, then to the language in which these words are more common (`print page` is English,
    though German texts contain both words), then to the first language of the store. If no language knows any word (a
    Finnish query may have only inflected words), those of the first eight words count that another word stands for.

    Args:
        preferred: languages, the likeliest first (`preferred_languages`). They only break ties, so a Finnish query
            stays Finnish if English is preferred.
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
                        votes.clear()  # another thread that reads now computes the vote again
                    votes[token] = vote
            total += vote
    n_known: Sequence[int] = total.to_bytes(len(embeddings.languages), "little")
    first = {code: tokens[normalization_of(code)][:_MAX_INFLECTED_TOKENS] for code in embeddings.languages}
    if not any(n_known):
        n_known = [_n_with_stand_ins(first[language], language, embeddings, 1) for language in embeddings.languages]
    best = [language for language, n in zip(embeddings.languages, n_known, strict=True) if n == max(n_known)]
    if len(best) > 1:
        n_split = [_n_with_stand_ins(first[language], language, embeddings, 2) for language in best]
        best = [language for language, n in zip(best, n_split, strict=True) if n == max(n_split)]
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
    """The languages that a query is likely to be in, the likeliest first, for `guess_language`.

    Args:
        query_language: the setting of this name; it comes first.
        n_documents: number or share of the searched index's documents in each language.

    Raises:
        WrongParameter: the embeddings do not contain `query_language`.
    """
    if query_language is not None and query_language not in embeddings.languages:
        raise WrongParameter(
            f"query_language is {query_language!r}, and the embeddings hold {', '.join(embeddings.languages)}; give "
            "one of these, or leave it out"
        )
    by_frequency = sorted(n_documents, key=lambda language: (-n_documents[language], language))
    return tuple(dict.fromkeys([*([query_language] if query_language else ()), *by_frequency]))


def _vote(token: str, normalization: str, embeddings: Embeddings) -> int:
    """An integer with a 1 in the byte of each language with this normalization that knows the token."""
    return sum(
        1 << 8 * place
        for place, language in enumerate(embeddings.languages)
        if normalization_of(language) == normalization
        and (is_stop_word(token, language) or embeddings.term_id(language, token) is not None)
    )


def _n_with_stand_ins(tokens: Sequence[str], language: str, embeddings: Embeddings, least: int) -> int:
    """The number of tokens for which at least so many terms of the language stand."""
    return sum(len(embeddings.stand_ins(language, token)) >= least for token in tokens)


def _rarity(token: str, language: str, embeddings: Embeddings) -> float:
    """The share of the language's terms that are more common: 0 for a stop word, 1 for an unknown token."""
    if is_stop_word(token, language):
        return 0.0
    term_id = embeddings.term_id(language, token)
    if term_id is None:
        return 1.0
    by_language = _term_ids.setdefault(embeddings, {})
    if language not in by_language:
        by_language[language] = embeddings.vocabulary.term_ids(language)
    term_ids = by_language[language]  # ascending, and the most frequent first
    return float(np.searchsorted(term_ids, term_id)) / len(term_ids)
