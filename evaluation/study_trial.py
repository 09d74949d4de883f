"""One task of the study and the parts that its attempts are made of, each computed once; all are (n_queries,
n_documents)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from evaluation.corpora.pages import Corpus, Page, by_language
from evaluation.corrected import sample_of
from evaluation.runs import EncodedTask, encode, method_distances
from evaluation.tasks import Direction, make_task
from reranker.bags import WeightedBag
from reranker.embeddings import Embeddings
from reranker.idf import DocumentFrequencies, IdfTable
from reranker.tokens import tokenize
from reranker.transport import Parameters, distances

Matrix = NDArray[np.float64]

EPSILON = 0.1
# Farther than any document with a known word (at most 2).
FARTHEST = 2.0

# The hubness of a document is measured by the nearest 10 (as in CSLS: Lample et al. 2018) of a sample of queries.
N_NEAREST = 10
SAMPLE_SEED = 4


@dataclass(frozen=True)
class Sample:
    """Which queries hubness is measured by: the first words of pages.

    Attributes:
        pages: "apart": those that trained the embeddings, of which none asks or is searched; "index": those that ask.
        n_words: of each page, counted in tokens.
        n_pages: drawn, or all where there are fewer.
        languages: "query": of the query's language; "others": the same number of each that is not the documents'.
    """

    pages: str = "apart"
    n_words: int = 8
    n_pages: int = 400
    languages: str = "query"


@dataclass(eq=False)
class Trial:
    """One task; `corpus` is where samples are drawn from."""

    encoded: EncodedTask
    corpus: Corpus
    n_threads: int = 1
    _kept: dict[tuple[float, float], Matrix] = field(default_factory=dict)
    _cosine: dict[float, tuple[Matrix, Matrix]] = field(default_factory=dict)
    _bags: dict[Sample, tuple[WeightedBag, ...]] = field(default_factory=dict)

    @property
    def nbow(self) -> Matrix:
        return np.minimum(1.0 - self.encoded.cosines.astype(np.float64), FARTHEST)

    @property
    def n_query_words(self) -> Matrix:
        """(n_queries, 1)."""
        return np.array([[float(len(query))] for query in self.encoded.queries])

    def relaxed(self, share: float, epsilon: float = EPSILON) -> Matrix:
        """The distance whose document marginal is held with share = tau / (tau + epsilon): 0 lets it go, 1 is
        `sinkhorn`."""
        if (share, epsilon) not in self._kept:
            method, parameters = _parameters(share, epsilon)
            self._kept[share, epsilon] = self.method(method, parameters)
        return self._kept[share, epsilon]

    def method(self, name: str, parameters: Parameters = Parameters()) -> Matrix:
        return np.minimum(method_distances(self.encoded, name, parameters, n_threads=self.n_threads), FARTHEST)

    def mixed(self, weight: float | Matrix, low: float = 0.0, epsilon: float = EPSILON) -> Matrix:
        """Between a relaxed distance and `sinkhorn`, which has the weight."""
        return (1 - weight) * self.relaxed(low, epsilon) + weight * self.relaxed(1.0, epsilon)

    def cosine_cost(self, epsilon: float = EPSILON) -> tuple[Matrix, Matrix]:
        """The distances at share 0 and at share 1 under the cosine cost."""
        if epsilon not in self._cosine:
            nearest, balanced = (_parameters(share, epsilon) for share in (0.0, 1.0))
            self._cosine[epsilon] = (
                self.method(nearest[0], replace(nearest[1], cost="cosine")),
                self.method(balanced[0], replace(balanced[1], cost="cosine")),
            )
        return self._cosine[epsilon]

    def unknown_words(self) -> tuple[Matrix, Matrix]:
        """The share of each query's tokens that take no embedding, (n_queries, 1), and how many of these each document
        lacks (0 to 1; 0 where the query has none)."""
        task, embeddings = self.encoded.task, self.encoded.embeddings
        holding: defaultdict[str, list[int]] = defaultdict(list)
        for place, tokens in enumerate(task.documents.values()):
            for token in set(tokens):
                holding[token].append(place)
        shares, lacking = np.zeros((len(task.queries), 1)), np.zeros((len(task.queries), len(task.documents)))
        for row, tokens in enumerate(task.queries.values()):
            unknown = [token for token in tokens if embeddings.stand_in(task.direction.query_language, token) is None]
            shares[row] = len(unknown) / len(tokens)
            for token in unknown:
                lacking[row] += 1 / len(unknown)
                lacking[row, holding.get(token, [])] -= 1 / len(unknown)
        return shares, lacking

    def sample(self, sample: Sample) -> tuple[WeightedBag, ...]:
        """The sample's queries that have a known word."""
        if sample not in self._bags:
            direction = self.encoded.task.direction
            others = [language for language in self.corpus.languages if language != direction.document_language]
            languages = [direction.query_language] if sample.languages == "query" else others
            drawn = [self._drawn(replace(sample, languages="query"), language) for language in languages]
            self._bags[sample] = tuple(bag for bags in drawn for bag in bags if len(bag))
        return self._bags[sample]

    def _drawn(self, sample: Sample, language: str) -> list[WeightedBag]:
        embeddings = self.encoded.embeddings
        asking = by_language(self.corpus.test_pages, language)
        pages = by_language(self.corpus.train_pages, language) if sample.pages == "apart" else asking
        # The idf that an index of the pages has.
        whole = [embeddings.bag_of_tokens(tokenize(page.text, language), language) for page in asking.values()]
        idf = IdfTable({language: DocumentFrequencies.count(whole)})
        order = np.random.default_rng(SAMPLE_SEED).permutation(len(pages))[: sample.n_pages]
        texts: list[Page] = [page for _, page in sorted(pages.items())]
        tokens = [tokenize(texts[place].text, language)[: sample.n_words] for place in sorted(order)]
        return [idf.weigh(embeddings.bag_of_tokens(each, language), language) for each in tokens]

    def hubness(self, sample: Sample = Sample()) -> Matrix:
        """The mean cosine of each document's nbow to the nearest of the sample, (n_documents,)."""
        embeddings = self.encoded.embeddings
        asked = [vector for bag in self.sample(sample) if (vector := embeddings.nbow(bag)) is not None]
        documents = [embeddings.nbow(self.encoded.documents[place]) for place in range(len(self.encoded.documents))]
        vectors = np.array([np.zeros(embeddings.dim) if vector is None else vector for vector in documents])
        if not asked:
            return np.zeros(len(vectors))
        return np.asarray(np.sort(vectors @ np.array(asked).T, axis=1)[:, -N_NEAREST:].mean(axis=1))

    def transport_hubness(self, weight: float, sample: Sample) -> Matrix:
        """The mean `mixed` distance of each document to the nearest of the sample, (n_documents,)."""
        found = []
        for share, part in ((0.0, 1 - weight), (1.0, weight)):
            method, parameters = _parameters(share, EPSILON)
            solve = partial(distances, method=method, parameters=parameters, n_threads=self.n_threads)
            rows = [
                solve(bag, self.encoded.documents, self.encoded.embeddings.vectors).values
                for bag in self.sample(sample)
            ]
            found.append(part * np.minimum(rows, FARTHEST))
        return np.asarray(np.sort(found[0] + found[1], axis=0)[:N_NEAREST].mean(axis=0))


def trials(
    corpus: Corpus, embeddings: Embeddings, kind: str, directions: Sequence[str], n_queries: int, n_threads: int
) -> Iterator[Trial]:
    """The tasks of one kind of query: every page is a document, the first `n_queries` ask."""
    for name in directions:
        direction = Direction.parse(name)
        drawn = sample_of(corpus.train_pages, {direction.query_language}, embeddings)
        whole = encode(make_task(corpus, direction, kind, None), embeddings, drawn)
        asking = _first(whole.task.queries, n_queries)
        asked = replace(
            whole,
            task=replace(whole.task, queries=asking),
            query_ids=tuple(asking),
            queries=whole.queries[:n_queries],
            cosines=whole.cosines[:n_queries],
            order=whole.order[:n_queries],
        )
        yield Trial(asked, corpus, n_threads)


def _first(texts: Mapping[str, tuple[str, ...]], n: int) -> dict[str, tuple[str, ...]]:
    return dict(list(texts.items())[:n])


def _parameters(share: float, epsilon: float) -> tuple[str, Parameters]:
    if share >= 1:
        return "sinkhorn", Parameters(epsilon)
    if share <= 0:  # settled after one iteration
        return "relaxed", Parameters(epsilon, 1, 0.0)
    return "relaxed", Parameters(epsilon, tau=epsilon * share / (1 - share))
