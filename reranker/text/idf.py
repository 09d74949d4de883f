"""Inverse document frequencies per language, counted over an index's documents, and tf·idf weights."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from reranker.text.bags import (
    BagOfWords,
    DistinctTerms,
    JoinedBags,
    WeightedBag,
    WeightedBags,
    distinct_terms,
)


@dataclass(frozen=True, eq=False)
class DocumentFrequencies:
    """How many documents of a language contain each term.

    Attributes:
        n_documents: documents of the language.
        term_ids: (k,) int32, distinct, ascending.
        counts: (k,) int32, documents that contain the term.
    """

    n_documents: int
    term_ids: NDArray[np.int32]
    counts: NDArray[np.int32]

    def idf(self, term_ids: NDArray[np.int32]) -> NDArray[np.float64]:
        """Smoothed idf of each term, log((N + 1) / (df + 1)) (Balikas et al. 2018, section 3.2); a term that was never
        counted has df 0."""
        return self._idf.take(self._places(term_ids), mode="clip")

    def of(self, term_ids: NDArray[np.int32]) -> NDArray[np.float64]:
        """(n,) document frequency of each term; 0 for a term that was never counted."""
        return self._counts.take(self._places(term_ids), mode="clip")

    def _places(self, term_ids: NDArray[np.int32]) -> NDArray[np.int32]:
        """In the tables below, whose first and last numbers are those of all terms beyond the counted ones."""
        return term_ids - self._first + 1

    @cached_property
    def _first(self) -> np.int32:
        return self.term_ids[0] if len(self.term_ids) else np.int32(0)

    @cached_property
    def _counts(self) -> NDArray[np.float64]:
        """Of the terms from the first to the last counted one: a language's terms lie beside each other."""
        places = self._places(self.term_ids)
        counts = np.zeros(2 + int(places.max(initial=0)))
        counts[places] = self.counts
        return counts

    @cached_property
    def _idf(self) -> NDArray[np.float64]:
        idf: NDArray[np.float64] = np.log((self.n_documents + 1) / (self._counts + 1))
        return idf

    @classmethod
    def count(cls, bags: Iterable[BagOfWords]) -> DocumentFrequencies:
        """Counts the bags of one language."""
        counter = FrequencyCounter()
        for bag in bags:
            counter.add(bag)
        return counter.result()


class FrequencyCounter:
    """Counts document frequencies bag by bag. Memory grows with the largest term id, not with the documents."""

    def __init__(self) -> None:
        self._counts = np.zeros(1024, dtype=np.int32)
        self._n_documents = 0

    def add(self, bag: BagOfWords) -> None:
        self.add_terms(bag.term_ids)

    def add_terms(self, term_ids: NDArray[np.int32], n_documents: int = 1) -> None:
        """Counts documents by the distinct terms of each, end to end."""
        self._n_documents += n_documents
        if (largest := int(term_ids.max(initial=-1))) >= len(self._counts):
            self._counts = np.concatenate([self._counts, np.zeros(largest + 1, dtype=np.int32)])
        np.add.at(self._counts, term_ids, _ONE)

    def result(self) -> DocumentFrequencies:
        term_ids = np.flatnonzero(self._counts).astype(np.int32)
        return DocumentFrequencies(self._n_documents, term_ids, self._counts[term_ids])


@dataclass(frozen=True, slots=True)
class IdfTable:
    """The idf of an index: document frequencies per language, by term ids of one embedding store."""

    languages: Mapping[str, DocumentFrequencies] = field(default_factory=dict)

    @property
    def version(self) -> str:
        """A hash of the frequencies: tables with the same version give the same weights."""
        digest = hashlib.blake2b(digest_size=8)
        for language in sorted(self.languages):
            frequencies = self.languages[language]
            digest.update(f"{language}:{frequencies.n_documents}:".encode())
            digest.update(frequencies.term_ids.tobytes())
            digest.update(frequencies.counts.tobytes())
        return digest.hexdigest()

    def weights_version(self, language: str) -> str:
        """A hash of one language's frequencies; other languages do not change it. Empty without frequencies."""
        frequencies = self.languages.get(language)
        return "" if frequencies is None else IdfTable({language: frequencies}).version

    def with_changes(self, before: IdfTable, now: IdfTable) -> IdfTable:
        """This table with the languages that became others from `before` to `now`."""
        changed = {
            language: frequencies
            for language, frequencies in now.languages.items()
            if now.weights_version(language) != before.weights_version(language)
        }
        return IdfTable({**self.languages, **changed})

    def packed(self) -> bytes:
        """The table in bytes, for `unpacked`: JSON of the languages, then of each language the differences of the term
        ids and the counts, of which most are small."""
        head = {language: [one.n_documents, len(one.term_ids)] for language, one in self.languages.items()}
        packed = json.dumps(head).encode() + b"\n"
        for one in self.languages.values():
            differences = np.diff(one.term_ids, prepend=np.int32(0))
            packed += differences.astype("<i4").tobytes() + one.counts.astype("<i4").tobytes()
        return packed

    @classmethod
    def unpacked(cls, packed: bytes) -> IdfTable:
        """Reads the result of `packed`."""
        end = packed.index(b"\n")
        numbers = np.frombuffer(packed[end + 1 :], "<i4").astype(np.int32)
        languages: dict[str, DocumentFrequencies] = {}
        start = 0
        for language, (n_documents, n_terms) in json.loads(packed[:end]).items():
            differences, counts = numbers[start : start + 2 * n_terms].reshape(2, n_terms)
            term_ids = np.cumsum(differences, dtype=np.int32)
            languages[language] = DocumentFrequencies(n_documents, term_ids, counts.copy())
            start += 2 * n_terms
        return cls(languages)

    def weigh(self, bag: BagOfWords, language: str) -> WeightedBag:
        """tf·idf weights that sum to 1; terms of weight 0 are left out.

        With no statistics of the language, or where every word of the bag stands in every document (so that each idf
        is 0), the weights are tf alone: the words are all there is to go by.
        """
        frequencies = self.languages.get(language)
        if frequencies is None:
            return _normalized(bag, bag.counts.astype(np.float64))
        return _normalized(bag, bag.counts * frequencies.idf(bag.term_ids))

    def weigh_all(
        self,
        bags: Sequence[tuple[BagOfWords, str]],
        n_terms: int | None = None,
    ) -> WeightedBags:
        """Weights many bags, each with its language. The result equals that of `weigh`, bit for bit.

        Args:
            n_terms: as `distinct_terms` takes it.

        Raises:
            BadInput: as `distinct_terms`.
        """
        term_ids, counts, offsets = JoinedBags.of([bag for bag, _ in bags])
        if not bags:
            return WeightedBags(term_ids, np.empty(0, np.float64), offsets)
        lengths = np.diff(offsets)
        distinct = distinct_terms(term_ids, n_terms)
        weights = counts.astype(np.float64)
        languages = {language for _, language in bags}
        for language in languages & self.languages.keys():
            own = slice(None) if len(languages) == 1 else np.repeat([one == language for _, one in bags], lengths)
            weights[own] *= self.languages[language].idf(distinct.term_ids)[distinct.places[own]]
        totals = _sums(weights, offsets)
        for place in np.flatnonzero(totals == 0).tolist():  # every word stands in every document
            own = slice(offsets[place], offsets[place + 1])
            if not weights[own].any():
                weights[own] = counts[own]
                totals[place] = _sum(weights[own])
        weights /= np.repeat(totals, lengths)
        has_weight = weights > 0
        if has_weight.all():
            return WeightedBags(term_ids, weights, offsets, distinct)
        distinct = DistinctTerms(distinct.term_ids, distinct.places[has_weight])
        n_before = np.concatenate([[0], np.cumsum(has_weight, dtype=np.int64)])
        return WeightedBags(term_ids[has_weight], weights[has_weight], n_before[offsets], distinct)


def _sums(weights: NDArray[np.float64], offsets: NDArray[np.int64]) -> NDArray[np.float64]:
    """The sum of each bag's weights, 0 for an empty bag."""
    starts, sums = offsets[:-1], np.zeros(len(offsets) - 1)
    filled = starts < offsets[1:]
    if filled.all():
        np.add.reduceat(weights, starts, out=sums)
    elif filled.any():
        sums[filled] = np.add.reduceat(weights, starts[filled])
    return sums


_FIRST = np.zeros(1, dtype=np.intp)
_ONE = np.int32(1)  # of the counts' type, with which `add.at` takes a fortieth of the time


def _sum(weights: NDArray[np.float64]) -> float:
    """The sum of one bag's weights, with the bits that `_sums` gives: `sum` adds them up in another order."""
    return float(np.add.reduceat(weights, _FIRST)[0]) if len(weights) else 0.0


def _normalized(bag: BagOfWords, weights: NDArray[np.float64]) -> WeightedBag:
    """The weights scaled to sum to 1; if all are 0, the counts are the weights."""
    total = _sum(weights)
    if total == 0 and not weights.any():
        weights = bag.counts.astype(np.float64)
        total = _sum(weights)
    if len(weights):
        weights /= total
    has_weight = weights > 0
    return (
        WeightedBag(bag.term_ids, weights)
        if has_weight.all()
        else WeightedBag(bag.term_ids[has_weight], weights[has_weight])
    )
