"""Decides in which languages to train: several where texts are translations of each other, one where none are."""

from __future__ import annotations

from ingest.embeddings.unit_counts import UnitCounter
from reranker.base.errors import BadInput

# Below it, training on the most frequent language would leave out more than a few strays.
LEAST_SHARE = 0.9
_SHOWN_LANGUAGES = 5

_CURE = (
    'give translations of each other the same "group" (--group-field names another field), or train each language '
    "alone, with --lang, and put the stores into one space with `sinkrank embeddings align`"
)


def choose_language(counter: UnitCounter, language: str | None) -> str | None:
    """The one language to train on; None for all of them, by the groups in two or more languages.

    A few documents in other languages are passed over: among many, some quote a foreign text, or are detected wrongly.
    Where they are more than a tenth that would lose what somebody wants to find, so it is an error.

    Args:
        language: the one that was asked for.

    Raises:
        BadInput: there is too little text, or it is in several languages without translations.
    """
    n_units = counter.n_units
    if not n_units:
        raise BadInput(
            "there is no text to train on; give documents with a title or a text (--text-field names its field) and a "
            "language (--lang gives that of documents that name none)"
        )
    if language is None and len(n_units) > 1 and counter.n_aligned_groups > 1:
        return None
    found = next(iter(n_units)) if language is None else language
    if language is None and n_units[found] < LEAST_SHARE * sum(n_units.values()):
        raise BadInput(
            f"the texts are in {len(n_units)} languages ({_shown(n_units)}), and training needs at least 2 groups of "
            f"translations, some thousands to be good, but {counter.n_aligned_groups} came; {_CURE}"
        )
    if n_units.get(found, 0) < 2:
        raise BadInput(
            f"{n_units.get(found, 0)} of the texts are in {found!r}, but training needs at least 2, and some thousands "
            f"to be good ({_shown(n_units)} came); give more texts in this language, or another one with --lang"
        )
    return found


def other_languages(counter: UnitCounter, chosen: str) -> list[str]:
    """A warning where there are texts in other languages than the chosen one."""
    n_units = counter.n_units
    if len(n_units) == 1:
        return []
    return [
        f"trained on {chosen!r} alone: the texts are in {len(n_units)} languages ({_shown(n_units)}) and are no "
        f"translations of each other; {_CURE}"
    ]


def _shown(n_units: dict[str, int]) -> str:
    most = [f"{code} {n:,}" for code, n in list(n_units.items())[:_SHOWN_LANGUAGES]]
    return ", ".join([*most, "…"] if len(n_units) > _SHOWN_LANGUAGES else most)
