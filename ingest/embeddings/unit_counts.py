"""Counts units: which units, and which documents, of a language contain which terms."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ingest.embeddings.sparse_rows import SparseRows
from ingest.embeddings.units import Unit
from ingest.progress import Progress, no_progress
from reranker.text.tokens import letter_tokens

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
        n_rare: number of terms beyond `MAX_TERMS`.
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

    def result(self, columns: NDArray[np.int64], n_columns: int, n_documents: int) -> LanguageCounts:
        """
        Args:
            columns: (n_groups,) column of each group, or -1.
            n_documents: number of documents of all languages.
        """
        ids = np.array(self.tokens, dtype=np.int64)
        frequent = sorted(self.occurrences, key=lambda term: (-self.occurrences[term], term))[:MAX_TERMS]
        rows = np.full(len(self.ids), -1, dtype=np.int64)
        rows[[self.ids[term] for term in frequent]] = np.arange(len(frequent))
        token_rows, token_units = rows[ids], self.token_units
        documents = np.array(self.unit_documents, dtype=np.int64)
        in_documents = _presence(token_rows, documents[token_units], (len(frequent), n_documents))
        return LanguageCounts(
            frequent,
            _presence(token_rows, columns[self.groups][token_units], (len(frequent), n_columns)),
            in_documents.n_values_of_rows.astype(np.int32),
            len(np.unique(documents)),
            len(self.ids) - len(frequent),
        )


def _presence(rows: NDArray[np.int64], columns: NDArray[np.int64], shape: tuple[int, int]) -> SparseRows:
    """A matrix with 1 at each (row, column) that occurs; negative indices are ignored."""
    here = (rows >= 0) & (columns >= 0)
    return SparseRows.of_ones(rows[here], columns[here], shape)


def count_units(units: Iterable[Unit], language: str | None = None, progress: Progress = no_progress) -> Counts:
    """Counts the terms of a stream of units.

    Args:
        language: counts all groups of this language; None counts the groups in two or more languages.
    """
    groups: dict[str, int] = {}
    documents: dict[str, int] = {}
    counters: dict[str, _LanguageCounter] = {}
    done = 0
    for done, unit in enumerate(units, start=1):
        if done % _UNITS_A_REPORT == 0:
            progress(done, None, "counting words")
        if language in (None, unit.language):
            counters.setdefault(unit.language, _LanguageCounter()).add(
                letter_tokens(unit.text, unit.language, max_tokens=None),
                groups.setdefault(unit.group, len(groups)),
                documents.setdefault(unit.document, len(documents)),
            )
    progress(done, done, "counted words")
    n_languages = np.zeros(len(groups), dtype=np.int64)
    for counter in counters.values():
        n_languages[np.unique(counter.groups)] += 1
    is_taken = n_languages >= (2 if language is None else 1)
    columns = np.where(is_taken, np.cumsum(is_taken) - 1, -1)
    n_columns = int(is_taken.sum())
    return Counts(
        {code: counter.result(columns, n_columns, len(documents)) for code, counter in sorted(counters.items())},
        n_columns,
        sum(int((columns[counter.groups] < 0).sum()) for counter in counters.values()),
    )
