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


def guess_languages(texts: Sequence[str], embeddings: Embeddings, preferred: Sequence[str] = ()) -> list[str]:
    """The language of each text (`guess_language`)."""
    return [language for language, _ in _guesses(texts, embeddings, preferred)]


def guess_and_tie(text: str, embeddings: Embeddings, preferred: Sequence[str] = ()) -> tuple[str, bool]:
    """The language, and whether several know as many words: only then do preferred ones count."""
    return _guesses([text], embeddings, preferred)[0]


def _guesses(texts: Sequence[str], embeddings: Embeddings, preferred: Sequence[str]) -> list[tuple[str, bool]]:
    languages = embeddings.languages
    if len(languages) == 1:
        return [(languages[0], False)] * len(texts)
    n_known, is_covered = embeddings.reader.known_words(texts, _MAX_TOKENS)
    most = n_known.max(axis=1, initial=0)
    is_one = is_covered & (most > 0) & (np.count_nonzero(n_known == most[:, np.newaxis], axis=1) == 1)
    found = [(languages[place], False) for place in n_known.argmax(axis=1).tolist()]
    for place in np.flatnonzero(~is_one).tolist():
        words = _Words(texts[place], embeddings)
        counted = dict(zip(languages, n_known[place].tolist(), strict=True)) if is_covered[place] else words.n_known()
        found[place] = _break_tie(words, counted, preferred)
    return found


def _break_tie(words: _Words, n_known: Mapping[str, int], preferred: Sequence[str]) -> tuple[str, bool]:
    """As `guess_and_tie`.

    Args:
        n_known: how many words each language knows.
    """
    if not any(n_known.values()):
        n_known = {language: words.n_with_stand_ins(language, 1) for language in n_known}
    best = _most(n_known)
    if len(best) > 1:
        best = _most({language: words.n_with_stand_ins(language, 2) for language in best})
    if len(best) == 1:
        return best[0], False
    for language in preferred:
        if language in best:
            return language, True
    return min(best, key=words.rarity), True


def _most(numbers: Mapping[str, int]) -> list[str]:
    """The languages with the largest number."""
    return [language for language, n in numbers.items() if n == max(numbers.values())]


class _Words:
    """The first words of a text by the rules of each language."""

    def __init__(self, text: str, embeddings: Embeddings) -> None:
        self._embeddings = embeddings
        by_rules = {
            rules: letter_tokens(text, rules, _MAX_TOKENS, with_stop_words=True)
            for rules in dict.fromkeys(map(normalization_of, embeddings.languages))
        }
        self._tokens = {language: by_rules[normalization_of(language)] for language in embeddings.languages}

    def n_known(self) -> dict[str, int]:
        """How many words each language knows, stop words among them."""
        term_id = self._embeddings.term_id
        return {
            language: sum(is_stop_word(token, language) or term_id(language, token) is not None for token in tokens)
            for language, tokens in self._tokens.items()
        }

    def n_with_stand_ins(self, language: str, least: int) -> int:
        """The number of the first words for which at least so many terms of the language stand."""
        first = self._tokens[language][:_MAX_INFLECTED_TOKENS]
        return sum(len(self._embeddings.stand_ins(language, token)) >= least for token in first)

    def rarity(self, language: str) -> float:
        """The sum over the words of the share of the language's terms that are more common: 0 for a stop word, 1 for an
        unknown word."""
        tokens = [token for token in self._tokens[language] if not is_stop_word(token, language)]
        found = [self._embeddings.term_id(language, token) for token in tokens]
        known = [term_id for term_id in found if term_id is not None]
        term_ids = _terms_of(language, self._embeddings)  # ascending, and the most frequent first
        return len(found) - len(known) + float(np.searchsorted(term_ids, known).sum()) / len(term_ids)


def _terms_of(language: str, embeddings: Embeddings) -> NDArray[np.int64]:
    by_language = _term_ids.setdefault(embeddings, {})
    if language not in by_language:
        by_language[language] = embeddings.vocabulary.term_ids(language)
    return by_language[language]


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
