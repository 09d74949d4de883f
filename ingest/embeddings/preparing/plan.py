"""Decides which parts to make for given documents, and in which order, and estimates their cost."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path

from ingest.embeddings import freedict
from ingest.embeddings.languages import LEAST_SHARE
from ingest.embeddings.preparing.parts import (
    DICTIONARIES,
    ENCODER,
    MAX_OTHERS,
    NAMES,
    PASSAGES,
    PUBLISHED,
    TRAINING,
    Encoded,
    Estimate,
    Part,
    Training,
)
from ingest.embeddings.preparing.passages import ENCODER_BYTES, PassageMap
from ingest.embeddings.preparing.published_part import published_parts
from ingest.embeddings.preparing.texts import Texts
from reranker.base.errors import WrongParameter

# Of the joined store: 4 bytes for each of 384 dimensions, as many as the encoders have.
_BYTES_A_WORD = 384 * 4

NEEDS_ENCODER = "it needs the part encoder"


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan.

    Attributes:
        parts: in the order of making, each with its cost. If two have the same name, the second is made if the first
            cannot be.
        left_out: name → why a part is not made.
        passage_map: the map of the joined parts and its cost; None: no map.
    """

    parts: list[tuple[Part, Estimate]]
    left_out: dict[str, str]
    output_bytes: int
    passage_map: tuple[PassageMap, Estimate] | None = None

    def steps(self) -> list[tuple[Part | PassageMap, Estimate]]:
        """All steps in order, with their cost."""
        return [*self.parts, *([] if self.passage_map is None else [self.passage_map])]

    @property
    def seconds(self) -> float:
        """Time of the first part of each name, and of joining, mapping and checking."""
        return sum(one.seconds for one in self._first()) + 20

    @property
    def download_bytes(self) -> int:
        return sum(one.download_bytes for one in self._first())

    def _first(self) -> list[Estimate]:
        """The cost of the first step of each name."""
        found: dict[str, Estimate] = {}
        for step, one in self.steps():
            found.setdefault(step.name, one)
        return list(found.values())


def check_names(names: Iterable[str]) -> frozenset[str]:
    """Checks the names of parts to leave out.

    Raises:
        WrongParameter: there is no such part, or all are left out.
    """
    left_out = frozenset(name.strip() for name in names if name.strip())
    unknown = sorted(left_out - set(NAMES))
    if unknown:
        raise WrongParameter(f"there is no part {unknown[0]!r}; the parts are {', '.join(NAMES)}")
    if left_out >= {PUBLISHED, TRAINING, ENCODER}:
        raise WrongParameter("all sources of embeddings are left out; leave fewer parts out")
    return left_out


def make_plan(
    texts: Texts,
    home: Path,
    without: Container[str] = (),
    n_threads: int = 1,
    query_languages: Iterable[str] = (),
) -> Plan:
    """A plan for the languages of the texts.

    Args:
        home: folder of fetched files and encoded words.
        without: names of parts to leave out.
        query_languages: languages of queries, which the texts need not be in.
    """
    left_out = {name: "as asked" for name in NAMES if name in without}
    languages = list(dict.fromkeys([*texts.languages, *query_languages]))
    dictionaries = _dictionaries(languages, left_out)
    parts: list[Part] = []
    training = _training(texts, left_out, dictionaries if ENCODER in left_out else (), home)
    if training is not None:
        parts.append(training)
    if ENCODER not in left_out:
        parts.append(Encoded(languages, home, dictionaries, n_threads))
    if PUBLISHED not in left_out:
        found, reason = published_parts(languages, home)
        parts += found
        if not found:
            left_out[PUBLISHED] = reason
    n_words = sum(map(len, texts.collection.document_frequencies.values()))
    if any(part.name == PUBLISHED for part in parts):
        n_words += MAX_OTHERS * len(languages)
    passage_map = _passage_map(languages, left_out, home, n_threads)
    return Plan(
        [(part, part.estimate(texts)) for part in parts],
        left_out,
        n_words * _BYTES_A_WORD + (0 if passage_map is None else ENCODER_BYTES),
        None if passage_map is None else (passage_map, passage_map.estimate(texts)),
    )


def _passage_map(languages: list[str], left_out: dict[str, str], home: Path, n_threads: int) -> PassageMap | None:
    if PASSAGES in left_out:
        return None
    if ENCODER in left_out:
        left_out[PASSAGES] = NEEDS_ENCODER
    elif languages != ["en"]:
        left_out[PASSAGES] = "the documents or the queries are not in English alone"
    return None if PASSAGES in left_out else PassageMap(home, n_threads)


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


def _training(texts: Texts, left_out: dict[str, str], dictionaries: tuple[str, ...], home: Path) -> Training | None:
    if TRAINING in left_out:
        return None
    if texts.n_documents < 2:
        left_out[TRAINING] = "one document is not enough"
        return None
    n_main = next(iter(texts.languages.values()))
    if len(texts.languages) > 1 and (texts.n_aligned > 1 or dictionaries):
        return Training(None, dictionaries, home)
    if n_main >= LEAST_SHARE * texts.n_documents:
        return Training(next(iter(texts.languages)))
    left_out[TRAINING] = (
        f"the documents are in {', '.join(texts.languages)}, and none are marked as translations of each other; "
        'give translations the same "group" (--group-field names another field)'
    )
    return None
