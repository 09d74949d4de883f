"""One task of the study and the parts that its attempts are made of, each computed once; all are (n_queries,
n_documents)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from evaluation.corpora.pages import Corpus, Page, by_language
from evaluation.corpora.tasks import Direction, Texts, make_task
from evaluation.systems.corrected import sample_of
from evaluation.systems.runs import EncodedTask, cosines_of, encode, method_distances, nbows
from papers.studies.study_weights import Norms, Weights
from reranker.embeddings import Embeddings
from reranker.embeddings.hubness import N_NEAREST, SAMPLE_QUERIES, SAMPLE_TOKENS
from reranker.ranking.unknown_terms import unknown_share
from reranker.text.bags import WeightedBag, WeightedBags
from reranker.text.documents import id_hash
from reranker.text.idf import DocumentFrequencies
from reranker.text.tokens import letter_tokens
from reranker.transport import Parameters, distances

Matrix = NDArray[np.float64]

EPSILON = 0.1
# Farther than any document with a known word (at most 2).
FARTHEST = 2.0


@dataclass(frozen=True)
class Sample:
    """Which queries hubness is measured by: the first words of pages.

    Attributes:
        pages: "apart": those that trained the embeddings, of which none asks or is searched; "index": those that ask.
        n_words: of each page, counted in tokens.
        n_pages: of those with a known word there, by the smallest hashes of their ids; all where there are fewer.
        languages: "query": of the query's language; "others": the same number of each that is not the documents'.
    """

    pages: str = "apart"
    n_words: int = SAMPLE_TOKENS
    n_pages: int = SAMPLE_QUERIES
    languages: str = "query"


@dataclass(eq=False)
class Trial:
    """One task.

    Attributes:
        corpus: where samples are drawn from.
        norms: gives those of the embeddings, if an attempt asks for them.
        weights: of all words; `weighed` gives the same task with others.
    """

    encoded: EncodedTask
    corpus: Corpus
    norms: Callable[[], Norms]
    n_threads: int = 1
    weights: Weights = field(default_factory=Weights)
    _kept: dict[tuple[float, float], Matrix] = field(default_factory=dict)
    _cosine: dict[float, tuple[Matrix, Matrix]] = field(default_factory=dict)
    _bags: dict[Sample, tuple[WeightedBag, ...]] = field(default_factory=dict)
    _hubness: dict[Sample, Matrix] = field(default_factory=dict)
    _weighed: dict[Weights, Trial] = field(default_factory=dict)

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

    def weighed(self, weights: Weights) -> Trial:
        """The same task with all words of queries, documents and samples weighed otherwise.

        Ties keep the first stage's order, which is that of tf·idf.
        """
        if weights not in self._weighed:
            task, direction = self.encoded.task, self.encoded.task.direction
            other = replace(self, weights=weights, _kept={}, _cosine={}, _bags={}, _hubness={}, _weighed={})
            queries = list(other._bags_of(task.queries, direction.query_language, task.query_side))
            documents = list(other._bags_of(task.documents, direction.document_language, task.documents))
            cosines = cosines_of(*(nbows(bags, self.encoded.embeddings) for bags in (queries, documents)))
            other.encoded = replace(
                self.encoded, queries=tuple(queries), documents=WeightedBags.join(documents), cosines=cosines
            )
            self._weighed[weights] = other
        return self._weighed[weights]

    def unknown_words(self) -> tuple[Matrix, Matrix]:
        """The share of each query's tokens that take no embedding, (n_queries, 1), and how many of the distinct ones
        among them each document lacks (0 to 1; 0 where the query has none)."""
        task, embeddings = self.encoded.task, self.encoded.embeddings
        holding: defaultdict[str, list[int]] = defaultdict(list)
        for place, tokens in enumerate(task.documents.values()):
            for token in set(tokens):
                holding[token].append(place)
        shares, lacking = np.zeros((len(task.queries), 1)), np.zeros((len(task.queries), len(task.documents)))
        for row, tokens in enumerate(task.queries.values()):
            unknown = [token for token in tokens if embeddings.stand_in(task.direction.query_language, token) is None]
            shares[row] = unknown_share(tokens, unknown)
            distinct = set(unknown)
            for token in distinct:
                lacking[row] += 1 / len(distinct)
                lacking[row, holding.get(token, [])] -= 1 / len(distinct)
        return shares, lacking

    def sample(self, sample: Sample) -> tuple[WeightedBag, ...]:
        """The sample's queries."""
        if sample not in self._bags:
            direction = self.encoded.task.direction
            others = [language for language in self.corpus.languages if language != direction.document_language]
            languages = [direction.query_language] if sample.languages == "query" else others
            self._bags[sample] = tuple(bag for language in languages for bag in self._drawn(sample, language))
        return self._bags[sample]

    def _drawn(self, sample: Sample, language: str) -> list[WeightedBag]:
        asking = by_language(self.corpus.test_pages, language)
        pages = by_language(self.corpus.train_pages, language) if sample.pages == "apart" else asking
        words = {page_id: _tokens(pages[page_id])[: sample.n_words] for page_id in sorted(pages, key=id_hash)}
        if language == self.encoded.task.direction.query_language:
            counted = self.encoded.task.query_side
        else:
            counted = {page_id: _tokens(page) for page_id, page in asking.items()}
        return list(islice((bag for bag in self._bags_of(words, language, counted) if len(bag)), sample.n_pages))

    def _bags_of(self, texts: Texts, language: str, counted: Texts) -> Iterator[WeightedBag]:
        """The texts by this trial's weights, in their order.

        Args:
            counted: what an index holds of the language; its document frequencies count.
        """
        embeddings = self.encoded.embeddings
        whole = (embeddings.bag_of_tokens(tokens, language) for tokens in counted.values())
        frequencies = DocumentFrequencies.count(whole)
        norms = self.norms() if self.weights.norm else np.ones(embeddings.n_terms)
        for tokens in texts.values():
            yield self.weights.weigh(embeddings.bag_of_tokens(tokens, language), frequencies, norms)

    def hubness(self, sample: Sample = Sample()) -> Matrix:
        """The mean cosine of each document's nbow to the nearest of the sample, 0 at least, (n_documents,)."""
        if sample not in self._hubness:
            documents = [self.encoded.documents[place] for place in range(len(self.encoded.documents))]
            embeddings = self.encoded.embeddings
            cosines = nbows(documents, embeddings) @ nbows(self.sample(sample), embeddings).T
            nearest = (
                np.sort(cosines, axis=1)[:, -N_NEAREST:].mean(axis=1) if cosines.size else np.zeros(len(documents))
            )
            self._hubness[sample] = np.maximum(nearest, 0.0)
        return self._hubness[sample]

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
    corpus: Corpus,
    embeddings: Embeddings,
    kind: str,
    directions: Sequence[str],
    n_queries: int,
    n_threads: int,
    norms: Callable[[], Norms],
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
        yield Trial(asked, corpus, norms, n_threads)


@cache
def _tokens(page: Page) -> tuple[str, ...]:
    return tuple(letter_tokens(page.text, page.language))


def _first(texts: Mapping[str, tuple[str, ...]], n: int) -> dict[str, tuple[str, ...]]:
    return dict(list(texts.items())[:n])


def _parameters(share: float, epsilon: float) -> tuple[str, Parameters]:
    if share >= 1:
        return "sinkhorn", Parameters(epsilon)
    if share <= 0:  # settled after one iteration
        return "relaxed", Parameters(epsilon, 1, 0.0)
    return "relaxed", Parameters(epsilon, tau=epsilon * share / (1 - share))
