"""Measures what was tried for the order of short and long queries, on the development half of the training pages.

`python -m evaluation.study --home .sinkrank` prints the table of docs/evaluation.md: the mean MRR over directions of
each attempt at each kind of query, all documents re-ranked. Nothing here is used by a search.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evaluation.corpora import Corpus, load_libreoffice
from evaluation.corpora.pages import by_language, development
from evaluation.runs import EncodedTask, encode, method_distances
from evaluation.tasks import Direction, make_task
from evaluation.trained import train_on
from reranker.bags import WeightedBag
from reranker.embeddings import Embeddings
from reranker.tokens import tokenize
from reranker.transport import Parameters, distances

Matrix = NDArray[np.float64]

DIRECTIONS = ("en-fr", "fi-en", "en-el", "sv-en")
KINDS = ("first3", "first8", "first20", "first60", "halves", "pages")
N_QUERIES = 100

# The hubness of a document is measured by the nearest 10 (as in CSLS: Lample et al. 2018) of a sample of queries: the
# first 20 words of pages in the query's language.
N_NEAREST = 10
N_SAMPLE, N_SAMPLE_WORDS = 200, 20

EPSILON = 0.1
# Farther than any document with a known word (at most 2).
_FARTHEST = 2.0


@dataclass(eq=False)
class Trial:
    """One task and the distances that the attempts share, each computed once; all are (n_queries, n_documents)."""

    encoded: EncodedTask
    sample: tuple[WeightedBag, ...]
    n_threads: int = 1
    _kept: dict[tuple[float, float], Matrix] = field(default_factory=dict)

    @property
    def nbow(self) -> Matrix:
        return np.minimum(1.0 - self.encoded.cosines.astype(np.float64), _FARTHEST)

    @property
    def n_query_words(self) -> Matrix:
        """(n_queries, 1)."""
        return np.array([[float(len(query))] for query in self.encoded.queries])

    def relaxed(self, share: float, epsilon: float = EPSILON) -> Matrix:
        """The distance whose document marginal is held with share = tau / (tau + epsilon): 0 lets it go, 1 is
        `sinkhorn`."""
        if (share, epsilon) not in self._kept:
            method, parameters = _parameters(share, epsilon)
            found = method_distances(self.encoded, method, parameters, n_threads=self.n_threads)
            self._kept[share, epsilon] = np.minimum(found, _FARTHEST)
        return self._kept[share, epsilon]

    def method(self, name: str) -> Matrix:
        return np.minimum(method_distances(self.encoded, name, n_threads=self.n_threads), _FARTHEST)

    def mixed(self, weight: float | Matrix, low: float = 0.0, epsilon: float = EPSILON) -> Matrix:
        """Between a relaxed distance and `sinkhorn`, which has the weight."""
        return (1 - weight) * self.relaxed(low, epsilon) + weight * self.relaxed(1.0, epsilon)

    def nbow_hubness(self) -> Matrix:
        """The mean cosine of each document to the nearest of the sample, (n_documents,)."""
        embeddings = self.encoded.embeddings
        rows = [vector for bag in self.sample if (vector := embeddings.nbow(bag)) is not None]
        documents = [embeddings.nbow(self.encoded.documents[place]) for place in range(len(self.encoded.documents))]
        vectors = np.array([np.zeros(embeddings.dim) if vector is None else vector for vector in documents])
        return np.asarray(np.sort(vectors @ np.array(rows).T, axis=1)[:, -N_NEAREST:].mean(axis=1))

    def hubness(self, weight: float) -> Matrix:
        """The mean `mixed` distance of each document to the nearest of the sample, (n_documents,)."""
        found = []
        for share, part in ((0.0, 1 - weight), (1.0, weight)):
            method, parameters = _parameters(share, EPSILON)
            solve = partial(distances, method=method, parameters=parameters, n_threads=self.n_threads)
            rows = [
                solve(bag, self.encoded.documents, self.encoded.embeddings.vectors).values
                for bag in self.sample
                if len(bag)
            ]
            found.append(part * np.minimum(rows, _FARTHEST))
        return np.asarray(np.sort(found[0] + found[1], axis=0)[:N_NEAREST].mean(axis=0))


def _parameters(share: float, epsilon: float) -> tuple[str, Parameters]:
    if share >= 1:
        return "sinkhorn", Parameters(epsilon)
    if share <= 0:  # settled after one iteration
        return "relaxed", Parameters(epsilon, 1, 0.0)
    return "relaxed", Parameters(epsilon, tau=epsilon * share / (1 - share))


def _share_by_length(trial: Trial) -> Matrix:
    """`relaxed` that grows stiffer with the query: a share of 0.5 up to 15 words, 0.9 from 50 on."""
    words = np.maximum(trial.n_query_words, 1)
    share = np.clip(0.5 + 0.4 * np.log(words / 15) / np.log(50 / 15), 0.5, 0.9)
    steps = (0.5, 0.6, 0.7, 0.8, 0.9)
    nearest = np.abs(np.array(steps) - share).argmin(axis=1)
    return np.stack([trial.relaxed(steps[step])[row] for row, step in enumerate(nearest)])


def _reciprocal_ranks(*found: Matrix) -> Matrix:
    """Reciprocal rank fusion (k = 60) of several distances, as a distance."""
    fused = np.zeros_like(found[0])
    for each in found:
        fused -= 1 / (61.0 + each.argsort(axis=1, kind="stable").argsort(axis=1))
    return fused


def _without_hubness(trial: Trial, weight: float, part: float) -> Matrix:
    return trial.mixed(weight) - part * trial.hubness(weight)


Attempt = Callable[[Trial], Matrix]

ATTEMPTS: Mapping[str, Attempt] = {
    "nbow (first stage)": lambda trial: trial.nbow,
    "nbow, hubness off": lambda trial: trial.nbow + 0.5 * trial.nbow_hubness(),
    "rwmd": lambda trial: trial.method("rwmd"),
    "sinkhorn": lambda trial: trial.relaxed(1.0),
    **{f"relaxed, share {share}": partial(Trial.relaxed, share=share) for share in (0.9, 0.8, 0.7, 0.6)},
    "relaxed, share 0.5 (tau = epsilon)": lambda trial: trial.relaxed(0.5),
    "nearest (share 0)": lambda trial: trial.relaxed(0.0),
    "relaxed, share by query length": _share_by_length,
    **{f"mixed, {weight:.0%} sinkhorn": partial(Trial.mixed, weight=weight) for weight in (0.4, 0.5, 0.6, 0.7, 0.8)},
    "mixed, by query length": lambda trial: trial.mixed(0.5 + 0.4 * trial.n_query_words / (trial.n_query_words + 40)),
    "mixed with relaxed 0.5, 50% sinkhorn": lambda trial: trial.mixed(0.5, low=0.5),
    "mixed 60%, epsilon 0.05": lambda trial: trial.mixed(0.6, epsilon=0.05),
    "mixed 60%, epsilon 0.2": lambda trial: trial.mixed(0.6, epsilon=0.2),
    "mixed 60%, epsilon 1": lambda trial: trial.mixed(0.6, epsilon=1.0),
    "mixed 60% + 0.1 nbow": lambda trial: trial.mixed(0.6) + 0.1 * trial.nbow,
    "mixed 60% and nbow, ranks fused": lambda trial: _reciprocal_ranks(trial.mixed(0.6), trial.nbow),
    "relaxed and sinkhorn, ranks fused": lambda trial: _reciprocal_ranks(trial.relaxed(0.5), trial.relaxed(1.0)),
    **{
        f"mixed {weight:.0%}, hubness off by {part}": partial(_without_hubness, weight=weight, part=part)
        for weight in (0.5, 0.6)
        for part in (0.25, 0.5)
    },
}
"""By name in the table; a smaller value is a better place."""


def reciprocal_rank(trial: Trial, found: Matrix) -> float:
    """The MRR of an attempt; the answer of query i is document i, and ties keep the first stage's order."""
    places = np.arange(len(found))
    answer = found[places, places][:, None]
    first_stage = np.empty_like(trial.encoded.order)
    np.put_along_axis(first_stage, trial.encoded.order, np.arange(found.shape[1], dtype=np.int32)[None, :], axis=1)
    earlier = first_stage < first_stage[places, places][:, None]
    ranks = 1 + ((found < answer) | ((found == answer) & earlier)).sum(axis=1)
    known = np.array([len(query) > 0 for query in trial.encoded.queries])
    return float(np.where(known, 1 / ranks, 0.0).mean())


def trials(
    corpus: Corpus, embeddings: Embeddings, kind: str, directions: Sequence[str], n_queries: int, n_threads: int
) -> Iterator[Trial]:
    """The tasks of one kind of query: every page is a document, the first `n_queries` ask."""
    for name in directions:
        direction = Direction.parse(name)
        whole = encode(make_task(corpus, direction, kind, None), embeddings)
        asked = replace(
            whole,
            query_ids=whole.query_ids[:n_queries],
            queries=whole.queries[:n_queries],
            cosines=whole.cosines[:n_queries],
            order=whole.order[:n_queries],
        )
        language = direction.query_language
        pages = [page for _, page in sorted(by_language(corpus.test_pages, language).items())][:N_SAMPLE]
        tokens = [tokenize(page.text, language)[:N_SAMPLE_WORDS] for page in pages]
        sample = tuple(embeddings.idf.weigh(embeddings.bag_of_tokens(each, language), language) for each in tokens)
        yield Trial(asked, sample, n_threads)


def study(
    corpus: Corpus,
    embeddings: Embeddings,
    attempts: Sequence[str],
    kinds: Sequence[str] = KINDS,
    directions: Sequence[str] = DIRECTIONS,
    n_queries: int = N_QUERIES,
    n_threads: int = 1,
) -> dict[str, dict[str, float]]:
    """The mean MRR over directions: attempt → kind of query → figure."""
    found: dict[str, dict[str, list[float]]] = {name: {kind: [] for kind in kinds} for name in attempts}
    for kind in kinds:
        for trial in trials(corpus, embeddings, kind, directions, n_queries, n_threads):
            for name in attempts:
                found[name][kind].append(reciprocal_rank(trial, ATTEMPTS[name](trial)))
    return {name: {kind: float(np.mean(each)) for kind, each in row.items()} for name, row in found.items()}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m evaluation.study", description=__doc__)
    parser.add_argument("--home", type=Path, default=Path(".sinkrank"))
    parser.add_argument("--directions", default=",".join(DIRECTIONS))
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--queries", type=int, default=N_QUERIES, help="queries a task")
    parser.add_argument("--only", default="", help="the attempts whose names hold this")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args(arguments)
    corpus = development(load_libreoffice(options.home))
    embeddings = train_on(corpus, options.home / "evaluation" / corpus.name / "embeddings")
    kinds = options.kinds.split(",")
    attempts = [name for name in ATTEMPTS if options.only in name]
    rows = study(corpus, embeddings, attempts, kinds, options.directions.split(","), options.queries, options.threads)
    lines = [["tried", *kinds], ["---", *["---:"] * len(kinds)]]
    lines += [[name, *(f"{row[kind]:.3f}" for kind in kinds)] for name, row in rows.items()]
    sys.stdout.writelines(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    main()
