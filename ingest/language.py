"""Detects the language of a text with py3langid."""

from __future__ import annotations

from functools import cache
from typing import Any

from reranker.text.languages import known_languages

# ISO 639-2's code for an undetermined language.
UNKNOWN_LANGUAGE = "und"

# More letters change no result, and detection takes longer.
_MAX_LETTERS = 2_000

# Sinkrank has one code for Norwegian; py3langid has one for each of its two written forms.
_RENAMED = {"nb": "no", "nn": "no"}


def detect_language(text: str, min_confidence: float) -> str:
    """The ISO 639-1 code of a text's language; `und` if the confidence is too low, Sinkrank does not know the language,
    or the text has no letter."""
    beginning = text[:_MAX_LETTERS]
    if not any(map(str.isalpha, beginning)):
        return UNKNOWN_LANGUAGE
    code, confidence = _identifier().classify(beginning)
    code = _RENAMED.get(code, code)
    return code if confidence >= min_confidence and code in known_languages() else UNKNOWN_LANGUAGE


@cache
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
