"""Splits text in scripts without spaces between words into words, with the dictionaries of ICU (extra `words`).

Chinese, Japanese, Thai, Lao, Khmer and Burmese. The words do not depend on the language: ICU has one dictionary for
Chinese and Japanese together, and one for each of the other scripts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache

import regex

from reranker.base.errors import BadInput

UNSPACED_LANGUAGES = {
    "ja": "Japanese",
    "km": "Khmer",
    "lo": "Lao",
    "my": "Burmese",
    "th": "Thai",
    "zh": "Chinese",
}
"""The languages whose words are found here, by ISO 639-1 code."""

# For a set of `regex`, version 1. Of the long vowel sign ー the script is "common", as it stands in two scripts.
UNSPACED_LETTERS = r"[[\p{Han}\p{Hiragana}\p{Katakana}ー\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]&&[\p{L}\p{M}]]"
"""Letters and marks of scripts without spaces; their digits are digits as all others."""

_LETTER = rf"[{UNSPACED_LETTERS}--\p{{M}}]"
_UNSPACED = regex.compile(f"(?V1){_LETTER}")
# Thai is the first of these scripts; `re` passes over the letters before it in a tenth of the time.
_FROM_THAI = re.compile("[\u0e00-\U0010ffff]")
# A mark stays with the letter before it, of whatever script.
_ONE_KIND = regex.compile(rf"(?V1){_LETTER}[{UNSPACED_LETTERS}\p{{M}}]*+|(?:[^{UNSPACED_LETTERS}]|\p{{M}})++")

# No run holds it, so no word goes over it.
_BETWEEN = "\n"


def split_words(tokens: Sequence[str]) -> list[str]:
    """Splits normalised tokens of unspaced scripts into words, in reading order; joined, they are the input.

    Without ICU a token is split only where its script changes.

    >>> split_words(["libreofficeの使い方"])
    ['libreoffice', 'の', '使い方']
    """
    joined = _BETWEEN.join(tokens)
    if _FROM_THAI.search(joined) is None or _UNSPACED.search(joined) is None:
        return list(tokens)
    runs = [run for token in tokens for run in _ONE_KIND.findall(token)]
    breaker = _word_breaker()
    if breaker is None:
        return runs
    # One call for all runs: making the breaker takes longer than splitting a sentence.
    unspaced = [run for run in runs if _UNSPACED.match(run)]
    words = iter(breaker(_BETWEEN.join(unspaced)))
    found: list[str] = []
    for run in runs:
        if not _UNSPACED.match(run):
            found.append(run)
            continue
        for word in words:
            if word == _BETWEEN:
                break
            found.append(word)
    return found


def can_split(language: str) -> bool:
    """Whether the words of a language can be found: false for a language without spaces if ICU is not installed."""
    return language not in UNSPACED_LANGUAGES or _word_breaker() is not None


def check_can_split(languages: Iterable[str], what: str) -> None:
    """Refuses languages whose words cannot be found.

    Args:
        what: the subject of the error message: what is in these languages.

    Raises:
        BadInput: ICU is needed but not installed.
    """
    refused = [UNSPACED_LANGUAGES[language] for language in languages if not can_split(language)]
    if refused:
        raise BadInput(
            f"{what} {', '.join(sorted(refused))}, which has no spaces between words; install the package that finds "
            "them: pip install 'sinkrank[words]'"
        )


@cache
def _word_breaker() -> Callable[[str], list[str]] | None:
    try:
        from icu4py.breakers import WordBreaker
        from icu4py.locale import Locale
    except ImportError:
        return None
    # The dictionaries are those of the scripts. This locale has no rules of its own.
    root = Locale("und")
    return lambda text: list(WordBreaker(text, root))
