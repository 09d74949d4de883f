"""Collapsed Gibbs sampling of topic models whose documents may have several languages, in C (`topic_sampling.c`).

The model is polylingual LDA (Mimno et al. 2009; with two languages BiLDA, De Smet and Moens 2009; with one LDA): all
language versions of a document share one mixture of topics, and each topic has one distribution over the words of each
language. A token of word w and language l in document d takes topic k with probability proportional to

    (n_dk + alpha) · (n_wk + beta) / (n_lk + beta · V_l)

where n counts the other tokens of topic k in the document, of the word, and of the language, which has V_l words.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from reranker.native.compiling import compile_library
from reranker.native.library import address

Counts = NDArray[np.float32]
Ids = NDArray[np.int32]

_SOURCE = Path(__file__).with_suffix(".c")
# Topics of which the C code keeps one sum.
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
            n_next = min(_REPORTED_SWEEPS, n_sweeps - first)
            _sweep(stream, languages, state, priors, beta_sums, n_next, seed + done + first + 1)
            report(done + first + n_next)
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
    offsets = np.searchsorted(stream.documents, np.arange(stream.n_documents + 1))
    runs, n_topics = np.array(schedule.runs(), dtype=np.int64), word_probabilities.shape[1]
    mixtures = np.full((stream.n_documents, n_topics), np.nan)
    probabilities = np.ascontiguousarray(word_probabilities, np.float32)
    counts, weights, sums = np.empty(n_topics, np.float32), np.empty(n_topics, np.float32), _room_for_sums(n_topics)
    for document in np.flatnonzero(np.diff(offsets)).tolist():
        words = np.ascontiguousarray(stream.words[offsets[document] : offsets[document + 1]], np.int32)
        random = np.random.RandomState(seed + document).random_sample(len(words) * (1 + int(runs.sum())))
        topics = np.empty(len(words), np.int32)
        _library().infer(
            address(words), len(words), address(probabilities), n_topics, float(alpha), address(runs), len(runs),
            address(random), address(topics), address(counts), address(weights), address(sums),
            address(mixtures[document]),
        )  # fmt: skip
    return mixtures


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


def _sweep(
    stream: TokenStream,
    languages: Ids,
    state: _State,
    priors: Priors,
    beta_sums: Counts,
    n_sweeps: int,
    seed: int,
) -> None:
    random = np.random.RandomState(seed)
    weights, sums = np.empty(priors.n_topics, np.float32), _room_for_sums(priors.n_topics)
    words, documents = (np.ascontiguousarray(ids, np.int32) for ids in (stream.words, stream.documents))
    for _ in range(n_sweeps):
        draws = random.random_sample(len(words))
        _library().sweep(
            address(words), address(documents), address(languages), address(state.topics), len(words),
            address(state.by_document), address(state.by_word), address(state.by_language), priors.n_topics,
            priors.alpha, priors.beta, address(beta_sums), address(draws), address(weights), address(sums),
        )  # fmt: skip


def _room_for_sums(n_topics: int) -> Counts:
    return np.empty(-(-n_topics // _BLOCK), np.float32)


@cache
def _library() -> ctypes.CDLL:
    """The C code, compiled for this processor when it is first needed."""
    path = _SOURCE.with_name("_topic_sampling.so")
    if not path.exists() or path.stat().st_mtime < _SOURCE.stat().st_mtime:
        compile_library(path, ("-march=native",), sources=[_SOURCE])
    library, p, q, d = ctypes.CDLL(str(path)), ctypes.c_void_p, ctypes.c_int64, ctypes.c_double
    library.sweep.argtypes = [p, p, p, p, q, p, p, p, q, d, d, p, p, p, p]
    library.infer.argtypes = [p, q, p, q, d, p, q, p, p, p, p, p, p]
    library.sweep.restype = library.infer.restype = None
    return library
