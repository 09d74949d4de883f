"""Counts units: which units, and which documents, of a language contain which terms."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ingest.embeddings.sparse_rows import SparseRows
from ingest.embeddings.units import Unit
from ingest.progress import Progress, no_progress
from reranker.text.documents import id_hash
from reranker.text.tokens import letter_tokens

MAX_TOKENS = 20_000_000
"""Maximum number of words to train on, to limit memory and time. Longer input is sampled by groups."""

MAX_TERMS = 300_000
"""Maximum number of terms of a language; the most frequent ones are kept."""

_UNITS_A_REPORT = 512


@dataclass(frozen=True, slots=True, eq=False)
class LanguageCounts:
    """The counted words of one language.

    Attributes:
        terms: n_terms terms, the most frequent first, equally frequent ones in alphabetical order.
        units: (n_terms, n_groups) float32, sparse: 1 if a group contains the term in this language.
        document_frequencies: (n_terms,) int32.
        n_documents: number of documents with a text in this language.
        n_rare: number of terms beyond `MAX_TERMS`, or outside of the sample.
    """

    terms: list[str]
    units: SparseRows
    document_frequencies: NDArray[np.int32]
    n_documents: int
    n_rare: int


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """The counts of all languages, or of one, over the same groups.

    Attributes:
        languages: in the alphabetical order of their codes.
        n_groups: number of groups to train on; other groups have no column.
        n_unaligned: number of units in the other groups.
    """

    languages: dict[str, LanguageCounts]
    n_groups: int
    n_unaligned: int


class _LanguageCounter:
    """Counts one language. It takes 4 bytes for each token and 12 for each unit."""

    def __init__(self) -> None:
        self.occurrences: Counter[str] = Counter()
        self.ids: dict[str, int] = {}
        self.tokens = array("i")
        self.unit_lengths = array("i")
        self.unit_groups = array("i")
        self.unit_documents = array("i")

    @property
    def groups(self) -> NDArray[np.int64]:
        """(n_units,) the group of each unit."""
        return np.array(self.unit_groups, dtype=np.int64)

    @property
    def token_units(self) -> NDArray[np.int64]:
        """(n_tokens,) the unit of each token."""
        return np.repeat(np.arange(len(self.unit_lengths)), self.unit_lengths)

    def add(self, tokens: list[str], group: int, document: int) -> None:
        self.unit_groups.append(group)
        self.unit_documents.append(document)
        self.unit_lengths.append(len(tokens))
        self.occurrences.update(tokens)
        ids = self.ids
        self.tokens.extend([ids.setdefault(token, len(ids)) for token in tokens])

    def keep(self, is_kept: NDArray[np.bool_]) -> int:
        """Removes the units of groups that are not kept; returns the number of tokens left.

        Args:
            is_kept: (n_groups,)
        """
        units = is_kept[self.groups]
        self.tokens = _array(np.array(self.tokens)[units[self.token_units]])
        self.unit_lengths = _array(np.array(self.unit_lengths)[units])
        self.unit_groups = _array(self.groups[units])
        self.unit_documents = _array(np.array(self.unit_documents)[units])
        return len(self.tokens)

    def result(self, columns: NDArray[np.int64], n_columns: int, n_documents: int) -> LanguageCounts:
        """
        Args:
            columns: (n_groups,) column of each group, or -1.
            n_documents: number of documents of all languages.
        """
        ids = np.array(self.tokens, dtype=np.int64)
        is_left = np.bincount(ids, minlength=len(self.ids)) > 0
        kept = [term for term in self.occurrences if is_left[self.ids[term]]]
        kept.sort(key=lambda term: (-self.occurrences[term], term))
        del kept[MAX_TERMS:]
        rows = np.full(len(self.ids), -1, dtype=np.int64)
        rows[[self.ids[term] for term in kept]] = np.arange(len(kept))
        token_rows, token_units = rows[ids], self.token_units
        documents = np.array(self.unit_documents, dtype=np.int64)
        in_documents = _presence(token_rows, documents[token_units], (len(kept), n_documents))
        return LanguageCounts(
            kept,
            _presence(token_rows, columns[self.groups][token_units], (len(kept), n_columns)),
            in_documents.n_values_of_rows.astype(np.int32),
            len(np.unique(documents)),
            len(self.ids) - len(kept),
        )


def _array(values: NDArray[np.integer]) -> array[int]:
    return array("i", values.astype(np.intc).tobytes())


def _presence(rows: NDArray[np.int64], columns: NDArray[np.int64], shape: tuple[int, int]) -> SparseRows:
    """A matrix with 1 at each (row, column) that occurs; negative indices are ignored."""
    here = (rows >= 0) & (columns >= 0)
    return SparseRows.of_ones(rows[here], columns[here], shape)


class UnitCounter:
    """Counts the terms of a stream of units. If there are too many, it keeps a sample of the groups.

    Attributes:
        n_left_out: number of units outside of the sample.
    """

    def __init__(self, max_tokens: int = MAX_TOKENS) -> None:
        self.n_left_out = 0
        self._max_tokens = max_tokens
        self._n_tokens = 0
        # One of so many groups is kept, by a hash of its name, so that all runs keep the same groups in any order.
        self._one_of = 1
        self._hashes = array("q")
        self._groups: dict[str, int] = {}
        self._documents: dict[str, int] = {}
        self._counters: dict[str, _LanguageCounter] = {}

    def add(self, unit: Unit) -> None:
        group_hash = id_hash(unit.group)
        if group_hash % self._one_of:
            self.n_left_out += 1
            return
        group = self._groups.setdefault(unit.group, len(self._groups))
        if group == len(self._hashes):
            self._hashes.append(group_hash)
        tokens = letter_tokens(unit.text, unit.language, max_tokens=None)
        self._n_tokens += len(tokens)
        self._counters.setdefault(unit.language, _LanguageCounter()).add(
            tokens,
            group,
            self._documents.setdefault(unit.document, len(self._documents)),
        )
        while self._n_tokens > self._max_tokens and len(self._groups) > 1:
            self._halve()

    def _halve(self) -> None:
        self._one_of *= 2
        is_kept = np.array(self._hashes) % self._one_of == 0
        n_units = sum(self.n_units.values())
        self._n_tokens = sum(counter.keep(is_kept) for counter in self._counters.values())
        self.n_left_out += n_units - sum(self.n_units.values())

    @property
    def n_units(self) -> dict[str, int]:
        """Number of units by language, the largest first."""
        found = {code: len(counter.unit_groups) for code, counter in self._counters.items()}
        return dict(sorted(found.items(), key=lambda each: (-each[1], each[0])))

    @property
    def n_aligned_groups(self) -> int:
        """Number of groups in two or more languages."""
        return int((self._n_languages(self._counters) >= 2).sum())

    def result(self, language: str | None = None) -> Counts:
        """
        Args:
            language: counts all groups of this language; None counts the groups in two or more languages.
        """
        counters = self._counters if language is None else {language: self._counters[language]}
        is_taken = self._n_languages(counters) >= (2 if language is None else 1)
        columns = np.where(is_taken, np.cumsum(is_taken) - 1, -1)
        n_columns, n_documents = int(is_taken.sum()), len(self._documents)
        languages = {
            code: counter.result(columns, n_columns, n_documents) for code, counter in sorted(counters.items())
        }
        n_unaligned = sum(int((columns[counter.groups] < 0).sum()) for counter in counters.values())
        return Counts(languages, n_columns, n_unaligned)

    def _n_languages(self, counters: Mapping[str, _LanguageCounter]) -> NDArray[np.int64]:
        """(n_groups,) number of languages of each group."""
        n_languages = np.zeros(len(self._groups), dtype=np.int64)
        for counter in counters.values():
            n_languages[np.unique(counter.groups)] += 1
        return n_languages


def count_units(units: Iterable[Unit], progress: Progress = no_progress) -> UnitCounter:
    """Counts the terms of units, in one pass."""
    counter = UnitCounter()
    done = 0
    for done, unit in enumerate(units, start=1):
        if done % _UNITS_A_REPORT == 0:
            progress(done, None, "counting words")
        counter.add(unit)
    progress(done, done, "counted words")
    return counter
