"""Detects the language of a text with py3langid, and its script."""

from __future__ import annotations

import unicodedata
from collections import Counter
from functools import cache
from typing import Any

from reranker.text.languages import OTHER_CODES, known_languages

# ISO 639-2's code for an undetermined language.
UNKNOWN_LANGUAGE = "und"

# More letters change no result, and detection takes longer.
_MAX_LETTERS = 2_000


def detect_language(text: str, min_confidence: float) -> str:
    """The ISO 639-1 code of a text's language; `und` if the confidence is too low, Sinkrank does not know the language,
    or the text has no letter."""
    beginning = text[:_MAX_LETTERS]
    if not any(map(str.isalpha, beginning)):
        return UNKNOWN_LANGUAGE
    code, confidence = _identifier().classify(beginning)
    code = OTHER_CODES.get(code, code)
    return code if confidence >= min_confidence and code in known_languages() else UNKNOWN_LANGUAGE


def main_script(text: str) -> str:
    """The script of most letters at the beginning of a text, in Unicode's word (`LATIN`); `""` if there are none.

    What Japanese is written in is one script with Chinese: a Japanese title may have no kana.

    >>> main_script("HTMLの使い方の説明"), main_script("12 §")
    ('CJK', '')
    """
    letters = Counter(filter(str.isalpha, unicodedata.normalize("NFKC", text[:_MAX_LETTERS])))
    scripts: Counter[str] = Counter()
    for letter, n in letters.items():
        scripts[_script(letter)] += n
    return scripts.most_common(1)[0][0] if scripts else ""


@cache
def _script(letter: str) -> str:
    name = unicodedata.name(letter, "").partition(" ")[0]
    return "CJK" if name in ("HIRAGANA", "KATAKANA") else name


@cache
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
