"""Topic models as systems. They compare documents in any language by their mixtures of shared topics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from scipy.special import rel_entr

from ingest.progress import Progress, no_progress
from papers.corpora.tasks import SYSTEM_TOKENS, Direction, Task
from papers.systems.protocol import Matrix, TimedSystem
from papers.systems.topic_sampling import Counts, Priors, Schedule, TokenStream, infer, train
from reranker.base.errors import BadInput
from reranker.text.tokens import letter_tokens
from sinkrank.demo.pages import CorpusPage

_SEED = 2018

Divergence = Callable[[Matrix, Matrix], Matrix]
"""Takes (n_queries, n_topics) and (n_documents, n_topics), returns (n_queries, n_documents)."""

Words = Mapping[str, Sequence[str]]
"""The tokens of one document by language."""


def relative_entropy(queries: Matrix, documents: Matrix) -> Matrix:
    """The Kullback-Leibler divergence (nats) of each query's mixture from each document's mixture."""
    return np.array([rel_entr(query[None, :], documents).sum(axis=1) for query in queries])


def jensen_shannon(queries: Matrix, documents: Matrix) -> Matrix:
    """The Jensen-Shannon divergence (nats, 0 to log 2) of each pair of mixtures."""
    rows = []
    for query in queries:
        middle = (query[None, :] + documents) / 2
        rows.append((rel_entr(query[None, :], middle) + rel_entr(documents, middle)).sum(axis=1) / 2)
    return np.array(rows)


def topic_euclidean(queries: Matrix, documents: Matrix) -> Matrix:
    """The Euclidean distance of each pair of mixtures."""
    return np.array([np.linalg.norm(query[None, :] - documents, axis=1) for query in queries])


@dataclass(frozen=True)
class TopicRecipe:
    """The definition of a system over topics.

    Attributes:
        largest_vocabulary: maximum number of words per language (the most frequent ones); None for all.
        training, inference: sweeps of training, and of inferring the mixture of a text.
        is_pairwise: whether each pair of languages has its own model; otherwise one model has all languages.
    """

    description: str
    priors: Priors
    training: Schedule
    inference: Schedule
    divergence: Divergence
    largest_vocabulary: int | None = None
    is_pairwise: bool = True


BILDA = TopicRecipe(
    "BiLDA, 300 topics, alpha 50/300, beta 0.01, collapsed Gibbs (200 sweeps, then every 25th to the 500th), a model a "
    "pair of languages, relative entropy of topic mixtures (Balikas et al. 2018)",
    Priors(300, 50 / 300, 0.01),
    Schedule(200, 500),
    Schedule(200, 500),
    relative_entropy,
)
MLTM = TopicRecipe(
    "multilingual topic model, one of all languages, 100 topics, alpha 1/100, beta 0.08, the 9,000 most frequent words "
    "a language, 1,000 Gibbs sweeps, Jensen-Shannon divergence of topic mixtures (Zosa et al. 2020)",
    Priors(100, 1 / 100, 0.08),
    Schedule(1000, 1000),
    Schedule(25, 200),
    jensen_shannon,
    9_000,
    is_pairwise=False,
)
LDA = TopicRecipe(
    "LDA of texts in one language, 100 topics, alpha 50/100, beta 0.01, collapsed Gibbs (100 sweeps, then every 100th "
    "to the 1,100th), Euclidean distance of topic mixtures, trained on the training pages alone (Kusner et al. 2015)",
    Priors(100, 50 / 100, 0.01),
    Schedule(100, 1100, 100),
    Schedule(100, 500),
    topic_euclidean,
)


class TopicSystem(TimedSystem[Matrix]):
    """A topic model that learns from the language versions of the training pages. The distance is +inf if one of the
    two has no word that the model knows.

    Args:
        directions: directions of the tasks, which give the pairs of languages.
    """

    def __init__(self, name: str, recipe: TopicRecipe, directions: Iterable[Direction] = ()) -> None:
        self.name, self.description, self._recipe = name, recipe.description, recipe
        self._pairs = sorted({_pair(direction) for direction in directions})
        self._models: dict[frozenset[str], TopicModel] = {}

    def fit(self, pages: Sequence[CorpusPage], progress: Progress = no_progress) -> None:
        """Trains a model for each pair of languages, or one for all languages of the pages.

        Raises:
            BadInput: no training page has the languages of a pair.
        """
        language_sets = self._pairs if self._recipe.is_pairwise else [tuple(sorted({page.language for page in pages}))]
        for languages in language_sets:
            documents = aligned_documents(pages, languages)
            if not documents:
                raise BadInput(
                    f"{self.name} finds no training page in {' and '.join(languages)}; leave it out of these"
                )
            label = f"{self.name} {' '.join(languages)}"
            self._models[frozenset(languages)] = TopicModel.train(documents, languages, self._recipe, label, progress)

    def prepare(self, task: Task) -> Matrix:
        return self._model(task.direction).mixtures(task.documents.values(), task.direction.document_language)

    def compare(self, task: Task, documents: Matrix, progress: Progress) -> Matrix:
        queries = self._model(task.direction).mixtures(task.queries.values(), task.direction.query_language)
        values = self._recipe.divergence(queries, documents)
        values[np.isnan(values)] = np.inf
        return values

    def _model(self, direction: Direction) -> TopicModel:
        """
        Raises:
            BadInput: no training page had a language of the direction.
        """
        if not self._models:
            raise RuntimeError(f"{self.name} has no model yet; call fit first")
        pair = set(_pair(direction))
        for languages, model in self._models.items():
            if languages == pair or (not self._recipe.is_pairwise and pair <= languages):
                return model
        raise BadInput(f"{self.name} has no model for {direction}; it learned {[*map(sorted, self._models)]}")


class TopicModel:
    """A trained model.

    Args:
        word_ids: by language, the id of each word in the joint vocabulary.
        word_probabilities: (total n_words, n_topics).
    """

    def __init__(
        self, recipe: TopicRecipe, word_ids: Mapping[str, Mapping[str, int]], word_probabilities: Counts
    ) -> None:
        self._recipe, self.word_ids, self.word_probabilities = recipe, word_ids, word_probabilities

    @classmethod
    def train(
        cls,
        documents: Sequence[Words],
        languages: Sequence[str],
        recipe: TopicRecipe,
        label: str = "",
        progress: Progress = no_progress,
    ) -> TopicModel:
        """Learns from documents whose language versions share their topics."""
        word_ids: dict[str, dict[str, int]] = {}
        for language in languages:
            counts = Counter(token for document in documents for token in document.get(language, ()))
            # The most frequent first, equally frequent ones in alphabetical order.
            ordered = sorted(counts, key=lambda word: (-counts[word], word))[: recipe.largest_vocabulary]
            start = sum(map(len, word_ids.values()))
            word_ids[language] = {word: start + place for place, word in enumerate(ordered)}
        n_words = np.array([len(ids) for ids in word_ids.values()], dtype=np.int64)
        n_sweeps = recipe.training.n_sweeps
        probabilities = train(
            _stream(documents, word_ids),
            n_words,
            recipe.priors,
            recipe.training,
            _SEED,
            lambda done: progress(done, n_sweeps, f"learning topics, {label}"),
        )
        return cls(recipe, word_ids, probabilities)

    def mixtures(self, texts: Iterable[Sequence[str]], language: str) -> Matrix:
        """(n_texts, n_topics), the mixtures; NaN for a text without a known word."""
        stream = _stream([{language: tokens} for tokens in texts], self.word_ids)
        return infer(stream, self.word_probabilities, self._recipe.priors.alpha, self._recipe.inference, _SEED)


def aligned_documents(pages: Iterable[CorpusPage], languages: Sequence[str]) -> list[Words]:
    """The pages' tokens. A document is a page id with its versions in `languages`. If there are two languages, it needs
    both, since a page in one language aligns nothing."""
    ordered = sorted((page for page in pages if page.language in languages), key=lambda page: page.page_id)
    found = (
        {page.language: letter_tokens(page.text, page.language, SYSTEM_TOKENS) for page in versions}
        for _, versions in groupby(ordered, key=lambda page: page.page_id)
    )
    return [document for document in found if len(document) >= min(2, len(languages))]


def _pair(direction: Direction) -> tuple[str, ...]:
    return tuple(sorted({direction.query_language, direction.document_language}))


def _stream(documents: Iterable[Words], word_ids: Mapping[str, Mapping[str, int]]) -> TokenStream:
    words: list[int] = []
    lengths: list[int] = []
    for document in documents:
        before = len(words)
        for language, tokens in document.items():
            ids = word_ids.get(language, {})
            words.extend(ids[token] for token in tokens if token in ids)
        lengths.append(len(words) - before)
    places = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
    return TokenStream(np.array(words, dtype=np.int32), places, len(lengths))
