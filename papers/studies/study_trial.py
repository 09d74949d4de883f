"""One task of the study and the distances that its attempts combine, each computed once; all are (n_queries,
n_documents)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from papers.corpora.tasks import Direction, make_task
from papers.systems.corrected import sample_of
from papers.systems.runs import EncodedTask, encode, method_distances
from reranker.embeddings import Embeddings
from reranker.ranking.unknown_terms import unknown_share
from reranker.transport import Parameters
from sinkrank.demo.pages import Corpus

Matrix = NDArray[np.float64]

EPSILON = 0.1
# Farther than any document with a known word (at most 2).
FARTHEST = 2.0


@dataclass(eq=False)
class Trial:
    """One task."""

    encoded: EncodedTask
    n_threads: int = 1
    _relaxed: dict[tuple[float, float, str], Matrix] = field(default_factory=dict)

    @property
    def nbow(self) -> Matrix:
        return np.minimum(1.0 - self.encoded.cosines.astype(np.float64), FARTHEST)

    @property
    def hubness(self) -> NDArray[np.float64]:
        """(n_documents,) as a search measures it; 0 without a sample."""
        found = self.encoded.hubness
        return np.zeros(len(self.encoded.doc_ids)) if found is None else found

    @property
    def n_query_words(self) -> Matrix:
        """(n_queries, 1)."""
        return np.array([[float(len(query))] for query in self.encoded.queries])

    def relaxed(
        self, share: float, epsilon: float = EPSILON, cost: Literal["euclidean", "cosine"] = "euclidean"
    ) -> Matrix:
        """The distance of `relaxed` at tau = epsilon · share / (1 - share).

        A share of 0 ignores the document's weights; a share of 1 matches them, as `sinkhorn` does.
        """
        if (share, epsilon, cost) not in self._relaxed:
            method, parameters = _parameters(share, epsilon)
            self._relaxed[share, epsilon, cost] = self.method(method, replace(parameters, cost=cost))
        return self._relaxed[share, epsilon, cost]

    def method(self, name: str, parameters: Parameters = Parameters()) -> Matrix:
        return np.minimum(method_distances(self.encoded, name, parameters, n_threads=self.n_threads), FARTHEST)

    def mixed(self, weight: float, epsilon: float = EPSILON) -> Matrix:
        """The weighted mean of the nearest words (share 0) and `sinkhorn`, which has this weight (0 to 1)."""
        return (1 - weight) * self.relaxed(0.0, epsilon) + weight * self.relaxed(1.0, epsilon)

    def unknown_words(self) -> tuple[Matrix, Matrix]:
        """The words without an embedding, in queries and documents.

        Returns:
            (n_queries, 1), the share of each query's tokens that have no embedding; and (n_queries, n_documents), the
            share of the distinct ones among them that each document lacks, 0 for a query without such tokens.
        """
        task, embeddings = self.encoded.task, self.encoded.embeddings
        holding: defaultdict[str, list[int]] = defaultdict(list)
        for place, tokens in enumerate(task.documents.values()):
            for token in set(tokens):
                holding[token].append(place)
        shares, lacking = np.zeros((len(task.queries), 1)), np.zeros((len(task.queries), len(task.documents)))
        for row, tokens in enumerate(task.queries.values()):
            unknown = [token for token in tokens if not embeddings.stand_ins(task.direction.query_language, token)]
            shares[row] = unknown_share(tokens, unknown)
            distinct = set(unknown)
            for token in distinct:
                lacking[row] += 1 / len(distinct)
                lacking[row, holding.get(token, [])] -= 1 / len(distinct)
        return shares, lacking


def trials(
    corpus: Corpus,
    embeddings: Embeddings,
    kind: str,
    directions: Sequence[str],
    n_queries: int,
    n_threads: int = 1,
) -> Iterator[Trial]:
    """The tasks of one kind of query: every page is a document, the first `n_queries` are queries."""
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
        yield Trial(asked, n_threads)


def _first(texts: Mapping[str, tuple[str, ...]], n: int) -> dict[str, tuple[str, ...]]:
    return dict(list(texts.items())[:n])


def _parameters(share: float, epsilon: float) -> tuple[str, Parameters]:
    if share >= 1:
        return "sinkhorn", Parameters(epsilon)
    if share <= 0:  # settled after one iteration
        return "relaxed", Parameters(epsilon, 1, 0.0)
    return "relaxed", Parameters(epsilon, tau=epsilon * share / (1 - share))
