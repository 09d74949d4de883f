"""Interleaves two rankings of judged queries for simulated users: how often each wins a search, and after how many
searches the clicks name the better one.

`python -m papers.studies.interleaving RUNS… --qrels FILE` reads two TREC runs of one collection (as `--output` of
`papers.judged` writes them): the engine's order first, then ours. The users are those of Hofmann, Whiteson and de Rijke
2011 (Information Retrieval 16): each looks at the hits from the first on, clicks by their relevance, and stops after
a click with some probability.
"""

from __future__ import annotations

import argparse
import gzip
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import count
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy as np

from papers.base import module_command
from papers.base.markdown import print_table
from reranker.traffic.interleaving import ENGINE, OURS, Votes, team_draft
from sinkrank.evaluation.judgments import read_qrels
from sinkrank.evaluation.measures import MEASURES

PAGE = 10
N_RUNS = 1000
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


def chances(user: User, is_relevant: Sequence[bool], teams: Sequence[str]) -> tuple[float, float]:
    """How likely our order wins a search, and how likely it loses it.

    Args:
        is_relevant, teams: of each hit of the page.
    """
    # By our clicks less the engine's: of users who still look at hits, and of those who have stopped.
    looking, stopped = {0: 1.0}, dict.fromkeys(range(-PAGE, PAGE + 1), 0.0)
    for relevant, team in zip(is_relevant, teams, strict=True):
        click, stop = user.clicks[relevant], user.stops[relevant]
        after = dict.fromkeys(stopped, 0.0)
        for lead, chance in looking.items():
            new = lead + (team == OURS) - (team == ENGINE)
            after[lead] += chance * (1 - click)
            after[new] += chance * click * (1 - stop)
            stopped[new] += chance * click * stop
        looking = {lead: chance for lead, chance in after.items() if chance}
    ends = [*looking.items(), *stopped.items()]
    return sum(chance for lead, chance in ends if lead > 0), sum(chance for lead, chance in ends if lead < 0)


def mean_chances(queries: Sequence[Query], user: User) -> tuple[float, float]:
    """`chances` of a query that is drawn at random, exactly: over all queries, and all ways to interleave them."""
    found = []
    for query in queries:
        for seed in _seeds():
            places, teams = team_draft(query.ours, seed)
            found.append(chances(user, [query.is_relevant[place] for place in places[:PAGE]], teams[:PAGE]))
    wins, losses = np.mean(found, axis=0).tolist()
    return wins, losses


@cache
def _seeds() -> Sequence[bytes]:
    """A seed for each way in which the coins of a page can fall: one coin for two hits."""
    found: dict[tuple[bool, ...], bytes] = {}
    for number in count():
        seed = number.to_bytes(8, "big")
        coins = Random(seed)  # noqa: S311 - no secret
        found.setdefault(tuple(coins.random() < 0.5 for _ in range(PAGE // 2)), seed)
        if len(found) == 2 ** (PAGE // 2):
            break
    return list(found.values())


def simulate(wins: float, losses: float, n_searches: int) -> list[Votes]:
    """The votes of so many searches, `N_RUNS` times."""
    drawn = np.random.default_rng(_SEED).multinomial(n_searches, [wins, losses, 1 - wins - losses], N_RUNS)
    return [Votes(n_searches, *own) for own in drawn.tolist()]


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
    engine, ours = read_run(given.engine), read_run(given.ours)
    qrels = read_qrels(given.qrels, given.qrels.read_text(encoding="utf-8-sig"))
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
        wins, losses = mean_chances(queries, user)
        for n_searches in given.searches:
            winners = [votes.winner for votes in simulate(wins, losses, n_searches)]
            right, wrong = winners.count(better), len(winners) - winners.count(better) - winners.count(None)
            rows.append([name, f"{wins:.2%}", f"{losses:.2%}", f"{n_searches:,}", *map(_share, (right, wrong))])
    print_table(["user", "ours wins", "loses", "searches", "verdict for the better", "against it"], rows)


def _share(n: int) -> str:
    return f"{n / N_RUNS:.1%}"


if __name__ == "__main__":
    module_command.run(main)
