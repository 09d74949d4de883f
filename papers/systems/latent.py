"""Representations of texts in one language, learned from its training pages: LSI and mSDA (Kusner et al. 2015)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_array
from sklearn.decomposition import TruncatedSVD

from ingest.progress import Progress, no_progress
from papers.corpora.tasks import SYSTEM_TOKENS, Direction, Task
from papers.systems.embedded import euclidean
from papers.systems.protocol import Matrix, TimedSystem
from papers.systems.term_counts import term_counts
from reranker.base.errors import BadInput
from reranker.text.tokens import letter_tokens
from sinkrank.demo.pages import CorpusPage

_N_LAYERS, _NOISE = 3, 0.5  # of mSDA

SEED = 2018


class Representation(Protocol):
    """Learns from counts and turns counts into vectors."""

    @property
    def largest_vocabulary(self) -> int | None:
        """Maximum number of words (the most frequent ones); None for all."""

    @property
    def description(self) -> str:
        """One line with the method, its constants and its source."""

    def fit(self, counts: csr_array) -> None:
        """Learns from counts (n_texts, n_words)."""

    def represent(self, counts: csr_array) -> Matrix:
        """Turns counts (n_texts, n_words) into vectors (n_texts, dim)."""


class LatentSystem(TimedSystem[Matrix]):
    """Euclidean distances of learned vectors, among texts of one language; +inf if one of the two has no word of the
    training pages.

    Args:
        directions: directions of the tasks, each with the same language on both sides.

    Raises:
        BadInput: a direction has two languages.
    """

    def __init__(self, name: str, representation: Representation, directions: Iterable[Direction]) -> None:
        self.name, self.description, self._representation = name, representation.description, representation
        self._language = one_language(name, directions)
        self._columns: dict[str, int] | None = None

    def fit(self, pages: Sequence[CorpusPage], progress: Progress = no_progress) -> None:
        """Learns from the pages of its language.

        Raises:
            BadInput: there are no such pages.
        """
        texts = [
            letter_tokens(page.text, page.language, SYSTEM_TOKENS) for page in pages if page.language == self._language
        ]
        if not texts:
            raise BadInput(f"{self.name} learns from training pages in {self._language!r}, and there are none")
        counts = Counter(token for text in texts for token in text)
        words = sorted(counts, key=lambda word: (-counts[word], word))[: self._representation.largest_vocabulary]
        self._columns = {word: column for column, word in enumerate(words)}
        progress(0, None, f"learning {self.name}")
        self._representation.fit(term_counts(texts, self._columns))

    def prepare(self, task: Task) -> Matrix:
        return self._represent(task.documents.values())

    def compare(self, task: Task, documents: Matrix, progress: Progress) -> Matrix:
        return euclidean(self._represent(task.queries.values()), documents)

    def _represent(self, texts: Iterable[Sequence[str]]) -> Matrix:
        if self._columns is None:
            raise RuntimeError(f"{self.name} has learned nothing yet; call fit first")
        counts = term_counts(texts, self._columns)
        vectors = self._representation.represent(counts)
        vectors[np.diff(counts.indptr) == 0] = np.nan
        return vectors


class Lsi:
    """Latent semantic indexing by scikit-learn (Deerwester et al. 1990)."""

    largest_vocabulary = None

    def __init__(self, n_dimensions: int = 200) -> None:
        self._n_dimensions = n_dimensions
        self._svd = TruncatedSVD(n_dimensions, random_state=SEED)
        self.description = (
            f"LSI: {n_dimensions} singular vectors of the counts of the training pages (scikit-learn), Euclidean "
            "distance (Kusner et al. 2015)"
        )

    def fit(self, counts: csr_array) -> None:
        n_dimensions = min(self._n_dimensions, min(counts.shape) - 1)
        if n_dimensions < 1:
            raise BadInput("lsi needs two training pages and two words or more; give it more pages")
        self._svd.set_params(n_components=n_dimensions).fit(counts)

    def represent(self, counts: csr_array) -> Matrix:
        return np.asarray(self._svd.transform(counts))


class MarginalisedAutoencoder:
    """Marginalised stacked denoising autoencoders (mSDA; Chen et al. 2012), in closed form.

    Each layer maps its input x, with a constant 1 appended, to tanh(W x). W is the least-squares reconstruction of x
    from copies in which each word is removed with probability `noise`. With S = Σ x x' and q the probability that a
    word stays (1 for the constant), W = E[P] E[Q]^-1 where E[P]_ij = S_ij q_j and E[Q]_ij = S_ij q_i q_j, S_ii q_i on
    the diagonal (section 3.2). The vector of a text is its input and all layers, concatenated.
    """

    largest_vocabulary = 2_000

    def __init__(self) -> None:
        self._layers: list[Matrix] = []
        self.description = (
            f"mSDA: {_N_LAYERS} layers, noise {_NOISE:g}, on which of the {self.largest_vocabulary:,} most frequent "
            "words a text has, Euclidean distance (Chen et al. 2012, Kusner et al. 2015)"
        )

    def fit(self, counts: csr_array) -> None:
        self._layers = []
        values = _present(counts)
        for _ in range(_N_LAYERS):
            self._layers.append(restoring_weights(values, _NOISE))
            values = _mapped(values, self._layers[-1])

    def represent(self, counts: csr_array) -> Matrix:
        parts = [_present(counts)]
        for weights in self._layers:
            parts.append(_mapped(parts[-1], weights))
        return np.hstack(parts)


# With words that never occur, E[Q] has no inverse.
_RIDGE = 1e-5


def restoring_weights(values: Matrix, noise: float) -> Matrix:
    """(n_words, n_words + 1), the W of one layer. The last column is that of the constant.

    Args:
        values: (n_texts, n_words).
    """
    extended = np.hstack([values, np.ones((len(values), 1))])
    scatter = extended.T @ extended
    stays = np.full(len(scatter), 1.0 - noise)
    stays[-1] = 1.0
    corrupted = scatter * np.outer(stays, stays)
    np.fill_diagonal(corrupted, np.diag(scatter) * stays)
    target = scatter[:-1] * stays[None, :]
    return np.asarray(cho_solve(cho_factor(corrupted + _RIDGE * np.eye(len(scatter))), target.T).T)


def one_language(name: str, directions: Iterable[Direction]) -> str:
    """The language of all directions.

    Raises:
        BadInput: there are several languages.
    """
    languages = sorted({each for one in directions for each in (one.query_language, one.document_language)})
    if len(languages) != 1:
        raise BadInput(f"{name} compares texts of one language, not of {', '.join(languages) or 'none'}")
    return languages[0]


def _present(counts: csr_array) -> Matrix:
    return np.asarray(counts.toarray() > 0, dtype=np.float64)


def _mapped(values: Matrix, weights: Matrix) -> Matrix:
    return np.asarray(np.tanh(values @ weights[:, :-1].T + weights[:, -1]))
