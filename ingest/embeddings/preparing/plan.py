"""Decides which parts to make for given documents, and in which order."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path

from ingest.embeddings import freedict
from ingest.embeddings.preparing.other_languages import OtherLanguages
from ingest.embeddings.preparing.parts import (
    DICTIONARIES,
    ENCODER,
    LANGUAGES,
    NAMES,
    PASSAGES,
    TRAINING,
    EmbeddingsPart,
    Encoded,
    Training,
)
from ingest.embeddings.preparing.passages import PassageMap
from ingest.embeddings.preparing.texts import DocumentFile
from ingest.embeddings.sentence_models import model_of
from reranker.base.errors import BadInput, WrongParameter
from reranker.text.segmentation import check_can_split

NEEDS_ENCODER = "it needs the part encoder"

# With a smaller share, the embeddings of the most frequent language would skip more than a few stray texts.
_LEAST_SHARE = 0.9

LastStep = PassageMap | OtherLanguages


@dataclass(frozen=True, slots=True)
class PreparationPlan:
    """A plan.

    Attributes:
        parts: in the order of making.
        left_out: name → why a part is not made.
        last: the steps after the parts are joined, in order.
    """

    parts: list[EmbeddingsPart]
    left_out: dict[str, str]
    last: list[LastStep]

    def steps(self) -> list[EmbeddingsPart | LastStep]:
        """All steps in order."""
        return [*self.parts, *self.last]


def check_names(names: Iterable[str]) -> frozenset[str]:
    """Checks the names of parts to leave out.

    Raises:
        WrongParameter: there is no such part, or all are left out.
    """
    left_out = frozenset(name.strip() for name in names if name.strip())
    unknown = sorted(left_out - set(NAMES))
    if unknown:
        raise WrongParameter(f"there is no part {unknown[0]!r}; the parts are {', '.join(NAMES)}")
    if left_out >= {TRAINING, ENCODER}:
        raise WrongParameter("all sources of embeddings are left out; leave fewer parts out")
    return left_out


def make_plan(
    texts: DocumentFile,
    home: Path,
    without: Container[str] = (),
    n_threads: int = 1,
    query_languages: Iterable[str] = (),
) -> PreparationPlan:
    """A plan for the languages of the texts.

    The first language is that of nine tenths of the documents. It is prepared as if there were no others; the other
    languages are mapped into its space. If no language has as many, or if documents are marked as translations of each
    other, all languages of documents are the first ones.

    Args:
        home: folder of fetched files and encoded words.
        without: names of parts to leave out.
        query_languages: languages of queries, which the texts need not be in.

    Raises:
        BadInput: there would be no words of a query language.
    """
    left_out = {name: "as asked" for name in NAMES if name in without}
    first = first_languages(texts)
    others = [code for code in dict.fromkeys([*texts.languages, *query_languages]) if code not in first]
    dictionaries = _dictionaries([*first, *others], left_out)
    of_first = tuple(pair for pair in dictionaries if set(pair.split("-")) <= set(first))
    of_others = tuple(pair for pair in dictionaries if pair not in of_first)
    parts: list[EmbeddingsPart] = []
    if TRAINING not in left_out:
        try:
            parts.append(Training(language_to_train(texts)))
        except BadInput as error:
            left_out[TRAINING] = str(error)
    if ENCODER not in left_out:
        parts.append(Encoded(model_of(first), first, home, of_first, n_threads))
    last: list[LastStep] = []
    if ENCODER in left_out:
        left_out.setdefault(PASSAGES, NEEDS_ENCODER)
        if others:
            left_out.setdefault(LANGUAGES, NEEDS_ENCODER)
    elif others and LANGUAGES not in left_out:
        _check_words(others, texts, dictionaries, are_left_out=DICTIONARIES in without)
        last.append(OtherLanguages(first, others, home, of_others, n_threads))
    if texts.is_aligned:
        left_out.setdefault(PASSAGES, "it would separate words that translations have brought together")
    if PASSAGES not in left_out:
        last.insert(0, PassageMap(model_of(first), first, home, n_threads))
    return PreparationPlan(parts, left_out, last)


def first_languages(texts: DocumentFile) -> list[str]:
    """The languages that are prepared together; see `make_plan`."""
    languages = list(texts.languages)
    if not texts.is_aligned and texts.languages[languages[0]] >= _LEAST_SHARE * texts.n_documents:
        return languages[:1]
    return languages


def language_to_train(texts: DocumentFile, asked: str | None = None) -> str | None:
    """The language to train on; None for all languages, by the groups of translations.

    Raises:
        BadInput: there is too little text, it is in several languages without translations, or the words of a language
            cannot be found.
    """
    if asked is not None:
        check_can_split([asked], "--lang names")
    languages = first_languages(texts) if asked is None else [asked]
    counted = ", ".join(f"{code} {n:,}" for code, n in texts.languages.items())
    if len(languages) > 1 and not texts.is_aligned:
        raise BadInput(
            f"the documents are in several languages ({counted}), and none are marked as translations of each other; "
            'give translations the same "group" (--group-field names another field). Without, `sinkrank embeddings '
            "prepare` puts the languages into one space, and `train --lang CODE` trains one of them"
        )
    if sum(texts.languages.get(language, 0) for language in languages) < 2:
        raise BadInput(
            f"training needs at least 2 documents, and some thousands to be good; there are {counted}: give more in "
            f"{languages[0]}"
        )
    return languages[0] if len(languages) == 1 else None


def _check_words(
    others: Iterable[str], texts: DocumentFile, dictionaries: Iterable[str], *, are_left_out: bool
) -> None:
    """Checks that there are words of each other language: those of its documents, or of a dictionary.

    Raises:
        BadInput: otherwise.
    """
    translated = {code for pair in dictionaries for code in pair.split("-")}
    without = ", ".join(code for code in others if code not in texts.languages and code not in translated)
    if without:
        reason = (
            "--without leaves the dictionaries out; keep them"
            if are_left_out
            else f"FreeDict has no dictionary between it and {', '.join(texts.languages)}; leave it out of --queries-in"
        )
        raise BadInput(f"no query in {without} would have a known word: no document is in it, and {reason}")


def _dictionaries(languages: list[str], left_out: dict[str, str]) -> tuple[str, ...]:
    if DICTIONARIES in left_out:
        return ()
    if len(languages) < 2:
        left_out[DICTIONARIES] = "the documents are in one language"
        return ()
    every = [(one, other) for one, other in permutations(languages, 2) if f"{one}-{other}" in freedict.LICENCES]
    # Dictionaries between two other languages that are linked with the main one would add encoding time for little
    # gain.
    main = languages[0]
    linked = {code for pair in every if main in pair for code in pair}
    found = tuple("-".join(pair) for pair in every if main in pair or not linked.issuperset(pair))
    if not found:
        left_out[DICTIONARIES] = f"FreeDict has none between {', '.join(languages)}"
    return found
