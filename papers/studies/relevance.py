"""Fits the weights of `reranker.ranking.relevance` on judged collections, and says what the probabilities are worth on
each collection that they were not fitted on."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ingest.progress import no_progress
from papers.base import module_command
from papers.judged.collection import opened
from papers.judged.indexing import INDEX
from reranker.base.errors import EmptyQuery, UnknownWords
from reranker.embeddings import Embeddings
from reranker.ranking.query import Query
from reranker.ranking.ranked import RankedDocuments, Reranking
from reranker.ranking.relevance import NO_GOOD_ANSWER, Weights
from reranker.ranking.reranker import Reranker
from reranker.search.first_stage import CandidateWindow
from reranker.search.request import SearchRequest
from reranker.search.searcher import Searcher
from reranker.service.settings import Settings

N_HITS, N_QUERIES, DEPTH = 10, 300, 100
ALLOWED = 0.02
"""Of queries with an answer, that may be declined."""

# Of searches without an answer, in the fit: the collections have none, and users do.
_UNANSWERED_SHARE = 0.1
_BINS, _STEPS, _RIDGE = 10, 50, 1.0
_SEED = 7

Floats = NDArray[np.float64]


class Hits(NamedTuple):
    """The first hits of some searches.

    Attributes:
        features: (n, 5); `is_relevant`, `is_first`: (n,).
    """

    features: Floats
    is_relevant: NDArray[np.bool_]
    is_first: NDArray[np.bool_]

    @classmethod
    def joined(cls, parts: Iterable[Hits]) -> Hits:
        features, is_relevant, is_first = zip(*parts, strict=True)
        return cls(np.concatenate(features), np.concatenate(is_relevant), np.concatenate(is_first))


class Judged(NamedTuple):
    """The hits of a collection's queries, and those without the relevant documents, which answer nothing."""

    name: str
    answered: Hits
    unanswered: Hits


class _Recorder(Searcher):
    """Ranks each window again without its relevant documents."""

    relevant: frozenset[str] = frozenset()
    found: list[Hits]

    def _rerank(
        self, reranker: Reranker, query: Query, window: CandidateWindow, request: SearchRequest
    ) -> Reranking | None:
        others = [each for each in window.candidates if each.doc_id not in self.relevant]
        self.found = []
        for each in (window, replace(window, candidates=others)):
            ranking = super()._rerank(reranker, query, each, request)
            if ranking is not None and each.candidates:
                self.found.append(self._hits(each, ranking))
        return None

    def _hits(self, window: CandidateWindow, reranking: Reranking) -> Hits:
        documents = reranking.documents
        assert isinstance(documents, RankedDocuments)  # noqa: S101
        assert documents.reasons.relevance is not None  # noqa: S101
        features = documents.reasons.relevance.features()[documents.order[:N_HITS]]
        ids = [window.candidates[each.index].doc_id for each in documents[:N_HITS]]
        return Hits(features, np.array([each in self.relevant for each in ids]), np.arange(len(ids)) == 0)


def judged_hits(folder: Path, embeddings: Path, language: str, first_stage: str, with_encoder: bool) -> Judged:
    """Searches for at most `N_QUERIES` of a collection's queries."""
    settings = Settings(embeddings=embeddings)
    answered, unanswered = [], []
    with opened(folder, None, language, settings, no_progress) as found:
        opened_embeddings = Embeddings.open(embeddings)
        if not with_encoder:
            opened_embeddings.query_encoders = ()
        searcher = _Recorder(found.searcher.store, opened_embeddings)
        random = np.random.default_rng(_SEED)
        for place in random.permutation(len(found.queries))[:N_QUERIES].tolist():
            query = found.queries[place]
            searcher.relevant = frozenset(doc_id for doc_id, grade in query.relevance.items() if grade > 0)
            request = SearchRequest(query.text, INDEX, query.language, first_stage=first_stage, depth=DEPTH, size=1)
            try:
                searcher.search(request)
            except (EmptyQuery, UnknownWords):
                continue
            if len(searcher.found) == 2:
                answered.append(searcher.found[0])
                unanswered.append(searcher.found[1])
    return Judged(folder.name, Hits.joined(answered), Hits.joined(unanswered))


def fitted(collections: Sequence[Judged]) -> Weights:
    """Logistic regression by Newton's method, each collection with the same weight."""
    parts = [
        (hits, share / len(hits.features))
        for each in collections
        for hits, share in ((each.answered, 1.0 - _UNANSWERED_SHARE), (each.unanswered, _UNANSWERED_SHARE))
    ]
    weights = np.concatenate([np.full(len(hits.features), 1_000 * share) for hits, share in parts])
    features = np.concatenate([hits.features for hits, _ in parts])
    target = np.concatenate([hits.is_relevant for hits, _ in parts]).astype(np.float64)
    middle, spread = features.mean(axis=0), features.std(axis=0) + 1e-9
    rows = np.column_stack([(features - middle) / spread, np.ones(len(features))])
    ridge = _RIDGE * np.eye(rows.shape[1])
    found = np.zeros(rows.shape[1])
    for _ in range(_STEPS):
        p = 1.0 / (1.0 + np.exp(-rows @ found))
        slope = rows.T @ (weights * (target - p)) - ridge @ found
        found += np.linalg.solve((rows * (weights * p * (1 - p))[:, None]).T @ rows + ridge, slope)
    scaled = found[:-1] / spread
    return Weights._make([*scaled.tolist(), float(found[-1] - scaled @ middle)])


def probabilities(weights: Weights, hits: Hits) -> Floats:
    *factors, constant = weights
    found: Floats = 1.0 / (1.0 + np.exp(-(hits.features @ np.array(factors) + constant)))
    return found


def calibration_error(probability: Floats, is_relevant: NDArray[np.bool_]) -> float:
    """The expected calibration error in ten bins of the same width (Guo et al. 2017): the mean, over the hits, of the
    distance between the mean probability and the share of relevant hits in their bin."""
    bins = np.minimum((probability * _BINS).astype(int), _BINS - 1)
    within = [bins == each for each in np.unique(bins)]
    distances = [each.sum() * abs(probability[each].mean() - is_relevant[each].mean()) for each in within]
    return float(sum(distances)) / len(probability)


def rows_of(collections: Sequence[Judged]) -> Iterator[list[str]]:
    """What the weights of all other collections say of each."""
    for each in collections:
        weights = fitted([other for other in collections if other.name[:5] != each.name[:5]])
        p, without = probabilities(weights, each.answered), probabilities(weights, each.unanswered)
        first, alone = each.answered.is_first, each.unanswered.is_first
        level = float(np.quantile(p[first], ALLOWED))
        yield [
            each.name,
            f"{first.sum()}",
            f"{each.answered.is_relevant[first].mean():.2f}",
            f"{p[first].mean():.2f}",
            f"{calibration_error(p[first], each.answered.is_relevant[first]):.3f}",
            f"{calibration_error(p, each.answered.is_relevant):.3f}",
            f"{(without[alone] < level).mean():.0%}",
            f"{(without[alone] < NO_GOOD_ANSWER).mean():.0%}",
            f"{(p[first] < NO_GOOD_ANSWER).mean():.1%}",
            f"{((p < NO_GOOD_ANSWER) & each.answered.is_relevant)[first].mean():.1%}",
        ]


COLUMNS = (
    "collection",
    "queries",
    "P@1",
    "relevance of the first hit",
    "ECE first hit",
    "ECE first ten",
    f"declined without an answer, others {ALLOWED:.0%}",
    f"declined without an answer at {NO_GOOD_ANSWER}",
    "declined others",
    "of them with a right first hit",
)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m papers.studies.relevance", description=__doc__)
    parser.add_argument("collections", nargs="+", metavar="FOLDER,EMBEDDINGS,LANGUAGE", help="in BEIR's layout")
    parser.add_argument("--first-stage", default="bm25", help="bm25 or hybrid")
    parser.add_argument("--no-encoder", action="store_true", help="do not encode queries")
    options = parser.parse_args(arguments)
    found = []
    for each in options.collections:
        folder, embeddings, language = each.split(",")
        found.append(judged_hits(Path(folder), Path(embeddings), language, options.first_stage, not options.no_encoder))
        sys.stderr.write(f"{found[-1].name}: {len(found[-1].answered.features)} hits\n")
    rules = ["---", *["---:"] * (len(COLUMNS) - 1)]
    for row in ([*COLUMNS], rules, *rows_of(found)):
        sys.stdout.write(f"| {' | '.join(row)} |\n")
    sys.stdout.write(f"{Weights._make(round(each, 2) for each in fitted(found))}\n")


if __name__ == "__main__":
    module_command.run(main)
