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
from reranker.text.tokens import is_stop_word, letter_tokens

_MAX_TOKENS = 100
# Looking for the nearest spelling and for parts takes some 100 microseconds for each word and language.
_MAX_INFLECTED_TOKENS = 8

_term_ids: WeakKeyDictionary[Embeddings, dict[str, NDArray[np.int64]]] = WeakKeyDictionary()


def guess_languages(texts: Sequence[str], embeddings: Embeddings, preferred: Sequence[str] = ()) -> list[str]:
    """The language of each text (`guess_language`)."""
    if len(embeddings.languages) == 1:
        return [*embeddings.languages] * len(texts)
    n_known, is_covered = embeddings.reader.known_words(texts, _MAX_TOKENS)
    most = n_known.max(axis=1, initial=0)
    is_one = is_covered & (most > 0) & (np.count_nonzero(n_known == most[:, np.newaxis], axis=1) == 1)
    found = [embeddings.languages[place] for place in n_known.argmax(axis=1).tolist()]
    for place in np.flatnonzero(~is_one).tolist():
        found[place] = guess_and_tie(texts[place], embeddings, preferred)[0]
    return found


def guess_language(text: str, embeddings: Embeddings, preferred: Sequence[str] = ()) -> str:
    """The language with the most stop words and known words among the first 100 of the text.

    Ties go to the language that splits most of the first eight words into known parts (`paperitukos` is Finnish), then
    to the first of `preferred`, then to the language in which these words are more common (`print page` is English,
    though German texts contain both words), then to the first language of the store. If no language knows any word (a
    Finnish query may have only inflected words), those of the first eight words count that another word stands for.

    Args:
        preferred: languages, the likeliest first (`preferred_languages`). They only break ties, so a Finnish query
            stays Finnish if English is preferred.
    """
    return guess_languages([text], embeddings, preferred)[0]


def guess_and_tie(text: str, embeddings: Embeddings, preferred: Sequence[str] = ()) -> tuple[str, bool]:
    """The same, and whether several languages know as many words: only then do preferred ones count."""
    words = {
        normalization: letter_tokens(text, normalization, _MAX_TOKENS, with_stop_words=True)
        for normalization in dict.fromkeys(map(normalization_of, embeddings.languages))
    }
    tokens = {language: words[normalization_of(language)] for language in embeddings.languages}
    n_known = {
        language: sum(_is_known(token, language, embeddings) for token in own) for language, own in tokens.items()
    }
    if not any(n_known.values()):
        n_known = {language: _n_with_stand_ins(own, language, embeddings, 1) for language, own in tokens.items()}
    best = _most(n_known)
    if len(best) > 1:
        best = _most({language: _n_with_stand_ins(tokens[language], language, embeddings, 2) for language in best})
    if len(best) == 1:
        return best[0], False
    for language in preferred:
        if language in best:
            return language, True
    rarest = min(best, key=lambda language: sum(_rarity(token, language, embeddings) for token in tokens[language]))
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


def _most(numbers: Mapping[str, int]) -> list[str]:
    """The languages with the largest number."""
    return [language for language, n in numbers.items() if n == max(numbers.values())]


def _is_known(token: str, language: str, embeddings: Embeddings) -> bool:
    return is_stop_word(token, language) or embeddings.term_id(language, token) is not None


def _n_with_stand_ins(tokens: Sequence[str], language: str, embeddings: Embeddings, least: int) -> int:
    """The number of the first tokens for which at least so many terms of the language stand."""
    first = tokens[:_MAX_INFLECTED_TOKENS]
    return sum(len(embeddings.stand_ins(language, token)) >= least for token in first)


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
