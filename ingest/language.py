"""Detects the language of a text with py3langid."""

from __future__ import annotations

from functools import cache
from typing import Any

from reranker.text.languages import known_languages

# ISO 639-2's code for what is not determined.
UNKNOWN_LANGUAGE = "und"

# More tells no more, and long texts take longer.
_MAX_LETTERS = 2_000

# Norwegian is one language here; py3langid tells its two written forms apart.
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
