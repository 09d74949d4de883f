"""Measures what was tried for the order of short and long queries, on the development half of the training pages.

`python -m papers.studies.study --home .sinkrank` prints the table of docs/evaluation.md: the mean MRR over directions
of each attempt at each kind of query, all documents re-ranked. Nothing here is used by a search.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path

import numpy as np

from evaluation.base import module_command
from evaluation.corpora import Corpus, load_libreoffice
from evaluation.corpora.pages import development
from evaluation.trained import train_on
from papers.studies.study_trial import EPSILON, Matrix, Sample, Trial, trials
from papers.studies.study_weights import Weights, spectral_norms
from reranker.embeddings import Embeddings
from reranker.ranking.corrections import HUBNESS_WEIGHT
from reranker.transport import AutoShares
from reranker.transport.shares import LONG_QUERY, LONG_QUERY_WORDS, SHORT_QUERY, SHORT_QUERY_WORDS

DIRECTIONS = ("en-fr", "fi-en", "en-el", "sv-en")
KINDS = ("first3", "first8", "first20", "first60", "halves", "pages")
N_QUERIES = 100

# Of `auto` up to 12 words; what the others are compared with.
SHARES = SHORT_QUERY

# The norm of an embedding in the place of its idf (Yokoi et al. 2020), and beside it.
NORM, IDF_NORM, IDF_ROOT_NORM = Weights(idf=0, norm=1), Weights(norm=1), Weights(norm=0.5)


def _share_by_length(trial: Trial) -> Matrix:
    """`relaxed` that grows stiffer with the query: a share of 0.5 up to 15 words, 0.9 from 50 on."""
    words = np.maximum(trial.n_query_words, 1)
    share = np.clip(0.5 + 0.4 * np.log(words / 15) / np.log(50 / 15), 0.5, 0.9)
    steps = (0.5, 0.6, 0.7, 0.8, 0.9)
    nearest = np.abs(np.array(steps) - share).argmin(axis=1)
    return np.stack([trial.relaxed(steps[step])[row] for row, step in enumerate(nearest)])


def _former_auto(trial: Trial) -> Matrix:
    """`relaxed` up to 8 distinct words, 40% nearest and 60% `sinkhorn` beyond, under the Euclidean cost."""
    return np.where(trial.n_query_words <= 8, trial.relaxed(0.5), trial.mixed(0.6))


def _reciprocal_ranks(*found: Matrix) -> Matrix:
    """Reciprocal rank fusion (k = 60) of several distances, as a distance."""
    fused = np.zeros_like(found[0])
    for each in found:
        fused -= 1 / (61.0 + each.argsort(axis=1, kind="stable").argsort(axis=1))
    return fused


def _three_parts(
    trial: Trial,
    shares: tuple[float, float, float] = SHARES,
    epsilon: float = EPSILON,
    euclidean: bool = False,
    root: bool = False,
) -> Matrix:
    """The nearest words, `sinkhorn` and `nbow`, by their shares; the first two under the cosine cost.

    Args:
        root: sqrt(2 d) in the place of the first, which brings a mean of squared distances back to a distance.
    """
    parts = (trial.relaxed(0.0, epsilon), trial.relaxed(1.0, epsilon)) if euclidean else trial.cosine_cost(epsilon)
    nearest, balanced = parts
    return shares[0] * (np.sqrt(2 * nearest) if root else nearest) + shares[1] * balanced + shares[2] * trial.nbow


def _with_unknown_words(trial: Trial, found: Matrix) -> Matrix:
    """A query word without an embedding costs 0 where the document holds it and 1 where not."""
    shares, lacking = trial.unknown_words()
    return (1 - shares) * found + shares * lacking


def _auto(
    trial: Trial,
    shares: tuple[float, float, float] = SHARES,
    epsilon: float = EPSILON,
    euclidean: bool = False,
    root: bool = False,
    weight: float = HUBNESS_WEIGHT,
    sample: Sample = Sample(),
) -> Matrix:
    found = _with_unknown_words(trial, _three_parts(trial, shares, epsilon, euclidean, root))
    return found + weight * trial.hubness(sample) if weight else found


def _by_length(
    trial: Trial, long: AutoShares = LONG_QUERY, few: int = SHORT_QUERY_WORDS, many: int = LONG_QUERY_WORDS
) -> Matrix:
    """`auto` with shares that move from those of a short query to those of a long one, from few words to many."""
    way = np.clip((trial.n_query_words - few) / (many - few), 0.0, 1.0)
    return (1 - way) * _auto(trial) + way * _auto(trial, long)


def _weighed(trial: Trial, weights: Weights) -> Matrix:
    """`auto` with other weights of words."""
    return _auto(trial.weighed(weights))


def _less_transport_hubness(trial: Trial, weight: float, part: float) -> Matrix:
    return trial.mixed(weight) - part * trial.transport_hubness(weight, Sample("index", 20, 200))


Attempt = Callable[[Trial], Matrix]

ATTEMPTS: Mapping[str, Attempt] = {
    "nbow (first stage)": lambda trial: trial.nbow,
    "nbow, hubness off": lambda trial: trial.nbow + 0.5 * trial.hubness(),
    "rwmd": lambda trial: trial.method("rwmd"),
    "sinkhorn": lambda trial: trial.relaxed(1.0),
    **{f"relaxed, share {share}": partial(Trial.relaxed, share=share) for share in (0.9, 0.8, 0.7, 0.6)},
    "relaxed, share 0.5 (tau = epsilon)": lambda trial: trial.relaxed(0.5),
    "nearest (share 0)": lambda trial: trial.relaxed(0.0),
    "the former auto": _former_auto,
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
        f"mixed {weight:.0%}, transport hubness off by {part}": partial(
            _less_transport_hubness, weight=weight, part=part
        )
        for weight in (0.5, 0.6)
        for part in (0.25, 0.5)
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
    "auto, square root of the nearest": partial(_auto, shares=(0.45, 0.4, 0.15), root=True),
    "auto, Euclidean cost": partial(_auto, euclidean=True),
    "auto, Euclidean cost, shares 40, 35, 25": partial(_auto, shares=(0.4, 0.35, 0.25), euclidean=True),
    **{f"auto, epsilon {epsilon}": partial(_auto, epsilon=epsilon) for epsilon in (0.07, 0.14)},
    **{f"auto, hubness by {weight}": partial(_auto, weight=weight) for weight in (0.1, 0.3, 0.5)},
    **{f"auto, sample of {n} pages": partial(_auto, sample=Sample(n_pages=n)) for n in (100, 200)},
    **{f"auto, sample of {n} words": partial(_auto, sample=Sample(n_words=n)) for n in (3, 20, 10_000)},
    "auto, sample from the pages that ask": partial(_auto, sample=Sample("index")),
    "auto, sample of all other languages": partial(_auto, sample=Sample(n_pages=100, languages="others")),
    **{f"auto, idf^{power}": partial(_weighed, weights=Weights(idf=power)) for power in (0, 0.5, 1.5, 2)},
    "auto, norm": partial(_weighed, weights=NORM),
    "auto, idf times norm": partial(_weighed, weights=IDF_NORM),
    "auto, idf times root of norm": partial(_weighed, weights=IDF_ROOT_NORM),
    "nbow, norm": lambda trial: trial.weighed(NORM).nbow,
    "nbow, idf times norm": lambda trial: trial.weighed(IDF_NORM).nbow,
    "sinkhorn, cosine cost": lambda trial: trial.cosine_cost()[1],
    "sinkhorn, cosine cost, norm": lambda trial: trial.weighed(NORM).cosine_cost()[1],
    "sinkhorn, cosine cost, idf times norm": lambda trial: trial.weighed(IDF_NORM).cosine_cost()[1],
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
    norms = cache(partial(spectral_norms, corpus, embeddings))
    for kind in kinds:
        for trial in trials(corpus, embeddings, kind, directions, n_queries, n_threads, norms):
            for name in attempts:
                found[name][kind].append(reciprocal_rank(trial, ATTEMPTS[name](trial)))
    return {name: {kind: float(np.mean(each)) for kind, each in row.items()} for name, row in found.items()}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m papers.studies.study", description=__doc__)
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
    module_command.run(main)
