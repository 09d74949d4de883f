"""Measures what was tried for the order of short and long queries, on the development half of the training pages.

`python -m papers.studies.study --home .sinkrank` prints the table of papers/results/order.md: the mean MRR over
directions of each attempt at each kind of query, all documents re-ranked. Nothing here is used by a search.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np

from papers.base import module_command
from papers.base.markdown import print_table
from papers.corpora.development import development
from papers.studies.study_trial import EPSILON, Matrix, Trial, trials
from reranker.embeddings import Embeddings
from reranker.ranking.corrections import HUBNESS_WEIGHT
from reranker.transport.shares import LONG_QUERY, LONG_QUERY_WORDS, SHORT_QUERY, SHORT_QUERY_WORDS, AutoShares
from sinkrank.demo import Corpus, load_libreoffice
from sinkrank.demo.trained import train_on

DIRECTIONS = ("en-fr", "fi-en", "en-el", "sv-en")
KINDS = ("first3", "first8", "first20", "first60", "halves", "pages")
N_QUERIES = 100

# Of `auto` for queries of up to 12 words.
SHARES = SHORT_QUERY


def _three_parts(
    trial: Trial,
    shares: tuple[float, float, float] = SHARES,
    epsilon: float = EPSILON,
    cost: Literal["euclidean", "cosine"] = "cosine",
) -> Matrix:
    """The nearest words, `sinkhorn` and `nbow`, by their shares; the cost is that of the first two."""
    nearest, balanced = (trial.relaxed(share, epsilon, cost) for share in (0.0, 1.0))
    return shares[0] * nearest + shares[1] * balanced + shares[2] * trial.nbow


def _with_unknown_words(trial: Trial, found: Matrix) -> Matrix:
    """A query word without an embedding costs 0 if the document contains it, otherwise 1."""
    shares, lacking = trial.unknown_words()
    return (1 - shares) * found + shares * lacking


def _auto(
    trial: Trial,
    shares: tuple[float, float, float] = SHARES,
    epsilon: float = EPSILON,
    cost: Literal["euclidean", "cosine"] = "cosine",
    weight: float = HUBNESS_WEIGHT,
) -> Matrix:
    return _with_unknown_words(trial, _three_parts(trial, shares, epsilon, cost)) + weight * trial.hubness


def _by_length(
    trial: Trial, long: AutoShares = LONG_QUERY, few: int = SHORT_QUERY_WORDS, many: int = LONG_QUERY_WORDS
) -> Matrix:
    """`auto` with shares that are interpolated between those of a short query (`few` words) and a long one (`many`)."""
    way = np.clip((trial.n_query_words - few) / (many - few), 0.0, 1.0)
    return (1 - way) * _auto(trial) + way * _auto(trial, long)


Attempt = Callable[[Trial], Matrix]

ATTEMPTS: Mapping[str, Attempt] = {
    "nbow (first stage)": lambda trial: trial.nbow,
    "nbow, hubness off": lambda trial: trial.nbow + 0.5 * trial.hubness,
    "rwmd": lambda trial: trial.method("rwmd"),
    "sinkhorn": lambda trial: trial.relaxed(1.0),
    **{f"relaxed, share {share}": partial(Trial.relaxed, share=share) for share in (0.9, 0.8, 0.7, 0.6)},
    "relaxed, share 0.5 (tau = epsilon)": lambda trial: trial.relaxed(0.5),
    "nearest (share 0)": lambda trial: trial.relaxed(0.0),
    **{f"mixed, {weight:.0%} sinkhorn": partial(Trial.mixed, weight=weight) for weight in (0.4, 0.5, 0.6, 0.7, 0.8)},
    **{
        f"mixed 60%, epsilon {epsilon}": partial(Trial.mixed, weight=0.6, epsilon=epsilon) for epsilon in (0.05, 0.2, 1)
    },
    **{
        f"mixed {weight:.0%}, cosine cost": partial(_three_parts, shares=(1 - weight, weight, 0.0))
        for weight in (0.45, 0.5, 0.6)
    },
    "three parts: 45% nearest, 35% sinkhorn, 20% nbow": _three_parts,
    "the same, and unknown words": partial(_auto, weight=0.0),
    "the same, and hubness: auto up to 12 words": _auto,
    "auto: shares 40, 50, 10 from 24 words on": _by_length,
    **{
        f"auto, shares {nearest}, {90 - nearest}, 10 from {many} words on": partial(
            _by_length, long=AutoShares(nearest / 100, 0.9 - nearest / 100, 0.1), few=few, many=many
        )
        for nearest, few, many in ((40, 10, 20), (35, 12, 24), (30, 12, 24), (25, 12, 24))
    },
    "auto, shares 40, 50, 10": partial(_auto, shares=(0.4, 0.5, 0.1)),
    "auto, shares 40, 40, 20": partial(_auto, shares=(0.4, 0.4, 0.2)),
    "auto, shares 50, 35, 15": partial(_auto, shares=(0.5, 0.35, 0.15)),
    "auto, Euclidean cost": partial(_auto, cost="euclidean"),
    "auto, Euclidean cost, shares 40, 35, 25": partial(_auto, shares=(0.4, 0.35, 0.25), cost="euclidean"),
    **{f"auto, epsilon {epsilon}": partial(_auto, epsilon=epsilon) for epsilon in (0.07, 0.14)},
    **{f"auto, hubness by {weight}": partial(_auto, weight=weight) for weight in (0.1, 0.3, 0.5)},
}
"""By name in the table; documents are ranked by rising values."""


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
    parser = argparse.ArgumentParser(prog="python -m papers.studies.study", description=__doc__)
    parser.add_argument("--home", type=Path, default=Path(".sinkrank"))
    parser.add_argument("--directions", default=",".join(DIRECTIONS))
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--queries", type=int, default=N_QUERIES, help="number of queries per task")
    parser.add_argument("--only", default="", help="only attempts whose name contains this")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args(arguments)
    corpus = development(load_libreoffice(options.home))
    embeddings = train_on(corpus, options.home / "evaluation" / corpus.name / "embeddings")
    kinds = options.kinds.split(",")
    attempts = [name for name in ATTEMPTS if options.only in name]
    rows = study(corpus, embeddings, attempts, kinds, options.directions.split(","), options.queries, options.threads)
    print_table(["tried", *kinds], ([name, *(f"{row[kind]:.3f}" for kind in kinds)] for name, row in rows.items()))


if __name__ == "__main__":
    module_command.run(main)
