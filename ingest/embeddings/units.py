"""Turns texts into counts: which unit, and which document, of a language holds which term."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ingest.embeddings.dictionaries import Dictionary, dictionary_units
from ingest.files import json_type, open_sources, parse, read_rows
from ingest.progress import Progress, no_progress
from reranker.documents import id_hash
from reranker.errors import BadInput, UnknownLanguage
from reranker.languages import language_code
from reranker.tokens import letter_tokens

Units = Iterable[Path | Dictionary | Mapping[str, Any]] | Path
"""Where aligned texts come from: files, dictionaries, rows at hand, in one row one after the other."""

_FIELDS = ("group", "language", "text")
_UNITS_A_REPORT = 512

MAX_PAIRS = 20_000_000
"""Distinct terms of units, summed over units, to train on; of longer input a sample of the groups. It bounds memory and
time: the SVD reads them ten times."""

MAX_TERMS = 300_000
"""Of a language: the most frequent ones."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A text that has translations: the units of one group say the same in different languages.

    Attributes:
        document: the document that it is a part of, in any language; by default its group. None: of none, as an entry
            of a dictionary is, and its words count in no document frequency.
    """

    group: str
    language: str
    text: str
    document: str | None


@dataclass(frozen=True, slots=True, eq=False)
class LanguageCounts:
    """The counted words of one language.

    Attributes:
        terms: n_terms of them, the most frequent first, equally frequent ones by the alphabet.
        units: (n_terms, n_groups) float32 sparse rows: 1 where a group holds the term in this language.
        document_frequencies: (n_terms,) int32.
        n_documents: documents that have a text in this language.
        n_rare: terms left out because they came too seldom.
    """

    terms: list[str]
    units: sparse.csr_matrix
    document_frequencies: NDArray[np.int32]
    n_documents: int
    n_rare: int


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """All languages, over the same groups.

    Attributes:
        languages: in the alphabetical order of their codes.
        n_groups: groups that train; the others have no column.
        n_unaligned: units of the others.
    """

    languages: dict[str, LanguageCounts]
    n_groups: int
    n_unaligned: int


def read_units(units: Units, progress: Progress = no_progress) -> Iterator[Unit]:
    """The units of JSONL files (plain or gzipped), of dictionaries, or of rows at hand, checked, as a stream; groups of
    one name are one group, in whatever file they stand.

    A row is `{"group": …, "language": …, "text": …}`, and may name its `"document"`.

    Raises:
        NotFound: there is no such file.
        BadInput: a row cannot be read, lacks a field or has an unknown language; with its file and line.
    """
    done = 0
    for done, (place, row) in enumerate(_rows(units), start=1):
        if done % _UNITS_A_REPORT == 0:
            progress(done, None, "counting words")
        yield _unit(place, row)
    progress(done, done, "counted words")


def _rows(units: Units) -> Iterator[tuple[str, Mapping[str, Any]]]:
    number = 0
    for unit in [units] if isinstance(units, Path) else units:
        if isinstance(unit, Path):
            yield from _rows_of_file(unit)
        elif isinstance(unit, Dictionary):
            yield from ((f"{unit.path}, a sense", row) for row in dictionary_units(unit))
        else:
            number += 1
            yield f"unit {number}", unit


def _rows_of_file(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    with open_sources([str(path)], "jsonl") as sources:
        for row in map(parse, read_rows(sources[0])):
            place = f"{path}, line {row.line}"
            if row.values is None:
                raise BadInput(f"{place}: {row.error}")
            yield place, row.values


def _unit(place: str, row: Mapping[str, Any]) -> Unit:
    for name in _FIELDS:
        value = row.get(name)
        if name not in row:
            raise BadInput(f'{place}: no "{name}"; a line is {{"group": "p1", "language": "fr", "text": "…"}}')
        if not isinstance(value, str) and not (name == "group" and type(value) is int):
            raise BadInput(f'{place}: "{name}" is {json_type(value)}; give a string')
    document = row.get("document", row["group"])
    if not isinstance(document, str | int | None) or document == "" or row["group"] == "":
        raise BadInput(f'{place}: "group" and "document" must be non-empty strings; give each an id')
    try:
        language = language_code(row["language"])
    except UnknownLanguage as error:
        raise BadInput(f"{place}: {error}") from error
    return Unit(str(row["group"]), language, row["text"], None if document is None else str(document))


class _LanguageCounter:
    """Counts one language; 8 bytes for each distinct term of a unit, and 8 for a unit."""

    def __init__(self) -> None:
        self.occurrences: Counter[str] = Counter()
        self.ids: dict[str, int] = {}
        self.pair_terms = array("i")
        self.pair_units = array("i")
        self.unit_groups = array("i")
        self.unit_documents = array("i")

    @property
    def groups(self) -> NDArray[np.int64]:
        """(n_units,) the group of each unit."""
        return np.array(self.unit_groups, dtype=np.int64)

    def add(self, tokens: list[str], group: int, document: int) -> int:
        """Counts a unit, whose document is -1 where it is a part of none; returns how many distinct terms it has."""
        unit = len(self.unit_groups)
        self.unit_groups.append(group)
        self.unit_documents.append(document)
        self.occurrences.update(tokens)
        ids = self.ids
        distinct = dict.fromkeys(tokens)
        for token in distinct:
            self.pair_terms.append(ids.setdefault(token, len(ids)))
            self.pair_units.append(unit)
        return len(distinct)

    def keep(self, is_kept: NDArray[np.bool_]) -> int:
        """Forgets the units of the other groups; returns how many pairs are left.

        Args:
            is_kept: (n_groups,)
        """
        units = is_kept[self.groups]
        pairs = units[np.array(self.pair_units)]
        self.pair_terms = _array(np.array(self.pair_terms)[pairs])
        self.pair_units = _array((np.cumsum(units) - 1)[np.array(self.pair_units)[pairs]])
        self.unit_groups = _array(self.groups[units])
        self.unit_documents = _array(np.array(self.unit_documents)[units])
        return len(self.pair_terms)

    def result(self, columns: NDArray[np.int64], n_columns: int, n_documents: int, min_count: int) -> LanguageCounts:
        """
        Args:
            columns: (n_groups,) column of each group, or -1 for one that has none.
            n_documents: documents of all languages.
        """
        n_units = np.bincount(np.array(self.pair_terms, dtype=np.int64), minlength=len(self.ids))
        kept = [term for term, n in self.occurrences.items() if n >= min_count and n_units[self.ids[term]]]
        kept.sort(key=lambda term: (-self.occurrences[term], term))
        del kept[MAX_TERMS:]
        rows = np.full(len(self.ids), -1, dtype=np.int64)
        rows[[self.ids[term] for term in kept]] = np.arange(len(kept))
        pair_rows = rows[np.array(self.pair_terms, dtype=np.int64)]
        pair_units = np.array(self.pair_units, dtype=np.int64)
        groups = columns[self.groups][pair_units]
        documents = np.array(self.unit_documents, dtype=np.int64)
        in_documents = _presence(pair_rows, documents[pair_units], (len(kept), n_documents))
        return LanguageCounts(
            kept,
            _presence(pair_rows, groups, (len(kept), n_columns)),
            np.diff(in_documents.indptr).astype(np.int32),
            len(np.unique(documents[documents >= 0])),
            len(self.ids) - len(kept),
        )


def _array(values: NDArray[np.integer]) -> array[int]:
    return array("i", values.astype(np.intc).tobytes())


def _presence(rows: NDArray[np.int64], columns: NDArray[np.int64], shape: tuple[int, int]) -> sparse.csr_matrix:
    """1 at each (row, column) that comes up, however often; a negative index is no place."""
    here = (rows >= 0) & (columns >= 0)
    ones = np.ones(int(here.sum()), dtype=np.float32)
    matrix = sparse.csr_matrix((ones, (rows[here], columns[here])), shape=shape)
    matrix.sum_duplicates()
    matrix.data[:] = 1
    return matrix


class UnitCounter:
    """Counts the terms of units, as they come; where they are too many, those of a sample of the groups.

    Attributes:
        n_left_out: units outside the sample.
    """

    def __init__(self, max_pairs: int = MAX_PAIRS) -> None:
        self.n_left_out = 0
        self._max_pairs = max_pairs
        self._n_pairs = 0
        # One group of so many is kept, by a hash of its name: the same ones in every run, whatever the order.
        self._one_of = 1
        self._hashes = array("q")
        self._groups: dict[str, int] = {}
        self._documents: dict[str, int] = {}
        self._counters: dict[str, _LanguageCounter] = {}

    def add(self, unit: Unit) -> None:
        """Counts one unit."""
        group_hash = id_hash(unit.group)
        if group_hash % self._one_of:
            self.n_left_out += 1
            return
        group = self._groups.setdefault(unit.group, len(self._groups))
        if group == len(self._hashes):
            self._hashes.append(group_hash)
        self._n_pairs += self._counters.setdefault(unit.language, _LanguageCounter()).add(
            letter_tokens(unit.text, unit.language, max_tokens=None),
            group,
            -1 if unit.document is None else self._documents.setdefault(unit.document, len(self._documents)),
        )
        while self._n_pairs > self._max_pairs and len(self._groups) > 1:
            self._halve()

    def _halve(self) -> None:
        self._one_of *= 2
        is_kept = np.array(self._hashes) % self._one_of == 0
        n_units = sum(self.n_units.values())
        self._n_pairs = sum(counter.keep(is_kept) for counter in self._counters.values())
        self.n_left_out += n_units - sum(self.n_units.values())

    @property
    def n_units(self) -> dict[str, int]:
        """Units by language, the language with the most first."""
        found = {code: len(counter.unit_groups) for code, counter in self._counters.items()}
        return dict(sorted(found.items(), key=lambda each: (-each[1], each[0])))

    @property
    def n_aligned_groups(self) -> int:
        """Groups in two or more languages."""
        return int((self._n_languages() >= 2).sum())

    def result(self, min_count: int, *, language: str | None = None) -> Counts:
        """
        Args:
            min_count: a term that occurs less often in its language is left out.
            language: the only one to take, with all of its groups; None takes the groups in two or more languages.
        """
        counters = self._counters if language is None else {language: self._counters[language]}
        is_taken = self._n_languages(counters) >= (2 if language is None else 1)
        columns = np.where(is_taken, np.cumsum(is_taken) - 1, -1)
        n_columns = int(is_taken.sum())
        n_unaligned = sum(int((columns[counter.groups] < 0).sum()) for counter in counters.values())
        return Counts(
            {
                code: counters[code].result(columns, n_columns, len(self._documents), min_count)
                for code in sorted(counters)
            },
            n_columns,
            n_unaligned,
        )

    def _n_languages(self, counters: Mapping[str, _LanguageCounter] | None = None) -> NDArray[np.int64]:
        """(n_groups,) how many languages each group is in."""
        n_languages = np.zeros(len(self._groups), dtype=np.int64)
        for counter in (self._counters if counters is None else counters).values():
            n_languages[np.unique(counter.groups)] += 1
        return n_languages


def count_units(units: Iterable[Unit], min_count: int) -> Counts:
    """Counts the terms of aligned units, in one pass; groups in a single language are left out.

    Args:
        min_count: a term that occurs less often in its language is left out.
    """
    counter = UnitCounter()
    for unit in units:
        counter.add(unit)
    return counter.result(min_count)
