"""Turns a text into tokens: words and numbers in lower case, without stop words, at most the first 2,000 words.

A word has letters only. A number is any token with a digit in it: `8601`, `h264`, `3.14`, `0x80070005`, `utf8_general`.
Only words have embeddings; a number matches only as written.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache

import regex

from reranker.text.normalization import normalize_term
from reranker.text.segmentation import UNSPACED_LETTERS, check_can_split, split_words

# Of a document. With 500, as in Balikas et al. 2018 (section 4), pages whose answer stands later fall below BM25
# (papers/results/order.md).
MAX_TOKENS = 2_000

MAX_QUERY_TOKENS = 500
"""A query may be a whole page, whose words take a search that much longer."""

# What is found out about a token is worth keeping for words; a text may as well be one token of a million letters.
LONGEST_CACHED_TOKEN = 64

# More than most texts take for each, with blanks and stop words.
_LETTERS_A_TOKEN = 20

# Raise it whenever the tokens of a text change: an index made by another version is then refused.
TOKENIZER_VERSION = 6

# Raise it whenever a word that embeddings may hold becomes another token: they have words only, and are then refused.
WORDS_VERSION = 2

# A letter with its combining marks.
_WORD = regex.compile(r"\p{L}[\p{L}\p{M}]*+")

# A number is a run of letters and digits with a digit in it; a point or a comma joins two digits. It stays apart from
# letters of scripts without spaces between words, and from Hangul, which writes endings after a number: "第8章" holds
# 第, 8 and 章, and "新型iPhone13" 新型 and iphone13. What ends with such letters before a number is a word.
_APART = rf"[{UNSPACED_LETTERS}\p{{Hangul}}]"
_LETTER, _INNER, _ANY = (rf"[[{kinds}]--{_APART}]" for kinds in (r"\p{L}", r"\p{L}\p{M}", r"\p{L}\p{M}\p{Nd}"))
_NUMBER = rf"(?:{_LETTER}{_INNER}*+)?\p{{Nd}}{_ANY}*+(?:[.,](?<=\p{{Nd}}.)(?=\p{{Nd}}){_ANY}++)*+"
_BEFORE_NUMBER = rf"(?=\p{{L}})[\p{{L}}\p{{M}}]*{_APART}\p{{M}}*+"
_TOKEN = regex.compile(rf"(?V1){_WORD.pattern}(?!\p{{Nd}})|{_NUMBER}|{_BEFORE_NUMBER}")

_DIGIT = re.compile(r"\d")
# What makes a digit an emoji: the variation selector and the key around it.
_KEYCAP = re.compile("[\ufe0f\u20e3]")
_BLANK = re.compile(r"\s")
_ACCENTS = re.compile("[\u0300-\u036f]")


UNACCENTED_STOP_WORDS = frozenset({"el"})
"""Languages whose stop words are compared without accents."""

# What an apostrophe parts from the next word, where the language's list lacks it (Lucene's CatalanAnalyzer has these).
_ELIDED = {"ca": ("d", "l", "m", "n", "s", "t")}


@cache
def stop_words(language: str) -> frozenset[str]:
    """The stop words of an ISO 639-1 code, in the form of `_stop_form`; empty if there is no list.

    Snowball's lists of function words for the 14 languages that have one, stopwords-iso for the others: its lists
    remove content words too (English `computer` and `page`, Russian `женщина`), and digits, which are left out here.
    """
    from whoosh.lang.stopwords import stoplists

    words = [*(stoplists.get(language) or _stopwords_iso(language)), *_ELIDED.get(language, ())]
    return frozenset(_stop_form(normalize_term(word, language), language) for word in words if not has_digit(word))


def _stopwords_iso(language: str) -> Iterable[str]:
    import stopwordsiso  # slow to import

    found: Iterable[str] = stopwordsiso.stopwords(language) if stopwordsiso.has_lang(language) else ()
    return found


def _stop_form(token: str, language: str) -> str:
    """The Greek list is written without accents; elsewhere an accent parts words (French ou and où)."""
    if language not in UNACCENTED_STOP_WORDS:
        return token
    return "".join(map(_without_marks, token))


@lru_cache(1_000)
def _without_marks(letter: str) -> str:
    # One by one, as `normalize` asks for more memory every 20 letters: where that copies, a long token takes minutes.
    return _ACCENTS.sub("", unicodedata.normalize("NFD", letter))


def is_stop_word(token: str, language: str) -> bool:
    """Whether a normalised token is a stop word of the language."""
    return _stop_form(token, language) in stop_words(language)


def has_digit(token: str) -> bool:
    """Whether a token is a number; numbers have no embedding."""
    return not token.isalpha() and _DIGIT.search(token) is not None


def tokenize(
    text: str, language: str, max_tokens: int | None = MAX_TOKENS, *, with_stop_words: bool = False
) -> list[str]:
    """The tokens of a text in reading order, without the stop words of its language.

    Args:
        max_tokens: maximum number of words, and of numbers.

    >>> tokenize("Ο λόγος: 2 Λόγοι!", "el")
    ['λόγοσ', '2', 'λόγοι']
    >>> tokenize("The SKU-00001, the RFC 2822 and 3.5 m.", "en")
    ['sku', '00001', 'rfc', '2822', '3.5', 'm']
    """
    tokens: list[str] = []
    for part in parts_of(text, max_tokens):
        found = _found(part, language)
        tokens += found if with_stop_words else _without_stop_words(found, language)
        if max_tokens is not None and len(tokens) >= max_tokens:
            tokens, is_full = _cut(tokens, max_tokens)
            if is_full:
                break
    return tokens


def letter_tokens(
    text: str, language: str, max_tokens: int | None = MAX_TOKENS, *, with_stop_words: bool = False
) -> list[str]:
    """The runs of letters in a text, without stop words. Training and language detection use these.

    Unlike the words of `tokenize` they may be part of a number.

    Raises:
        BadInput: the language has no spaces between words, and the package that finds words is not installed.

    >>> letter_tokens("UTF8 encodes 2 mats.", "en")
    ['utf', 'encodes', 'mats']
    """
    check_can_split((language,), "texts were given in")
    tokens: list[str] = []
    for part in parts_of(text, max_tokens):
        runs = split_words(_WORD.findall(normalize_term(part, language)))
        tokens += runs if with_stop_words else _without_stop_words(runs, language)
        if max_tokens is not None and len(tokens) >= max_tokens:
            break
    return tokens[:max_tokens]


def is_word(term: str, language: str) -> bool:
    """Whether a text can contain a normalised term as one word."""
    return letter_tokens(term, language, None, with_stop_words=True) == [term]


def parts_of(text: str, max_tokens: int | None = MAX_TOKENS) -> Iterator[str]:
    """Splits a long text into parts between tokens, so that only as much as needed is read."""
    start, length = 0, _LETTERS_A_TOKEN * (max_tokens or MAX_TOKENS)
    while len(text) - start > length:
        blank = _BLANK.search(text, start + length)
        if blank is None:
            break
        yield text[start : blank.start()]
        start = blank.start()
    yield text[start:] if start else text


def _without_stop_words(tokens: Iterable[str], language: str) -> list[str]:
    left_out = stop_words(language)
    return [token for token in tokens if _stop_form(token, language) not in left_out]


def _cut(tokens: list[str], max_tokens: int) -> tuple[list[str], bool]:
    """The tokens up to the maximum numbers of words and numbers, and whether the maximum of words was reached."""
    numbers = [place for place, token in enumerate(tokens) if not token.isalpha() and has_digit(token)]
    end = max_tokens
    for place in numbers:
        if place >= end:
            break
        end += 1
    surplus = set(numbers[max_tokens:])
    found = tokens[:end]
    if surplus:
        found = [token for place, token in enumerate(found) if place not in surplus]
    return found, len(tokens) >= end


def _found(text: str, language: str) -> list[str]:
    """The tokens of a text that is not normalised, with stop words."""
    return [with_ascii_digits(token) for token in split_words(_TOKEN.findall(normalize_term(text, language)))]


def found_with_starts(normalized: str) -> list[tuple[str, int, int]]:
    """The tokens of a normalised text, with stop words: each with its start and its length in that text."""
    matches = list(_TOKEN.finditer(normalized))
    words = iter(split_words([match.group() for match in matches]))
    found = []
    for match in matches:
        start = match.start()
        while start < match.end():
            word = next(words)
            found.append((with_ascii_digits(word), start, len(word)))
            start += len(word)
    return found


def with_ascii_digits(token: str) -> str:
    """A number in ASCII digits, whatever its script; a word as it is."""
    if token.isalpha() or token.isascii() or not has_digit(token):
        return token
    return _KEYCAP.sub("", "".join(str(unicodedata.decimal(letter, letter)) for letter in token))
