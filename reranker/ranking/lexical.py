"""Scores bags of words for a query by BM25 on stems, for candidates that no first stage has scored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from reranker.embeddings import Embeddings
from reranker.text.bags import BagOfWords, unknown_hash
from reranker.text.idf import DocumentFrequencies

# Lucene's.
K1 = 1.2
B = 0.75

# By Zipf's law the word of rank r is some 0.1 / r of all words, so some 10 / r of all texts of 100 words hold it.
# Never worse than no lexical evidence on six English collections (docs/evaluation.md); 30 is.
_ZIPF_SHARE = 10.0


def lexical_scores(
    tokens: Sequence[str],
    language: str,
    candidates: Sequence[tuple[BagOfWords, str]],
    embeddings: Embeddings,
    frequencies: DocumentFrequencies | None,
) -> NDArray[np.float64] | None:
    """BM25 of each candidate (n,), 0 or more; NaN for one in another language than the query's. None where it tells no
    candidate from another: none is in the query's language, or none of these holds a word of the query.

    The formula is Lucene's: the sum over the query's tokens of ln(1 + (N - df + 0.5) / (df + 0.5)) · tf / (tf + 1.2 ·
    (0.25 + 0.75 · length / mean length)). Terms count by their stems, and compounds by their parts. A token without an
    embedding counts once where the bag holds its hash. The mean length is that of the candidates in the query's
    language.

    Args:
        tokens: of the query, normalised, with repetitions.
        candidates: bags, each with its language.
        frequencies: of the documents in the query's language. Where there are none, Zipf's law estimates the idf from
            the place of a term in the vocabulary, which begins with the most frequent terms.
    """
    is_own = np.array([code == language for _, code in candidates], dtype=bool)
    bags = [bag for bag, code in candidates if code == language]
    if not bags or not tokens:
        return None
    query = _QueryStems(tokens, language, embeddings)
    term_ids = np.concatenate([bag.term_ids for bag in bags])
    places, is_hit = query.places_of(term_ids)
    rows = np.repeat(np.arange(len(bags)), [len(bag) for bag in bags])
    tf = query.unknown_counts(bags)
    np.add.at(tf, (rows[is_hit], places[is_hit]), np.concatenate([bag.counts for bag in bags])[is_hit])
    forms = np.unique(np.concatenate([term_ids[is_hit], query.term_ids]))
    form_places, _ = query.places_of(forms)
    if frequencies is None:
        idf = _zipf_idf(forms, form_places, len(query), embeddings.vocabulary.term_ids(language))
    else:
        counted = np.bincount(form_places, frequencies.of(forms), len(query)).astype(np.float64)
        idf = _idf(counted, np.count_nonzero(tf, axis=0), frequencies.n_documents)
    lengths = np.array([bag.counts.sum() + bag.n_unknown for bag in bags], dtype=np.float64)
    own = _saturated(tf, lengths) @ (idf * query.n_times)
    if not own.any():
        return None
    scores = np.full(len(candidates), np.nan)
    scores[is_own] = own
    return scores


class _QueryStems:
    """The distinct stems of a query's tokens, in the order of their keys.

    Attributes:
        n_times: (n_stems,) how often the query holds each.
        term_ids: (n,) of the tokens that take an embedding.
    """

    def __init__(self, tokens: Sequence[str], language: str, embeddings: Embeddings) -> None:
        self._stem_keys = embeddings.stem_keys
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

    def __len__(self) -> int:
        return len(self._keys)

    def places_of(self, term_ids: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The place of each term's stem (n,), and whether it is one of the query's at all."""
        keys = self._stem_keys.of_terms(term_ids)
        places = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return places, self._keys[places] == keys

    def unknown_counts(self, bags: Sequence[BagOfWords]) -> NDArray[np.float64]:
        """(n_bags, n_stems): 1 for each of the query's tokens without an embedding that a bag holds."""
        counts = np.zeros((len(bags), len(self)))
        if self._unknown:
            for row, bag in enumerate(bags):
                held = () if bag.unknown_hashes is None else set(bag.unknown_hashes.tolist())
                for hashed, place in self._unknown:
                    counts[row, place] += hashed in held
        return counts


def _saturated(tf: NDArray[np.float64], lengths: NDArray[np.float64]) -> NDArray[np.float64]:
    """(n_bags, n_stems): the occurrences as they count in a bag of its length, 0 to below 1."""
    mean_length = max(float(lengths.mean()), 1.0)
    found: NDArray[np.float64] = tf / (tf + (K1 * (1.0 - B + B * lengths / mean_length))[:, None])
    return found


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
