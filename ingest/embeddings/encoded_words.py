"""Makes a store of the words of a collection and of their translations: encodes them with a sentence encoder, and moves
translations towards each other."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ingest.embeddings.dictionaries import Pair
from ingest.embeddings.retrofitting import links, retrofit
from ingest.embeddings.spectral import unit_rows
from ingest.embeddings.summary import EmbeddingsSummary
from ingest.embeddings.word_encoder import WordVectors
from ingest.embeddings.word_frequencies import Term, WordFrequencies
from ingest.progress import Progress, no_progress
from reranker.base.errors import BadInput
from reranker.embeddings import Embeddings, EmbeddingsWriter
from reranker.text.normalization import as_written

# Mu and Viswanath 2018 remove one direction for each hundred dimensions.
_DIMS_OF_DIRECTION = 100

TOO_RARE = "rarer words than are encoded"

# The most frequent of each language; rarer words are skipped.
_MAX_WORDS = 150_000


def encode_words(
    pairs: Sequence[Pair],
    words: WordVectors,
    output: Path,
    *,
    collection: WordFrequencies,
    max_words: int = _MAX_WORDS,
    whole_languages: Container[str] = (),
    n_directions: int | None = None,
    progress: Progress = no_progress,
) -> EmbeddingsSummary:
    """Writes a store of the words of a collection, and of their translations.

    Args:
        pairs: translations, in any direction and language; there may be none.
        collection: all of its words are used, and those words of the pairs that translate one of them.
        words: the encoder.
        max_words: maximum number of words; of each language the most frequent ones are taken.
        whole_languages: languages of which all words of the pairs are used.
        n_directions: main directions to remove from the vectors of a language; None: a hundredth of the dimensions.
        output: the folder to create.

    Raises:
        BadInput: the output exists, or there are no words.
    """
    started = time.monotonic()
    vocabulary = _vocabulary(pairs, collection, whole_languages)
    n_found = sum(map(len, vocabulary.values()))
    if not n_found:
        raise BadInput("the documents have no words to encode; give other documents")
    vocabulary = _most_frequent(vocabulary, max_words)
    places = {term: place for place, term in enumerate(term for terms in vocabulary.values() for term in terms)}
    vectors = words.encode([as_written(term, language) for language, term in places], progress)
    vectors = _without_what_is_common(vectors, [len(terms) for terms in vocabulary.values()], n_directions)
    known = ((places.get(source), places.get(target)) for source, target in pairs)
    linked = links(((one, other) for one, other in known if one is not None and other is not None), len(places))
    vectors = retrofit(vectors, linked, progress=progress)
    described = {"built": words.name, "n_links": len(linked.values) // 2}
    with EmbeddingsWriter(output, dim=vectors.shape[1], source=described) as writer:
        start = 0
        for language, terms in vocabulary.items():
            frequencies = collection.document_frequencies.get(language, Counter())
            counted = np.array([frequencies[term] for _, term in terms], dtype=np.int32)
            writer.append(language, [term for _, term in terms], vectors[start : start + len(terms)], counted)
            start += len(terms)
        writer.commit({code: collection.n_documents.get(code, 0) for code in vocabulary})
    return EmbeddingsSummary.of(Embeddings.open(output), started, {TOO_RARE: n_found - len(places)})


def _vocabulary(
    pairs: Sequence[Pair], collection: WordFrequencies, whole_languages: Container[str]
) -> dict[str, list[Term]]:
    """The terms by language: first the terms of the collection by falling frequency, then their translations by falling
    number of pairs, then all other terms of the dictionaries."""
    frequencies = collection.document_frequencies
    own: set[Term] = {(language, term) for language, counter in frequencies.items() for term in counter}
    n_pairs: Counter[Term] = Counter()
    others: set[Term] = set()
    for pair in pairs:
        if pair.source in own or pair.target in own:
            n_pairs.update(pair)
        else:
            others.update(term for term in pair if term[0] in whole_languages)
    found: dict[str, list[Term]] = {}
    for term in own | set(n_pairs) | others:
        found.setdefault(term[0], []).append(term)

    def order(term: Term) -> tuple[int, int, str]:
        return -frequencies.get(term[0], Counter())[term[1]], -n_pairs[term], term[1]

    return {language: sorted(found[language], key=order) for language in sorted(found)}


def _most_frequent(vocabulary: Mapping[str, list[Term]], n: int) -> dict[str, list[Term]]:
    """At most the first n terms, of each language as many, or all if it has fewer."""
    ranks = sorted(rank for terms in vocabulary.values() for rank in range(len(terms)))
    return {language: terms[: ranks[n]] if len(ranks) > n else terms for language, terms in vocabulary.items()}


def _without_what_is_common(
    vectors: NDArray[np.float32], n_terms: Sequence[int], n_directions: int | None
) -> NDArray[np.float32]:
    """Subtracts the mean and the main directions of each language, and scales to length 1.

    All vectors of a sentence encoder lie in a narrow cone, with a region for each language (Libovický, Rosa and Fraser
    2020). Both are unrelated to meaning. So are the main directions, which depend on the frequency and spelling of the
    words ("all-but-the-top": Mu and Viswanath 2018).

    Args:
        vectors: (n_terms, dim), language by language.
        n_terms: number of terms of each language.
        n_directions: number of main directions; None: a hundredth of the dimensions.
    """
    if n_directions is None:
        n_directions = vectors.shape[1] // _DIMS_OF_DIRECTION
    parts = np.split(vectors, np.cumsum(n_terms)[:-1])
    # A single word is its own mean.
    centred = [unit_rows(part - part.mean(axis=0) if len(part) > 1 else part) for part in parts]
    return np.concatenate([unit_rows(_without_main_directions(part, n_directions)) for part in centred])


def _without_main_directions(vectors: NDArray[np.float32], n_directions: int) -> NDArray[np.float32]:
    """Removes the main directions, unless there are no more words than dimensions."""
    n_terms, dim = vectors.shape
    n_removed = n_directions if n_terms > dim else 0
    main = np.linalg.eigh(vectors.T @ vectors)[1][:, dim - n_removed :]
    others: NDArray[np.float32] = vectors - (vectors @ main) @ main.T
    return others
