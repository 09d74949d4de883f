"""Finds the known name that is nearest to an unknown one, for errors that name the cure."""

from __future__ import annotations

from collections.abc import Iterable

from rapidfuzz import fuzz, process

# Below this similarity (0 to 100) another name is no help.
_MIN_SIMILARITY = 60.0


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A question that names the known name most similar to `name`, ignoring case; empty where none is similar.

    >>> did_you_mean("Prot", ["host", "port"]), did_you_mean("zzz", ["host", "port"])
    ("did you mean 'port'?", '')
    """
    found = process.extractOne(name, list(known), scorer=fuzz.ratio, processor=str.lower, score_cutoff=_MIN_SIMILARITY)
    return "" if found is None else f"did you mean {found[0]!r}?"
