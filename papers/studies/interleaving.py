"""Interleaves two rankings of judged queries for simulated users, and counts how often the clicks find the better one.

`python -m papers.studies.interleaving RUNS… --qrels FILE` reads two TREC runs of one collection (as `--output` of
`papers.judged` writes them): the engine's order first, then ours. The users are those of Hofmann, Whiteson and de Rijke
2011 (Information Retrieval 16): each looks at the hits from the first on, clicks by their relevance, and stops after
a click with some probability.
"""

from __future__ import annotations

import argparse
import gzip
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from papers.base import module_command
from papers.base.markdown import print_table
from reranker.traffic.interleaving import ENGINE, OURS, Votes, team_draft, winner_of
from sinkrank.evaluation.judgments import read_qrels
from sinkrank.evaluation.measures import MEASURES

PAGE = 10
N_RUNS = 100
_SEED = 11


class User(NamedTuple):
    """Probabilities of a click and of stopping after it, of a hit that is not relevant and of one that is."""

    clicks: tuple[float, float]
    stops: tuple[float, float]


USERS: Mapping[str, User] = {
    "perfect": User((0.0, 1.0), (0.0, 0.0)),
    "navigational": User((0.05, 0.95), (0.2, 0.9)),
    "informational": User((0.4, 0.9), (0.1, 0.5)),
}


class Query(NamedTuple):
    """What both orders find for a query: the places of the engine's hits in our order, and which hits are relevant."""

    ours: list[int]
    is_relevant: list[bool]


def clicked(user: User, is_relevant: Sequence[bool], coins: random.Random) -> list[int]:
    """The places of a page that a user clicks on."""
    found = []
    for place, relevant in enumerate(is_relevant[:PAGE]):
        if coins.random() < user.clicks[relevant]:
            found.append(place)
            if coins.random() < user.stops[relevant]:
                break
    return found


def simulate(queries: Sequence[Query], user: User, n_searches: int, coins: random.Random) -> Votes:
    """The votes of so many searches, each of a query that is drawn at random."""
    winners = []
    for _ in range(n_searches):
        query = queries[coins.randrange(len(queries))]
        places, teams = team_draft(query.ours, coins.randbytes(8))
        seen = clicked(user, [query.is_relevant[place] for place in places], coins)
        if seen:
            winners.append(winner_of([teams[place] for place in seen]))
    return Votes(n_searches, winners.count(OURS), winners.count(ENGINE), winners.count(None))


def read_run(path: Path) -> dict[str, list[str]]:
    """The documents of each query, the best first."""
    opened = gzip.open if path.suffix == ".gz" else open
    found: dict[str, list[tuple[int, str]]] = {}
    with opened(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            query_id, _, doc_id, rank, *_ = line.split()
            found.setdefault(query_id, []).append((int(rank), doc_id))
    return {query_id: [doc_id for _, doc_id in sorted(hits)] for query_id, hits in found.items()}


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("engine", type=Path)
    parser.add_argument("ours", type=Path)
    parser.add_argument("--qrels", type=Path, required=True)
    parser.add_argument("--searches", type=int, nargs="+", default=[100, 300, 1000])
    given = parser.parse_args(arguments)
    engine, ours, qrels = read_run(given.engine), read_run(given.ours), read_qrels(given.qrels)
    judged = [query_id for query_id in engine if query_id in ours and query_id in qrels]
    measure = MEASURES["nDCG@10"]
    means = [np.mean([measure(run[query_id], qrels[query_id]) for query_id in judged]) for run in (engine, ours)]
    better = OURS if means[1] > means[0] else ENGINE
    queries = []
    for query_id in judged:
        # A page shows none but the first hits of either order.
        shown = {*engine[query_id][:PAGE], *ours[query_id][:PAGE]}
        by_engine = [doc_id for doc_id in engine[query_id] if doc_id in shown]
        in_ours = [by_engine.index(doc_id) for doc_id in ours[query_id] if doc_id in shown]
        queries.append(Query(in_ours, [qrels[query_id].get(doc_id, 0) > 0 for doc_id in by_engine]))
    print(f"{len(judged)} queries; nDCG@10 {means[0]:.3f} and {means[1]:.3f}")  # noqa: T201
    rows = []
    for name, user in USERS.items():
        for n_searches in given.searches:
            coins = random.Random(_SEED)  # noqa: S311 - no secret
            found = [simulate(queries, user, n_searches, coins) for _ in range(N_RUNS)]
            leads = [OURS if one.wins > one.losses else ENGINE if one.losses > one.wins else None for one in found]
            needed = [one.n_searches_needed or 0 for one in found]
            rows.append(
                [
                    name,
                    f"{n_searches:,}",
                    f"{leads.count(better) / N_RUNS:.1%}",
                    f"{[one.winner for one in found].count(better) / N_RUNS:.1%}",
                    f"{sum(one.winner not in (None, better) for one in found) / N_RUNS:.1%}",
                    f"{np.median(needed):,.0f}",
                ]
            )
    print_table(["user", "searches", "better order leads", "verdict for it", "against it", "searches needed"], rows)


if __name__ == "__main__":
    module_command.run(main)
