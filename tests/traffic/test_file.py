"""The traffic file: what it adds up, what it forgets."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from reranker.answers.traffic import InterleavedVotes
from reranker.base.errors import NotFound, StoreUnavailable
from reranker.traffic.file import Shadowed, TrafficFile
from reranker.traffic.interleaving import BOTH, ENGINE, OURS
from tests.support.commands import Run

TEAMS = {"a": BOTH, "b": OURS, "c": ENGINE, "d": OURS}


@pytest.fixture
def file(tmp_path: Path) -> TrafficFile:
    file = TrafficFile(tmp_path / "new")
    file.create()
    return file


def test_the_report_adds_up(file: TrafficFile) -> None:
    """By hand: two of three first hits, all three pages; 30 ms and 9 ms in the mean."""
    ranked = [
        Shadowed("applied", "", True, True, 0.8, 0.040, 0.010, "cat"),
        Shadowed("applied", "", True, True, 0.6, 0.030, 0.010, "cat"),
        Shadowed("applied", "translated", False, True, 0.9, 0.020, 0.007, "dog"),
    ]
    file.add_shadowed(ranked[:1], {"busy": 2})
    file.add_shadowed([*ranked[1:], Shadowed("skipped", "sorted")], {"busy": 1})
    found = TrafficFile(file.path.parent).report(with_queries=True)
    assert (found.n_searches, found.n_ranked, found.n_new_first, found.n_new_page) == (7, 3, 2, 3)
    assert (found.mean_ms, found.mean_engine_ms) == (30.0, 9.0)
    assert found.not_ranked == {"missed: busy": 3, "skipped: sorted": 1}
    assert [(each.query, each.n, each.change) for each in found.queries] == [("dog", 1, 0.9), ("cat", 2, 0.7)]
    assert found.interleaved is None


def test_queries_beyond_the_limit_are_forgotten_from_those_that_change_least(file: TrafficFile) -> None:
    file.add_shadowed([Shadowed("applied", change=n / 10_001, query=str(n)) for n in range(10_001)], {})
    with closing(sqlite3.connect(file.path)) as connection:
        n, least = connection.execute("SELECT COUNT(*), MIN(CAST(query AS INTEGER)) FROM queries").fetchone()
    assert (n, least) == (9_001, 1_000)


def test_clicks_decide_searches(file: TrafficFile) -> None:
    """One search is won by two clicks to one, one is lost by one, beside a click on a hit of both orders, one has only
    such a click, one none."""
    for search in ("won", "lost", "tied", "without"):
        file.add_interleaved(search, None, TEAMS)
    clicks = [("won", "b"), ("won", "c"), ("won", "d"), ("lost", "c"), ("lost", "a"), ("tied", "a"), ("won", "b")]
    assert file.add_clicks(clicks) == 7
    assert file.add_clicks([("won", "elsewhere"), ("unknown", "a")]) == 0
    found = file.report().interleaved
    assert found is not None
    assert (found.n_searches, found.wins, found.losses, found.ties) == (4, 1, 1, 1)
    assert isinstance(found, InterleavedVotes)
    assert (found.winner, found.n_searches_needed) == (None, None)


def test_the_hits_of_a_search_are_read_once_for_all_of_its_clicks(
    file: TrafficFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    for search in ("one", "two"):
        file.add_interleaved(search, None, {str(n): OURS for n in range(100)})
    read: list[str] = []
    loads = json.loads
    monkeypatch.setattr("reranker.traffic.file.json.loads", lambda text: read.append(text) or loads(text))
    assert file.add_clicks([(search, str(n)) for n in range(200) for search in ("one", "two")]) == 200
    assert len(read) == 2


def test_the_report_does_not_read_the_hits_of_clicked_searches(file: TrafficFile) -> None:
    file.add_interleaved("one", None, TEAMS)
    file.add_clicks([("one", "b")])
    with closing(sqlite3.connect(file.path)) as connection, connection:
        connection.execute("UPDATE interleaved SET teams = 'no JSON'")
    votes = file.report().interleaved
    assert votes is not None
    assert votes.wins == 1


def test_pages_of_one_search_are_one_search(file: TrafficFile) -> None:
    file.add_interleaved("one", "q1", {"a": OURS})
    file.add_interleaved("one", None, {"b": ENGINE})
    assert file.add_clicks([("one", "a"), ("one", "b")]) == 2
    votes = file.report().interleaved
    assert votes is not None
    assert (votes.n_searches, votes.wins, votes.losses, votes.ties) == (1, 0, 0, 1)
    assert file.query_ids() == {"q1": "one"}


def test_a_search_is_known_by_the_ubi_ids_of_all_visitors_who_did_it(file: TrafficFile) -> None:
    for query_id in ("ann", "bob", "cid"):
        file.add_interleaved("one", query_id, TEAMS)
    assert file.query_ids() == {"ann": "one", "bob": "one", "cid": "one"}


def test_searches_are_forgotten_after_30_days(file: TrafficFile) -> None:
    file.add_interleaved("old", "of old", TEAMS)
    file.add_interleaved("new", "of new", TEAMS)
    file.add_clicks([("old", "b"), ("new", "b")])
    with closing(sqlite3.connect(file.path)) as connection, connection:
        connection.execute("UPDATE interleaved SET at = ? WHERE search_id = 'old'", [time.time() - 31 * 86_400])
    file.create()
    votes = file.report().interleaved
    assert votes is not None
    assert (votes.n_searches, votes.wins) == (1, 1)
    assert file.query_ids() == {"of new": "new"}


def test_a_file_that_is_there_goes_on(file: TrafficFile) -> None:
    file.add_interleaved("one", None, TEAMS)
    since = file.report().since
    again = TrafficFile(file.path.parent)
    again.create()
    found = again.report()
    assert found.interleaved is not None
    assert (found.since, found.interleaved.n_searches) == (since, 1)


def test_several_threads_lose_nothing(file: TrafficFile) -> None:
    def add(of_thread: int) -> None:
        for n in range(20):
            file.add_interleaved(f"{of_thread}-{n}", None, TEAMS)

    threads = [threading.Thread(target=add, args=[n]) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    votes = file.report().interleaved
    assert votes is not None
    assert votes.n_searches == 80


def test_what_cannot_be_read_or_written_names_the_cure(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="sinkrank serve --proxy-mode shadow"):
        TrafficFile(tmp_path).report()
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreUnavailable, match="give the service a writable folder with --home"):
        TrafficFile(tmp_path / "file").create()
    (tmp_path / "traffic.sqlite3").write_text("no database, whatever the name says" * 10)
    with pytest.raises(StoreUnavailable, match=r"traffic\.sqlite3, in which"):
        TrafficFile(tmp_path).report()


def test_the_command_shows_the_queries_that_change_most(empty_home: Path, run: Run) -> None:
    file = TrafficFile(empty_home / ".sinkrank")
    file.create()
    file.add_shadowed([Shadowed("applied", "", True, True, 0.8, 0.040, 0.010, "cat")], {})
    assert json.loads(run("traffic", "--json").stdout)["queries"] == [{"query": "cat", "n": 1, "change": 0.8}]


def test_the_command_says_that_there_was_no_search_yet(empty_home: Path, run: Run) -> None:
    TrafficFile(empty_home / ".sinkrank").create()
    said = run("traffic").stdout
    assert said.startswith("searches since ")
    assert said.endswith(": 0\n")


@pytest.mark.parametrize(
    ("clicks", "verdict"),
    [([], "no clicks yet"), ([("one", "b"), ("two", "c")], "none; there is no difference so far")],
)
def test_the_command_tells_no_clicks_from_no_difference(
    empty_home: Path, run: Run, clicks: list[tuple[str, str]], verdict: str
) -> None:
    file = TrafficFile(empty_home / ".sinkrank")
    file.create()
    for search in ("one", "two"):
        file.add_interleaved(search, None, TEAMS)
    file.add_clicks(clicks)
    assert run("traffic").stdout.splitlines()[-1].split(maxsplit=1) == ["verdict:", verdict]
