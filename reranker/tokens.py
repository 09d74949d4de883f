"""Turns a text into tokens: lower case, letters only, without stop words, at most the first 500."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from itertools import islice
from operator import methodcaller

import regex
import stopwordsiso
from whoosh.lang.stopwords import stoplists

# Balikas et al. 2018, section 4: "we keep for each document the first 500 words".
MAX_TOKENS = 500

# What is found out about a token is worth keeping for words; a text may as well be one token of a million letters.
LONGEST_CACHED_TOKEN = 64

# Some 200 bytes an entry.
_MAX_CACHED_TOKENS = 100_000

# In letters: about the first 500 words and their stop words.
_LONG_TEXT = 10_000

# Raise it whenever the tokens of a text change: an index made by another version is then refused.
TOKENIZER_VERSION = 1

# A letter with its combining marks; digits, punctuation and symbols part words.
_WORD = regex.compile(r"\p{L}[\p{L}\p{M}]*")

# Latin, Greek and Cyrillic without combining marks, with common punctuation: what most texts consist of, and where
# Python's `re` finds the same words in half the time.
_PLAIN_BLOCKS = (range(0x300), range(0x370, 0x483), range(0x48A, 0x530), range(0x2000, 0x2070))
_PLAIN_LETTERS = "".join(letter for block in _PLAIN_BLOCKS for letter in map(chr, block) if letter.isalpha())
_PLAIN_WORD = re.compile(f"[{_PLAIN_LETTERS}]+")
_NOT_PLAIN = re.compile(f"[^{''.join(f'{chr(block[0])}-{chr(block[-1])}' for block in _PLAIN_BLOCKS)}]")
_matched = methodcaller("group")


def normalize_term(term: str) -> str:
    """Lower case in NFC, with the final sigma ς written σ: the form in which terms are compared."""
    return unicodedata.normalize("NFC", term.lower()).replace("ς", "σ")


def as_written(term: str, language: str) -> str:
    """A term as people write it: a Greek one ends in ς again.

    >>> as_written("λόγοσ", "el")
    'λόγος'
    """
    return f"{term[:-1]}ς" if language == "el" and term.endswith("σ") else term


@cache
def stop_words(language: str) -> frozenset[str]:
    """The stop words of an ISO 639-1 code in the form of `_stop_form`; empty for a language without a list.

    Snowball's lists of function words where there is one (14 languages); stopwords-iso for the others, since its lists
    take content words out as well (English `computer` and `page`, Russian `женщина`).
    """
    listed = stoplists.get(language) or (stopwordsiso.stopwords(language) if stopwordsiso.has_lang(language) else ())
    return frozenset(_stop_form(normalize_term(word), language) for word in listed)


def _stop_form(token: str, language: str) -> str:
    # The Greek list is written without accents; elsewhere an accent parts words (French ou and où).
    return _without_accents[token] if language == "el" else token


class _WithoutAccents(dict[str, str]):
    """Tokens without their accents, found once for each; a look-up that hits never leaves C."""

    def __missing__(self, token: str) -> str:
        found = "".join(letter for letter in unicodedata.normalize("NFD", token) if not unicodedata.combining(letter))
        if len(token) <= LONGEST_CACHED_TOKEN:
            if len(self) >= _MAX_CACHED_TOKENS:
                self.clear()  # a thread that reads meanwhile only finds the token out again
            self[token] = found
        return found


_without_accents = _WithoutAccents()


def is_stop_word(token: str, language: str) -> bool:
    """Whether a normalised token is a stop word of the language."""
    return _stop_form(token, language) in stop_words(language)


def tokenize(text: str, language: str, max_tokens: int | None = MAX_TOKENS) -> list[str]:
    """The tokens of a text in reading order, stop words of its language left out.

    >>> tokenize("Ο λόγος: 2 Λόγοι!", "el")
    ['λόγοσ', 'λόγοι']
    >>> tokenize("The cat, the CAT and 2 mats.", "en")
    ['cat', 'cat', 'mats']
    """
    left_out = stop_words(language)
    normalized = normalize_term(text)
    if len(text) > _LONG_TEXT:
        found = map(_matched, _WORD.finditer(normalized))
        return list(islice((token for token in found if _stop_form(token, language) not in left_out), max_tokens))
    # All at once takes half the time of one by one, which is for texts of which most is left out.
    is_plain = normalized.isascii() or _NOT_PLAIN.search(normalized) is None
    words: list[str] = (_PLAIN_WORD if is_plain else _WORD).findall(normalized)
    if language == "el":
        without_accents = _without_accents
        tokens = [word for word in words if without_accents[word] not in left_out]
    else:
        tokens = [word for word in words if word not in left_out]
    return tokens[:max_tokens]


def token_places(text: str, language: str, max_tokens: int | None = MAX_TOKENS) -> list[tuple[str, int, int]]:
    """The tokens of `tokenize`, each with its start and end in the text as it was given, in characters.

    >>> token_places("The cat, the CAT.", "en")
    [('cat', 4, 7), ('cat', 13, 16)]
    """
    left_out = stop_words(language)
    words = ((normalize_term(match.group()), *match.span()) for match in _WORD.finditer(text))
    return list(islice((word for word in words if _stop_form(word[0], language) not in left_out), max_tokens))
