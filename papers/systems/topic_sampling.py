"""Collapsed Gibbs sampling of topic models whose documents may have several languages, in compiled loops.

The model is polylingual LDA (Mimno et al. 2009; with two languages BiLDA, De Smet and Moens 2009; with one LDA): all
language versions of a document share one mixture of topics, and each topic has one distribution over the words of each
language. A token of word w and language l in document d takes topic k with probability proportional to

    (n_dk + alpha) · (n_wk + beta) / (n_lk + beta · V_l)

where n counts the other tokens of topic k in the document, of the word, and of the language, which has V_l words.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reranker.transport.kernels.compiling import compiled

Counts = NDArray[np.float32]
Ids = NDArray[np.int32]

# The probabilities of this many topics are summed at once in vector registers. Then the topic is drawn within one sum.
_BLOCK = 16
_REPORTED_SWEEPS = 25


@dataclass(frozen=True)
class Schedule:
    """The number of sweeps, and the states that are used: after sweep `burn_in`, and then after every `interval` sweeps
    up to sweep `n_sweeps`. Counts and mixtures are averaged over these states."""

    burn_in: int
    n_sweeps: int
    interval: int = 25

    def runs(self) -> list[int]:
        """The numbers of sweeps from one used state to the next.

        >>> Schedule(burn_in=200, n_sweeps=250).runs()
        [200, 25, 25]
        """
        return [self.burn_in, *[self.interval] * ((self.n_sweeps - self.burn_in) // self.interval)]


@dataclass(frozen=True)
class Priors:
    """Dirichlet parameters of a document's mixture of topics (alpha) and a topic's distribution of words (beta)."""

    n_topics: int
    alpha: float
    beta: float


@dataclass(frozen=True, eq=False)
class TokenStream:
    """The tokens of documents, document by document, and language by language in each.

    Attributes:
        words: (n_tokens,) ids in the joint vocabulary, in which each language has its own range.
        documents: (n_tokens,) ascending positions of documents.
        n_documents: number of documents, including those without a token.
    """

    words: Ids
    documents: Ids
    n_documents: int


def train(
    stream: TokenStream,
    n_words: NDArray[np.int64],
    priors: Priors,
    schedule: Schedule,
    seed: int,
    report: Callable[[int], None],
) -> Counts:
    """(total n_words, n_topics), the probability of each word of a language in each topic.

    Args:
        n_words: (n_languages,) number of words of each language; the ids of a language are consecutive.
        report: called with the number of finished sweeps.
    """
    languages = np.repeat(np.arange(len(n_words), dtype=np.int32), n_words)
    state = _State.draw(stream, languages, len(n_words), priors.n_topics, seed)
    summed = np.zeros_like(state.by_word, dtype=np.float64)
    done = 0
    beta_sums = (priors.beta * n_words).astype(np.float32)
    for n_sweeps in schedule.runs():
        for first in range(0, n_sweeps, _REPORTED_SWEEPS):
            _sweep(
                stream.words, stream.documents, languages, state.topics, state.by_document, state.by_word,
                state.by_language, np.float32(priors.alpha), np.float32(priors.beta), beta_sums,
                min(_REPORTED_SWEEPS, n_sweeps - first), seed + done + first + 1,
            )  # fmt: skip
            report(min(done + first + _REPORTED_SWEEPS, done + n_sweeps))
        done += n_sweeps
        summed += state.by_word
    smoothed = summed / len(schedule.runs()) + priors.beta
    starts = np.concatenate([[0], np.cumsum(n_words)[:-1]])
    return (smoothed / np.add.reduceat(smoothed, starts, axis=0)[languages]).astype(np.float32)


def infer(
    stream: TokenStream, word_probabilities: Counts, alpha: float, schedule: Schedule, seed: int
) -> NDArray[np.float64]:
    """(n_documents, n_topics), the mixture of each document with fixed topics; NaN for a document without words.

    The document at position i has its own seed, which does not depend on the others.
    """
    offsets = np.searchsorted(stream.documents, np.arange(stream.n_documents + 1)).astype(np.int64)
    runs = np.array(schedule.runs(), dtype=np.int64)
    return _infer(stream.words, offsets, word_probabilities, np.float32(alpha), runs, seed)


@dataclass(eq=False)
class _State:
    """The topic of each token, and their counts."""

    topics: Ids
    by_document: Counts
    by_word: Counts
    by_language: Counts

    @classmethod
    def draw(cls, stream: TokenStream, languages: Ids, n_languages: int, n_topics: int, seed: int) -> _State:
        topics = np.random.default_rng(seed).integers(n_topics, size=len(stream.words), dtype=np.int32)
        state = cls(
            topics,
            np.zeros((stream.n_documents, n_topics), np.float32),
            np.zeros((len(languages), n_topics), np.float32),
            np.zeros((n_languages, n_topics), np.float32),
        )
        np.add.at(state.by_document, (stream.documents, topics), 1)
        np.add.at(state.by_word, (stream.words, topics), 1)
        np.add.at(state.by_language, (languages[stream.words], topics), 1)
        return state


@compiled
def _sweep(
    words: Ids,
    documents: Ids,
    languages: Ids,
    topics: Ids,
    by_document: Counts,
    by_word: Counts,
    by_language: Counts,
    alpha: np.float32,
    beta: np.float32,
    beta_sums: Counts,
    n_sweeps: int,
    seed: int,
) -> None:
    np.random.seed(seed)
    n_topics = by_document.shape[1]
    weights = np.empty(n_topics, np.float32)
    sums = np.empty((n_topics + _BLOCK - 1) // _BLOCK, np.float32)
    inverse = np.empty_like(by_language)
    for language in range(len(by_language)):
        for k in range(n_topics):
            inverse[language, k] = np.float32(1) / (by_language[language, k] + beta_sums[language])
    for _ in range(n_sweeps):
        for place in range(len(words)):
            word = words[place]
            language = languages[word]
            old = topics[place]
            of_document, of_word = by_document[documents[place]], by_word[word]
            of_language, inverse_of = by_language[language], inverse[language]
            of_document[old] -= np.float32(1)
            of_word[old] -= np.float32(1)
            of_language[old] -= np.float32(1)
            inverse_of[old] = np.float32(1) / (of_language[old] + beta_sums[language])
            for k in range(n_topics):
                weights[k] = (of_document[k] + alpha) * (of_word[k] + beta) * inverse_of[k]
            new = _draw(weights, sums)
            topics[place] = new
            of_document[new] += np.float32(1)
            of_word[new] += np.float32(1)
            of_language[new] += np.float32(1)
            inverse_of[new] = np.float32(1) / (of_language[new] + beta_sums[language])


@compiled
def _infer(
    words: Ids,
    offsets: NDArray[np.int64],
    word_probabilities: Counts,
    alpha: np.float32,
    runs: NDArray[np.int64],
    seed: int,
) -> NDArray[np.float64]:
    n_documents, n_topics = len(offsets) - 1, word_probabilities.shape[1]
    mixtures = np.full((n_documents, n_topics), np.nan)
    weights = np.empty(n_topics, np.float32)
    sums = np.empty((n_topics + _BLOCK - 1) // _BLOCK, np.float32)
    counts = np.empty(n_topics, np.float32)
    for document in range(n_documents):
        start, end = offsets[document], offsets[document + 1]
        if start == end:
            continue
        np.random.seed(seed + document)
        topics = np.empty(end - start, np.int32)
        counts[:] = 0
        for i in range(end - start):
            topics[i] = np.random.randint(n_topics)
            counts[topics[i]] += np.float32(1)
        mixtures[document] = 0.0
        for n_sweeps in runs:
            for _ in range(n_sweeps):
                for i in range(end - start):
                    counts[topics[i]] -= np.float32(1)
                    of_word = word_probabilities[words[start + i]]
                    for k in range(n_topics):
                        weights[k] = (counts[k] + alpha) * of_word[k]
                    topics[i] = _draw(weights, sums)
                    counts[topics[i]] += np.float32(1)
            for k in range(n_topics):
                mixtures[document, k] += (counts[k] + alpha) / (end - start + n_topics * alpha) / len(runs)
    return mixtures


@compiled
def _draw(weights: Counts, sums: Counts) -> int:
    """Draws a position with a probability proportional to its weight."""
    n = len(weights)
    total = np.float32(0)
    for block in range(len(sums)):
        inside = np.float32(0)
        for k in range(block * _BLOCK, min(n, (block + 1) * _BLOCK)):
            inside += weights[k]
        sums[block] = inside
        total += inside
    left = np.float32(np.random.random()) * total
    block = 0
    while block < len(sums) - 1 and left >= sums[block]:
        left -= sums[block]
        block += 1
    k, last = block * _BLOCK, min(n, (block + 1) * _BLOCK) - 1
    while k < last and left >= weights[k]:
        left -= weights[k]
        k += 1
    return k
