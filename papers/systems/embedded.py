"""The papers' distances over word embeddings: between mean embeddings, and by transport between words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from ingest.progress import Progress
from papers.corpora.tasks import Task, Texts
from papers.systems.protocol import Matrix, TimedSystem
from papers.systems.unknown_words import by_rule
from reranker.embeddings import Embeddings
from reranker.text.bags import BagOfWords, WeightedBag, WeightedBags
from reranker.text.idf import DocumentFrequencies, IdfTable
from reranker.transport import Parameters, distances

CENTROIDS = "centroids"
"""A method other than `reranker.transport.METHODS`: the Euclidean distance of weighted mean embeddings."""

_METHODS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "nbow": (CENTROIDS, "Euclidean distance of mean embeddings (nBOW)"),
        "wass": ("emd", "exact optimal transport between words, Euclidean cost (Wass)"),
        "entro-wass": ("sinkhorn", "entropic transport between words, epsilon 0.1, 50 iterations (Entro_Wass)"),
    }
)
# At most 50 plain iterations for long queries too, which `distances` over-relaxes by default.
_PLAIN = Parameters(stop_at=1e-6)
_WEIGHTS = {"tf": "tf weights", "idf": "tf·idf weights, log((N + 1) / (df + 1))"}


@dataclass(frozen=True)
class Recipe:
    """The definition of a system over word embeddings.

    Attributes:
        method: `CENTROIDS`, or one of `reranker.transport.METHODS`.
        is_idf: whether weights are tf·idf, with the idf of the searched documents; otherwise tf.
        handles_unknown_words: whether words without an embedding borrow one (Balikas et al. 2018, section 3.3).
    """

    method: str
    is_idf: bool
    handles_unknown_words: bool
    description: str


def _balikas() -> Iterable[tuple[str, Recipe]]:
    for plus, rule in (("", "words without an embedding left out"), ("+", "words without an embedding take another's")):
        for prefix, (method, what) in _METHODS.items():
            for weight, weighing in _WEIGHTS.items():
                description = f"{what}, {weighing}, {rule} (Balikas et al. 2018)"
                yield f"{prefix}-{weight}{plus}", Recipe(method, weight == "idf", bool(plus), description)


def _kusner(method: str, what: str) -> Recipe:
    return Recipe(method, False, False, f"{what}, tf weights, words without an embedding left out (Kusner et al. 2015)")


RECIPES: Mapping[str, Recipe] = MappingProxyType(
    {
        **dict(_balikas()),
        "wmd": _kusner("emd", "Word Mover's Distance: exact optimal transport, Euclidean cost; `wass-tf` by its name"),
        "wcd": _kusner(
            CENTROIDS, "Word Centroid Distance: Euclidean distance of mean embeddings; `nbow-tf` by its name"
        ),
        "rwmd-tf": _kusner("rwmd", "Relaxed Word Mover's Distance: the larger of the two one-sided nearest-word costs"),
    }
)
"""The recipes by the name of the system."""


class EmbeddedWords(TimedSystem[tuple[IdfTable, Matrix | WeightedBags]]):
    """One of `RECIPES` over trained embeddings. It ranks all documents. The distance is +inf if one of the two has no
    known word.

    Args:
        n_threads: maximum number of threads.
    """

    def __init__(self, name: str, embeddings: Embeddings, n_threads: int = 1) -> None:
        self.name, self._recipe, self._n_threads = name, RECIPES[name], n_threads
        self.description = self._recipe.description
        self._embeddings = by_rule(embeddings, "paper" if self._recipe.handles_unknown_words else "skip")

    def prepare(self, task: Task) -> tuple[IdfTable, Matrix | WeightedBags]:
        """Returns the idf, and the mean embeddings of the documents or their bags."""
        bags, idf = weighted_documents(task, self._embeddings, self._recipe.is_idf)
        is_mean = self._recipe.method == CENTROIDS
        return idf, centroids(bags, self._embeddings) if is_mean else WeightedBags.join(bags)

    def compare(self, task: Task, documents: tuple[IdfTable, Matrix | WeightedBags], progress: Progress) -> Matrix:
        idf, found = documents
        queries = weighted_queries(task, self._embeddings, idf)
        if not isinstance(found, WeightedBags):
            return euclidean(centroids(queries, self._embeddings), found)
        vectors, method = self._embeddings.vectors, self._recipe.method
        values = np.full((len(queries), len(task.documents)), np.inf)
        for row, query in enumerate(queries):
            progress(row, len(queries), f"{task.name} {self.name}")
            if len(query):
                values[row] = distances(query, found, vectors, method, _PLAIN, self._n_threads).values
        return values


def weighted_documents(task: Task, embeddings: Embeddings, is_idf: bool) -> tuple[list[WeightedBag], IdfTable]:
    """The documents' bags, and the idf table of documents and queries, which is empty (tf alone) if not `is_idf`."""
    ours, theirs = task.direction.query_language, task.direction.document_language
    bags = _bags(task.documents, theirs, embeddings)
    idf = IdfTable()
    if is_idf:
        query_side = DocumentFrequencies.count(_bags(task.query_side, ours, embeddings))
        idf = IdfTable({ours: query_side, theirs: DocumentFrequencies.count(bags)})
    return [idf.weigh(bag, theirs) for bag in bags], idf


def weighted_queries(task: Task, embeddings: Embeddings, idf: IdfTable) -> list[WeightedBag]:
    """The queries' bags; empty without a known word."""
    language = task.direction.query_language
    return [idf.weigh(bag, language) for bag in _bags(task.queries, language, embeddings)]


def centroids(bags: Sequence[WeightedBag], embeddings: Embeddings) -> Matrix:
    """(n_bags, dim), the weighted means of the words' embeddings, not normalised; NaN for a bag without a word."""
    means = np.full((len(bags), embeddings.dim), np.nan)
    for row, bag in zip(means, bags, strict=True):
        if len(bag):
            row[:] = bag.weights @ np.asarray(embeddings.vectors[bag.term_ids])
    return means


def euclidean(queries: Matrix, documents: Matrix) -> Matrix:
    """(n_queries, n_documents), Euclidean distances of rows; +inf if one of the two is NaN."""
    squares = (queries**2).sum(axis=1)[:, None] + (documents**2).sum(axis=1)[None, :] - 2.0 * queries @ documents.T
    return np.where(np.isnan(squares), np.inf, np.sqrt(np.maximum(squares, 0.0)))


def _bags(texts: Texts, language: str, embeddings: Embeddings) -> list[BagOfWords]:
    return [embeddings.bag_of_tokens(tokens, language) for tokens in texts.values()]
