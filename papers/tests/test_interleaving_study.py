"""Simulated users of interleaved pages."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from papers.studies.interleaving import USERS, Query, chances, main, mean_chances, read_run, simulate
from reranker.traffic.interleaving import BOTH, ENGINE, OURS

# Our order has the one relevant hit first, the engine's has it last.
BETTER = Query([4, 0, 1, 2, 3], [False, False, False, False, True])


def test_a_perfect_user_clicks_on_all_that_is_relevant() -> None:
    perfect = USERS["perfect"]
    assert chances(perfect, [True, False, True], [OURS, OURS, BOTH]) == (1, 0)
    assert chances(perfect, [True, False, True], [OURS, OURS, ENGINE]) == (0, 0)
    assert chances(perfect, [False, True, True], [OURS, ENGINE, ENGINE]) == (0, 1)


def test_a_navigational_user_mostly_stops_after_a_click() -> None:
    """Won where the relevant hit is clicked and the other one is not looked at, or not clicked; lost where the other
    one alone is clicked. A hit that is not relevant has 0.05 of the clicks, and then 0.2 stop."""
    ours_first = 0.95 * (0.9 + 0.1 * 0.95), 0.05 * 0.05
    engine_first = 0.95 * 0.95, 0.05 * (0.2 + 0.8 * 0.05)
    user = USERS["navigational"]
    assert chances(user, [True, False], [OURS, ENGINE]) == pytest.approx(ours_first)
    assert chances(user, [False, True], [ENGINE, OURS]) == pytest.approx(engine_first)
    both = [(one + other) / 2 for one, other in zip(ours_first, engine_first, strict=True)]
    assert mean_chances([Query([1, 0], [False, True])], user) == pytest.approx(both)
    # Where both orders are alike nothing is decided.
    assert mean_chances([Query([1, 0], [False, True]), Query([0, 1], [True, True])], user) == pytest.approx(
        [one / 2 for one in both]
    )


@pytest.mark.parametrize("name", USERS)
def test_the_better_order_wins(name: str) -> None:
    for votes in simulate(*mean_chances([BETTER], USERS[name]), 2_000)[:10]:
        assert (votes.winner, votes.n_searches) == (OURS, 2_000)


def test_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [f"q1 Q0 d{n} {n + 1} {9 - n} x\n" for n in range(5)]
    (tmp_path / "bm25.run").write_text("".join(lines))
    (tmp_path / "auto.run").write_text("".join(f"q1 Q0 d{n} {rank} 1 x\n" for rank, n in enumerate(BETTER.ours, 1)))
    (tmp_path / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td4\t1\n")
    main([str(tmp_path / "bm25.run"), str(tmp_path / "auto.run"), f"--qrels={tmp_path}/test.tsv", "--searches", "50"])
    printed = capsys.readouterr().out
    assert printed.startswith("1 queries; nDCG@10 0.387 and 1.000\n")  # 1 / log2(6)
    assert "| perfect | 100.00% | 0.00% | 50 | 100.0% | 0.0% |" in printed
    (tmp_path / "auto.run.gz").write_bytes(gzip.compress((tmp_path / "auto.run").read_bytes()))
    assert read_run(tmp_path / "auto.run.gz") == {"q1": ["d4", "d0", "d1", "d2", "d3"]}
