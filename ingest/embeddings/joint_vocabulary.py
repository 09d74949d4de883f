"""Chooses the terms of a joined store, their order and their document frequencies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from ingest.embeddings.building import Collection, Term
from reranker.embeddings import Embeddings

NO_TERM = -1


@dataclass(frozen=True, slots=True, eq=False)
class JointVocabulary:
    """The terms of several stores.

    Attributes:
        terms: n_terms of (language, term).
        ids: (n_stores, n_terms) the term id in each store, or -1.
        document_frequencies: (n_terms,) int32; None if unknown.
        n_documents: number of documents by language; None if unknown.
        n_own: number of terms of the collection, which come first; all terms without a collection.
    """

    terms: list[Term]
    ids: NDArray[np.int64]
    document_frequencies: NDArray[np.int32] | None
    n_documents: dict[str, int] | None
    n_own: int

    def runs(self, start: int, end: int) -> Iterator[tuple[str, list[int]]]:
        """Runs of terms in one language: the language, and the places of the terms."""
        for language, places in groupby(range(start, end), key=lambda place: self.terms[place][0]):
            yield language, list(places)


def joint_vocabulary(
    stores: Sequence[Embeddings], collection: Collection | None = None, max_others: int | None = None
) -> JointVocabulary:
    """The terms of all stores, store by store.

    Args:
        collection: its words come first, by falling document frequency. Without a collection the document frequencies
            of a language are those of the first store that has some.
        max_others: number of terms to take of each language that are not in the collection; None: all.
    """
    frequencies = {} if collection is None else collection.document_frequencies
    places: dict[Term, int] = {}
    if collection is not None:
        for language, counter in sorted(frequencies.items()):
            known = (term for term, _ in counter.most_common() if _is_known(stores, language, term))
            places.update(((language, term), place) for place, term in enumerate(known, start=len(places)))
    n_own = len(places)
    n_others: Counter[str] = Counter()
    for store in stores:
        for term_id in range(store.n_terms):
            term = store.term(term_id)
            if term in places or (max_others is not None and n_others[term[0]] >= max_others):
                continue
            places[term] = len(places)
            n_others[term[0]] += 1
    terms = list(places)
    found = [[store.vocabulary.find(*term) for term in terms] for store in stores]
    ids = np.array(found, dtype=np.int64).reshape(len(stores), len(terms))
    if collection is not None:
        counted = np.array([frequencies.get(language, Counter())[term] for language, term in terms], dtype=np.int32)
        languages = dict.fromkeys(language for language, _ in terms)
        n_documents = {code: n for code, n in collection.n_documents.items() if code in languages}
        return JointVocabulary(terms, ids, counted, n_documents, n_own)
    return JointVocabulary(terms, ids, *_counted(stores, terms, ids), len(terms))


def _is_known(stores: Sequence[Embeddings], language: str, term: str) -> bool:
    return any(store.vocabulary.find(language, term) >= 0 for store in stores)


def _counted(
    stores: Sequence[Embeddings], terms: Sequence[Term], ids: NDArray[np.int64]
) -> tuple[NDArray[np.int32] | None, dict[str, int] | None]:
    """Document frequencies and numbers of documents; for each language those of the first store that has some."""
    counting: dict[str, int] = {}
    n_documents: dict[str, int] = {}
    for number, store in enumerate(stores):
        said: Mapping[str, int] = store.meta["n_documents"] or {}
        for language in said.keys() - n_documents.keys():
            counting[language], n_documents[language] = number, said[language]
    if not n_documents:
        return None, None
    frequencies = np.zeros(len(terms), dtype=np.int32)
    for place, (language, _) in enumerate(terms):
        number = counting.get(language, NO_TERM)
        counts = stores[number].document_frequencies if number >= 0 else None
        if counts is not None and ids[number, place] >= 0:
            frequencies[place] = counts[ids[number, place]]
    return frequencies, dict(sorted(n_documents.items()))
