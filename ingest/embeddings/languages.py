"""Decides in which languages to train: in several if texts are translations of each other, otherwise in one."""

from __future__ import annotations

from ingest.embeddings.unit_counts import UnitCounter
from reranker.base.errors import BadInput

# With a smaller share, training on the most frequent language would skip more than a few stray texts.
LEAST_SHARE = 0.9
_SHOWN_LANGUAGES = 5

_CURE = (
    'give translations of each other the same "group" (--group-field names another field), train one language with '
    "--lang, or use `sinkrank embeddings prepare`, which puts several languages into one space"
)


def choose_language(counter: UnitCounter, language: str | None) -> str | None:
    """The language to train on; None to train on all languages, with the groups in two or more of them.

    A few documents in other languages are skipped: some quote foreign texts, or are detected wrongly. More than a tenth
    is an error, since searches could not find them.

    Args:
        language: the requested language.

    Raises:
        BadInput: there is too little text, or it is in several languages without translations.
    """
    n_units = counter.n_units
    if not n_units:
        raise BadInput(
            "there is no text to train on; give documents with a title or a text (--text-field names its field) and a "
            "language (--lang gives the default)"
        )
    if language is None and len(n_units) > 1 and counter.n_aligned_groups > 1:
        return None
    found = next(iter(n_units)) if language is None else language
    if language is None and n_units[found] < LEAST_SHARE * sum(n_units.values()):
        raise BadInput(
            f"the texts are in {len(n_units)} languages ({_shown(n_units)}), but have {counter.n_aligned_groups} "
            f"groups of translations; training needs at least 2, and some thousands to be good; {_CURE}"
        )
    if n_units.get(found, 0) < 2:
        raise BadInput(
            f"{n_units.get(found, 0)} of the texts are in {found!r} (there are {_shown(n_units)}), but training needs "
            "at least 2, and some thousands to be good; give more texts in this language, or another one with --lang"
        )
    return found


def other_languages(counter: UnitCounter, chosen: str) -> list[str]:
    """A warning if there are texts in other languages than the chosen one."""
    n_units = counter.n_units
    if len(n_units) == 1:
        return []
    return [
        f"trained on {chosen!r} alone: the texts are in {len(n_units)} languages ({_shown(n_units)}) and not "
        f"translations of each other; {_CURE}"
    ]


def _shown(n_units: dict[str, int]) -> str:
    most = [f"{code} {n:,}" for code, n in list(n_units.items())[:_SHOWN_LANGUAGES]]
    return ", ".join([*most, "…"] if len(n_units) > _SHOWN_LANGUAGES else most)
