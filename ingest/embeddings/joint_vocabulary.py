"""Chooses the terms of a joined store, their order and their document frequencies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from ingest.embeddings.word_frequencies import Term, WordFrequencies
from reranker.embeddings import Embeddings


@dataclass(frozen=True, slots=True, eq=False)
class JointVocabulary:
    """The terms of several stores.

    Attributes:
        terms: n_terms of (language, term).
        ids: (n_stores, n_terms) the term id in each store, or -1.
        document_frequencies: (n_terms,) int32.
        n_documents: number of documents by language.
        n_own: number of terms of the collection, which come first.
    """

    terms: list[Term]
    ids: NDArray[np.int64]
    document_frequencies: NDArray[np.int32]
    n_documents: dict[str, int]
    n_own: int

    def runs(self, start: int, end: int) -> Iterator[tuple[str, list[int]]]:
        """Runs of terms in one language: the language, and the places of the terms."""
        for language, places in groupby(range(start, end), key=lambda place: self.terms[place][0]):
            yield language, list(places)


def joint_vocabulary(stores: Sequence[Embeddings], collection: WordFrequencies, max_others: int) -> JointVocabulary:
    """The terms of all stores, store by store.

    Args:
        collection: its words come first, by falling document frequency.
        max_others: number of terms to take of each language that are not in the collection.
    """
    frequencies = collection.document_frequencies
    places: dict[Term, int] = {}
    for language, counter in sorted(frequencies.items()):
        known = (term for term, _ in counter.most_common() if _is_known(stores, language, term))
        places.update(((language, term), place) for place, term in enumerate(known, start=len(places)))
    n_own = len(places)
    n_others: Counter[str] = Counter()
    for store in stores:
        for term_id in range(store.n_terms):
            term = store.term(term_id)
            if term in places or n_others[term[0]] >= max_others:
                continue
            places[term] = len(places)
            n_others[term[0]] += 1
    terms = list(places)
    found = [[store.vocabulary.find(*term) for term in terms] for store in stores]
    ids = np.array(found, dtype=np.int64).reshape(len(stores), len(terms))
    counted = np.array([frequencies.get(language, Counter())[term] for language, term in terms], dtype=np.int32)
    languages = dict.fromkeys(language for language, _ in terms)
    n_documents = {code: n for code, n in collection.n_documents.items() if code in languages}
    return JointVocabulary(terms, ids, counted, n_documents, n_own)


def _is_known(stores: Sequence[Embeddings], language: str, term: str) -> bool:
    return any(store.vocabulary.find(language, term) >= 0 for store in stores)
