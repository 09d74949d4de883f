"""Simulated users of interleaved pages."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import pytest

from papers.studies.interleaving import USERS, Query, User, clicked, main, read_run, simulate
from reranker.traffic.interleaving import OURS

# Our order has the one relevant hit first, the engine's has it last.
BETTER = Query([4, 0, 1, 2, 3], [False, False, False, False, True])


def test_a_perfect_user_clicks_on_what_is_relevant_and_never_stops() -> None:
    assert clicked(USERS["perfect"], [True, False, True] + [True] * 20, random.Random(1)) == [0, *range(2, 10)]


def test_who_always_stops_clicks_once() -> None:
    assert clicked(User((1.0, 1.0), (1.0, 1.0)), [False, True], random.Random(1)) == [0]


@pytest.mark.parametrize("name", USERS)
def test_the_better_order_wins(name: str) -> None:
    votes = simulate([BETTER], USERS[name], 2_000, random.Random(1))
    assert (votes.winner, votes.n_searches) == (OURS, 2_000)


def test_two_equal_orders_have_no_votes() -> None:
    votes = simulate([Query([0, 1], [True, True])], USERS["perfect"], 50, random.Random(1))
    assert (votes.wins, votes.losses, votes.ties) == (0, 0, 50)


def test_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [f"q1 Q0 d{n} {n + 1} {9 - n} x\n" for n in range(5)]
    (tmp_path / "bm25.run").write_text("".join(lines))
    (tmp_path / "auto.run").write_text("".join(f"q1 Q0 d{n} {rank} 1 x\n" for rank, n in enumerate(BETTER.ours, 1)))
    (tmp_path / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td4\t1\n")
    main([str(tmp_path / "bm25.run"), str(tmp_path / "auto.run"), f"--qrels={tmp_path}/test.tsv", "--searches", "50"])
    printed = capsys.readouterr().out
    assert printed.startswith("1 queries; nDCG@10 0.387 and 1.000\n")  # 1 / log2(6)
    assert "| perfect | 50 | 100.0% | 100.0% | 0.0% |" in printed
    (tmp_path / "auto.run.gz").write_bytes(gzip.compress((tmp_path / "auto.run").read_bytes()))
    assert read_run(tmp_path / "auto.run.gz") == {"q1": ["d4", "d0", "d1", "d2", "d3"]}
