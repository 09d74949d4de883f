"""Guesses which language of an embedding store a text is in: the language that knows the most words of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from reranker.base.errors import WrongParameter
from reranker.embeddings import Embeddings
from reranker.embeddings.text_reader import FirstWords
from reranker.native.text import NONE

_MAX_TOKENS = 100
# Most of a hundred words have ten letters and fewer; the rest of a long text is not even decoded.
_MAX_LETTERS = 2_000
# Looking for the nearest spelling and for parts takes some 100 microseconds for each word and language.
_MAX_INFLECTED_TOKENS = 8


def guess_language(text: str, embeddings: Embeddings, preferred: Sequence[str] = ()) -> str:
    """The language with the most stop words and known words among the first 100 of the text's first 2,000 letters.

    Ties go, in this order, to

    - the language that splits most of the first eight words into known parts (`paperitukos` is Finnish);
    - the first of `preferred`;
    - languages that were not mapped into the space of others;
    - the language in which these words are more common (`print page` is English, though German texts have both words);
    - the first language of the store.

    If no language knows a word, as in a query of inflected Finnish words, the words among the first eight count that
    another word stands for.

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
    beginnings = [text[:_MAX_LETTERS] for text in texts]
    read = embeddings.reader.first_words(beginnings, _MAX_TOKENS)
    most = read.n_known.max(axis=1, initial=0)
    is_one = (most > 0) & (np.count_nonzero(read.n_known == most[:, np.newaxis], axis=1) == 1)
    found = [(languages[place], False) for place in read.n_known.argmax(axis=1).tolist()]
    for place in np.flatnonzero(~is_one).tolist():
        found[place] = _break_tie(read, place, embeddings, preferred)
    return found


def _break_tie(read: FirstWords, text: int, embeddings: Embeddings, preferred: Sequence[str]) -> tuple[str, bool]:
    """As `guess_and_tie`."""
    term_ids = {language: read.term_ids(text, place) for place, language in enumerate(embeddings.languages)}
    n_known = {language: int(np.count_nonzero(found != NONE)) for language, found in term_ids.items()}
    if not any(n_known.values()):
        n_known = {
            language: sum(len(terms) > 0 for terms in _stand_ins(read, text, language, found, embeddings))
            for language, found in term_ids.items()
        }
    best = _most(n_known)
    if len(best) > 1:
        n_split = {
            language: sum(len(terms) > 1 for terms in _stand_ins(read, text, language, term_ids[language], embeddings))
            for language in best
        }
        best = _most(n_split)
    if len(best) == 1:
        return best[0], False
    for language in preferred:
        if language in best:
            return language, True
    best = [language for language in best if language not in embeddings.mapped_languages] or best
    return min(best, key=lambda language: _rarity(term_ids[language], embeddings.vocabulary.term_ids(language))), True


def _most(numbers: Mapping[str, int]) -> list[str]:
    """The languages with the largest number."""
    return [language for language, n in numbers.items() if n == max(numbers.values())]


def _stand_ins(
    read: FirstWords, text: int, language: str, term_ids: NDArray[np.int32], embeddings: Embeddings
) -> Iterator[tuple[int, ...]]:
    """The terms that stand for each of the first words that is no term of the language itself.

    Args:
        term_ids: of the words in the language.
    """
    unknown = np.flatnonzero(term_ids[:_MAX_INFLECTED_TOKENS] < 0).tolist()
    place = embeddings.languages.index(language)
    first = read.tokens_of(text, place, _MAX_INFLECTED_TOKENS) if unknown else ()
    return (embeddings.stand_ins(language, first[place]) for place in unknown)


def _rarity(term_ids: NDArray[np.int32], vocabulary: NDArray[np.int64]) -> float:
    """The sum over words of the share of the language's terms that are more common: 0 for a stop word, 1 for an unknown
    word.

    Args:
        term_ids: of the words, or `STOP_WORD` or `NONE`.
        vocabulary: of the language, ascending: the most frequent terms come first.
    """
    n_before = vocabulary.searchsorted(term_ids[term_ids >= 0]).sum()
    return int(np.count_nonzero(term_ids == NONE)) + float(n_before) / len(vocabulary)


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
