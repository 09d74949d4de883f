"""The stems of a query's words: how often bags of words hold each, and its idf."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from reranker.embeddings import Embeddings
from reranker.text.bags import BagOfWords, JoinedBags, end_to_end, holds_hashes, unknown_hash
from reranker.text.idf import DocumentFrequencies

# By Zipf's law the word of rank r is some 0.1 / r of all words, so some 10 / r of all texts of 100 words hold it.
# Never worse than no lexical evidence on six English collections (papers/results/order.md); 30 is.
_ZIPF_SHARE = 10.0


class QueryStems:
    """The distinct stems of a query's tokens, in the order of their keys. Compounds count by their parts, and a token
    without an embedding by itself.

    Attributes:
        n_times: (n_stems,) how often the query holds each.
        term_ids: (n,) of the tokens that take an embedding.
        is_unknown: (n_stems,) those of tokens without an embedding.
    """

    def __init__(self, tokens: Sequence[str], language: str, embeddings: Embeddings) -> None:
        self._stem_keys = embeddings.stem_keys
        self._vocabulary, self._language = embeddings.vocabulary, language
        found = {token: embeddings.stand_ins(language, token) for token in tokens}
        self.term_ids = np.array([term_id for each in found.values() for term_id in each], dtype=np.int32)
        key_of_term = dict(zip(self.term_ids.tolist(), self._stem_keys.of_terms(self.term_ids).tolist(), strict=True))
        keys_of = {token: [key_of_term[term_id] for term_id in each] for token, each in found.items()}
        unknown = {token: self._stem_keys.of_word(token, language) for token, each in found.items() if not each}
        keys_of |= {token: [key] for token, key in unknown.items()}
        n_times = Counter(key for token in tokens for key in keys_of[token])
        self._keys = np.array(sorted(n_times), dtype=np.uint64)
        self.n_times = np.array([n_times[key] for key in self._keys.tolist()], dtype=np.float64)
        self._unknown = [
            (unknown_hash(token), int(np.searchsorted(self._keys, np.uint64(key)))) for token, key in unknown.items()
        ]
        self.is_unknown = np.zeros(len(self._keys), np.bool_)
        self.is_unknown[[place for _, place in self._unknown]] = True

    def __len__(self) -> int:
        return len(self._keys)

    def counts_in(self, bags: Sequence[BagOfWords]) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """(n_bags, n_stems): the occurrences of each stem, 1 for a token without an embedding that a bag holds; and the
        terms of the bags that have one of these stems."""
        counts, held = self._stem_keys.counts_in(JoinedBags.of(bags), self._keys)
        if self._unknown:
            hashes, places = zip(*self._unknown, strict=True)
            for place, is_held in zip(places, holds_hashes(bags, hashes).T, strict=True):
                counts[:, place] += is_held
        return counts, held

    def parts_in(self, bags: Sequence[BagOfWords], held: NDArray[np.int32]) -> NDArray[np.uint32]:
        """(n_bags, n_stems): the parts of each text that hold each stem, as of `BagOfWords.parts`, which are known.

        Args:
            held: as `counts_in` returns it.
        """
        joined = JoinedBags.of(bags)
        parts = end_to_end([bag.parts[: len(bag)] for bag in bags], np.uint32)  # type: ignore[index]
        words = np.flatnonzero(np.isin(joined.term_ids, held))
        of_bags = np.searchsorted(joined.offsets, words, side="right") - 1
        of_stems = np.searchsorted(self._keys, self._stem_keys.of_terms(joined.term_ids[words]))
        found = np.zeros((len(bags), len(self)), np.uint32)
        np.bitwise_or.at(found, (of_bags, of_stems), parts[words])
        for one, stem in self._unknown:
            for row, bag in enumerate(bags):
                is_one = bag.unknown_hashes == np.uint32(one)
                found[row, stem] |= np.bitwise_or.reduce(bag.parts[len(bag) :][is_one])  # type: ignore[index]
        return found

    def weights(
        self, counts: NDArray[np.float64], held: NDArray[np.int32], frequencies: DocumentFrequencies | None
    ) -> NDArray[np.float64]:
        """(n_stems,): the idf of each, as often as the query holds it. Args: as `idf` takes them."""
        found: NDArray[np.float64] = self.n_times * self.idf(counts, held, frequencies)
        return found if found.any() else self.n_times  # where each word stands in every document

    def idf(
        self, counts: NDArray[np.float64], held: NDArray[np.int32], frequencies: DocumentFrequencies | None
    ) -> NDArray[np.float64]:
        """Lucene's idf of each stem (n_stems,), 0 or more: ln(1 + (N - df + 0.5) / (df + 0.5)).

        Args:
            counts, held: of some documents, as `counts_in` returns them: what is known of tokens without an embedding.
            frequencies: of the documents in the query's language. Where there are none, Zipf's law estimates the idf
                from the place of a term in the vocabulary, which begins with the most frequent terms.
        """
        forms = np.array(sorted({*held.tolist(), *self.term_ids.tolist()}), np.int32)
        places = np.searchsorted(self._keys, self._stem_keys.of_terms(forms))
        if frequencies is None:
            return _zipf_idf(forms, places, len(self), self._vocabulary.term_ids(self._language))
        counted = np.bincount(places, frequencies.of(forms), len(self)).astype(np.float64)
        return _idf(counted, np.count_nonzero(counts, axis=0), frequencies.n_documents)


def _idf(counted: NDArray[np.float64], n_holding: NDArray[np.int64], n_documents: int) -> NDArray[np.float64]:
    """Lucene's idf of each stem (n_stems,).

    Args:
        counted: the document frequencies of the stem's terms, summed: at most what a document with several of them
            counts too often.
        n_holding: candidates that hold the stem, at least so many documents do. It is all that is known of tokens
            without an embedding.
    """
    df = np.minimum(np.maximum(counted, np.maximum(n_holding, 1)), n_documents)
    found: NDArray[np.float64] = np.log1p((n_documents - df + 0.5) / (df + 0.5))
    return found


def _zipf_idf(
    forms: NDArray[np.int32], places: NDArray[np.int64], n_stems: int, vocabulary: NDArray[np.int64]
) -> NDArray[np.float64]:
    """The idf of each stem (n_stems,), 0 or more: -ln of the share of texts that hold one of its terms.

    Args:
        forms: terms (n,), and the place of the stem of each.
        vocabulary: all terms of the language, the most frequent first. A stem without a term counts as its last term.
    """
    ranks = 1 + np.searchsorted(vocabulary, forms)
    shares = np.bincount(places, _ZIPF_SHARE / ranks, minlength=n_stems)
    shares[shares == 0] = _ZIPF_SHARE / (1 + len(vocabulary))
    found: NDArray[np.float64] = -np.log(np.minimum(shares, 1.0))
    return found
