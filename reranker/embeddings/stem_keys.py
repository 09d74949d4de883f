"""Gives each term a number for its stem, so that terms with the same stem are found without reading their text."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reranker.embeddings.vocabulary import Vocabulary
from reranker.native import text as native
from reranker.native.stems import count_stems
from reranker.text.bags import JoinedBags, check_term_ids
from reranker.text.stems import stem

_NOT_STEMMED = np.uint64(0)


class StemKeys:
    """Two terms have the same key if they have the same stem, each by the stemmer of its own language.

    A term is stemmed when its key is first used. The keys take 8 bytes for each term of the store. Threads may share
    them: two threads that stem the same term write the same key.

    Attributes:
        known: (n_terms,) the key of each term, or 0 where it is not known yet.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self.known = np.zeros(len(vocabulary), dtype=np.uint64)

    def of_terms(self, term_ids: NDArray[np.int32]) -> NDArray[np.uint64]:
        """(n,) keys of (n,) terms."""
        found: NDArray[np.uint64] = self.known[term_ids]
        if found.all():
            return found
        self._stem(term_ids[found == _NOT_STEMMED])
        found = self.known[term_ids]
        return found

    def counts_in(self, bags: JoinedBags, keys: NDArray[np.uint64]) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """(n_bags, n_keys): how often each bag holds terms of each key; and the terms that they hold of these.

        Args:
            keys: ascending.

        Raises:
            BadInput: a bag of other embeddings.
        """
        check_term_ids(bags.term_ids, len(self.known))
        counts, held, not_stemmed = count_stems(self.known, *bags, keys)
        if not len(not_stemmed):
            return counts, held
        self._stem(not_stemmed)
        counts, held, _ = count_stems(self.known, *bags, keys)
        return counts, held

    def _stem(self, term_ids: NDArray[np.int32]) -> None:
        for term_id in set(term_ids.tolist()):
            language, term = self._vocabulary.term(term_id)
            self.known[term_id] = self.of_word(term, language)

    def of_word(self, word: str, language: str) -> int:
        """The key of a normalised word, in the vocabulary or not."""
        encoded = stem(word, language).encode("utf-8", "surrogatepass")
        key: int = native.stem_key(encoded, len(encoded))
        return key % 2**64  # C gives it with a sign
