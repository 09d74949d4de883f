"""Normalises terms and texts: lower case, NFC, and letters that the language or the script treats as one.

The rules for scripts apply in every language. They are those of Lucene's analyzers, which the engines use:

    all         final ς is σ; İ is i (without a separate dot)
    Arabic      tatweel, short vowels and other marks are removed
    Hebrew      points and accents are removed
    Indic       joiners (ZWJ, ZWNJ) within a word are removed
    full width  Ａ is a; half-width katakana become wide
    ligatures   ﬁ is fi

    tr, az      I is ı, and İ is i
    de          ß is ss, as in capitals and in Switzerland
    ru          ё is е
    uk, be      an apostrophe within a word is its letter ʼ (U+02BC)
    ca          l·l keeps its dot, as ŀl
    ar          أ إ آ ٱ are ا; ى and ی are ي; ک is ك; ة is ه
    fa          أ إ ٱ are ا; ي and ى are ی; ك is ک; ة and ۀ are ه

A letter has at most 30 combining marks.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence

import regex

# Of no language in particular (ISO 639-2: undetermined).
UNDETERMINED = "und"

_DOT = "\u0307"
_APOSTROPHE = re.compile(r"(?<=[^\W\d_])['\u2019](?=[^\W\d_])")
_CATALAN_DOT = re.compile("l\u00b7(?=l)")

# Where the rules of scripts have something to do.
_SPECIAL = re.compile("[\u0591-\u06ed\u200c\u200d]")
_JOINER = re.compile("(?<=[\u0900-\u0dff])[\u200c\u200d]+")
# NFC puts marks in order, in time that grows with the square of their number. Unicode's Stream-Safe Text Format allows
# 30 in a row (UAX 15), as `letters.h` does. Three Tibetan vowels have no class (ccc), but consist of two such marks.
_MARK = r"[\P{ccc=0}\u0f73\u0f75\u0f81]"
_SURPLUS_MARKS = regex.compile(rf"(?V1)({_MARK}{{30}}){_MARK}++")
_PRESENTED = re.compile("[\ufb00-\ufb06\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\uff66-\uff9f]+")

_POINTS = [*range(0x591, 0x5BE), 0x5BF, 0x5C1, 0x5C2, 0x5C4, 0x5C5, 0x5C7]
_HARAKAT = [*range(0x610, 0x61B), 0x640, *range(0x64B, 0x660), 0x670, *range(0x6D6, 0x6DD), *range(0x6DF, 0x6E5)]
_HARAKAT += [0x6E7, 0x6E8, *range(0x6EA, 0x6EE)]
REMOVED: dict[int, str | None] = dict.fromkeys([*_POINTS, *_HARAKAT])
"""Marks, and the Arabic tatweel, that are taken off in every language."""

REPLACED: Mapping[str, Mapping[str, str]] = {
    "ar": dict(zip("أإآٱىیکة", "ااااييكه", strict=True)),
    "de": {"ß": "ss"},
    "fa": dict(zip("أإٱىيكةۀ", "اااییکهه", strict=True)),
    "ru": {"ё": "е"},
}
"""Letters of a language, in lower case, and the one or two that stand for each."""
_REPLACED_OR_REMOVED = {
    language: {**REMOVED, **{ord(letter): found for letter, found in own.items()}} for language, own in REPLACED.items()
}


def normalize_term(term: str, language: str = UNDETERMINED) -> str:
    """The normalised form of a term or a text of a language.

    >>> normalize_term("İSTANBUL ISPARTA", "tr")
    'istanbul ısparta'
    >>> normalize_term("İSTANBUL ISPARTA", "en")
    'istanbul isparta'
    """
    before, after = _BEFORE.get(language), _AFTER.get(language)
    term = term if before is None else before(term)
    if _PRESENTED.search(term) is not None:
        term = _PRESENTED.sub(lambda match: unicodedata.normalize("NFKC", match.group()), term)
    lower = term.lower()
    if lower.isascii() and after is None:
        return lower
    if _SURPLUS_MARKS.search(lower) is not None:
        lower = _SURPLUS_MARKS.sub(r"\1", lower)
    text = unicodedata.normalize("NFC", lower).replace("ς", "σ").replace(f"i{_DOT}", "i")
    if after is not None:
        text = after(text)
    if language in REPLACED or _SPECIAL.search(text):
        return _JOINER.sub("", text.translate(_REPLACED_OR_REMOVED.get(language, REMOVED)))
    return text


def as_written(term: str, language: str) -> str:
    """A normalised term as people write it: with final ς in Greek, l·l in Catalan, and the apostrophe of keyboards in
    Ukrainian and Belarusian.

    >>> as_written("λόγοσ", "el")
    'λόγος'
    """
    if language == "ca":
        return term.replace("ŀ", "l·")
    if language in ("be", "uk"):
        return term.replace("\u02bc", "'")
    return f"{term[:-1]}ς" if language == "el" and term.endswith("σ") else term


def spellings(term: str, language: str) -> tuple[str, ...]:
    """A normalised term in the spellings that texts most often have, for an engine that may not normalise; first as of
    `as_written`.

    >>> spellings("heisse", "de"), spellings("комп\u02bcютер", "uk")[:2]
    (('heisse', 'heiße'), ("комп'ютер", 'комп’ютер'))
    """
    found = [as_written(term, language)]
    for pattern, letters in _SPELLED.get(language, ()):
        places = [(one, match) for one in found for match in pattern.finditer(one)]
        found += [f"{one[: at.start()]}{letter}{one[at.end() :]}" for one, at in places for letter in letters]
    return tuple(found)


def _without_dot(text: str) -> str:
    return text.replace("I\u0307", "i").replace("İ", "i").replace("I", "ı")


def _with_letter_apostrophe(text: str) -> str:
    return _APOSTROPHE.sub("\u02bc", text)


# What stands in texts for letters of a normalised term, at one place of it.
_SPELLED: Mapping[str, Sequence[tuple[re.Pattern[str], str]]] = {
    "ar": ((re.compile("^ا(?!ل)|(?<=^ال)ا"), "أإ"), (re.compile("ه$"), "ة"), (re.compile("ي$"), "ى")),
    "be": ((re.compile("'"), "\u2019\u02bc"),),
    "de": ((re.compile("ss"), "ß"),),
    "ru": ((re.compile("е"), "ё"),),
    "uk": ((re.compile("'"), "\u2019\u02bc"),),
}
_BEFORE: dict[str, Callable[[str], str]] = {"tr": _without_dot, "az": _without_dot}
_AFTER: dict[str, Callable[[str], str]] = {
    "be": _with_letter_apostrophe,
    "ca": lambda text: _CATALAN_DOT.sub("ŀ", text),
    "uk": _with_letter_apostrophe,
}
