"""Reads the direction of a search across languages."""

from __future__ import annotations

from reranker.base.errors import WrongParameter
from reranker.text.languages import language_code


def language_pair(text: str) -> tuple[str, str]:
    """The two codes of a direction: `fi-en`, from Finnish to English.

    Raises:
        WrongParameter: not two different languages joined by a hyphen.
        UnknownLanguage: one of them is not a known code.
    """
    parts = text.strip().split("-")
    if len(parts) != 2:
        raise WrongParameter(f"{text!r} is not a direction; give two languages such as fi-en (from Finnish to English)")
    language, target = language_code(parts[0]), language_code(parts[1])
    if language == target:
        raise WrongParameter(f"direction {text!r} has the same language twice; give two that differ, such as fi-en")
    return language, target
