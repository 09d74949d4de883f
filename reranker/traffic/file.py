"""Adds up what searches through the proxy tell, in one SQLite file that all processes of a host share.

Of a search re-ranked beside the engine it holds counts, and its text only where the setting `log_queries` allows it. Of
an interleaved search it holds the ids of the hits that were shown, for 30 days, under an id from which nothing can be
read.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from reranker.answers.traffic import ChangedQuery, InterleavedVotes, TrafficAnswer
from reranker.base.errors import NotFound, StoreUnavailable, one_line
from reranker.traffic.interleaving import ENGINE, OURS, Votes

FILE_NAME = "traffic.sqlite3"
N_QUERIES_LISTED = 10

# The file keeps no more queries than this; those that change least go first.
_MAX_QUERIES, _DROPPED_QUERIES = 10_000, 1_000
_TIMEOUT_S = 5.0
# How long interleaved searches stay, and how often old ones are looked for.
_RETENTION_S, _LOOK_S = 30 * 86_400.0, 3_600.0

_TABLES = """
CREATE TABLE IF NOT EXISTS begins (id INTEGER PRIMARY KEY CHECK (id = 1), at REAL NOT NULL);
CREATE TABLE IF NOT EXISTS outcomes (
    outcome TEXT, reason TEXT, n INTEGER NOT NULL, n_new_first INTEGER NOT NULL, n_new_page INTEGER NOT NULL,
    seconds REAL NOT NULL, engine_seconds REAL NOT NULL, PRIMARY KEY (outcome, reason)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS queries (query TEXT PRIMARY KEY, n INTEGER NOT NULL, change REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS interleaved (
    search_id TEXT PRIMARY KEY, at REAL NOT NULL, teams TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS ubi_ids (query_id TEXT PRIMARY KEY, search_id TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS clicks (
    search_id TEXT, doc_id TEXT, team TEXT, PRIMARY KEY (search_id, doc_id)
) WITHOUT ROWID;
"""

_ADD_OUTCOME = """
INSERT INTO outcomes VALUES (?, ?, 1, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET n = n + 1,
    n_new_first = n_new_first + excluded.n_new_first, n_new_page = n_new_page + excluded.n_new_page,
    seconds = seconds + excluded.seconds, engine_seconds = engine_seconds + excluded.engine_seconds
"""
_ADD_MISSED = "INSERT INTO outcomes VALUES ('missed', ?, ?, 0, 0, 0, 0) ON CONFLICT DO UPDATE SET n = n + excluded.n"
_ADD_QUERY = (
    "INSERT INTO queries VALUES (?, 1, ?) ON CONFLICT DO UPDATE SET n = n + 1, change = change + excluded.change"
)
_DROP_QUERIES = "DELETE FROM queries WHERE query IN (SELECT query FROM queries ORDER BY change LIMIT ?)"
_ADD_INTERLEAVED = """
INSERT INTO interleaved (search_id, at, teams) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET
    teams = json_patch(teams, excluded.teams)
"""
# Visitors of one application do the same search under ids of their own.
_ADD_UBI_ID = "INSERT OR REPLACE INTO ubi_ids VALUES (?, ?)"
_ADD_CLICK = "INSERT OR IGNORE INTO clicks VALUES (?, ?, ?)"
# A search is won by the order with more clicks; a click on a hit of both orders is for neither.
_COUNT_WINNERS = """
SELECT COALESCE(SUM(lead > 0), 0), COALESCE(SUM(lead < 0), 0), COALESCE(SUM(lead = 0), 0) FROM (
    SELECT SUM((team IS :ours) - (team IS :engine)) AS lead FROM clicks GROUP BY search_id
)
"""


class Shadowed(NamedTuple):
    """A search that the engine answered and that was re-ranked beside it.

    Attributes:
        outcome: `applied`, `skipped` or `fallback`, and `reason`: as the proxy's headers give them.
        has_new_first, has_new_page: whether the first hit, or any place of the first page, would change.
        change: the share of the page's places that would change, 0 to 1; the place of rank r counts 1 / log2(r + 1).
        seconds: that the re-ranked search took, of which the engine took `engine_seconds`.
        query: its text; None where it may not be kept.
    """

    outcome: str
    reason: str = ""
    has_new_first: bool = False
    has_new_page: bool = False
    change: float = 0.0
    seconds: float = 0.0
    engine_seconds: float = 0.0
    query: str | None = None


class TrafficFile:
    """The file; safe to share between threads and processes.

    Args:
        folder: that it lies in; it is made with the file.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE_NAME
        self._next_look_s = 0.0

    def create(self) -> None:
        """Makes the file, unless there is one.

        Raises:
            StoreUnavailable: it cannot be written.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise self._unavailable(error) from error
        with self._writing() as connection:
            connection.execute("PRAGMA journal_mode = WAL")  # the file keeps it
            connection.executescript(_TABLES)
            connection.execute("INSERT OR IGNORE INTO begins VALUES (1, ?)", [time.time()])
            self._forget_old(connection)

    def add_shadowed(self, searches: Iterable[Shadowed], missed: Mapping[str, int]) -> None:
        """Adds searches, and the numbers of those that could not be ranked beside the engine, by reason.

        Raises:
            StoreUnavailable: the file cannot be written.
        """
        found = list(searches)
        with self._writing() as connection:
            connection.executemany(_ADD_OUTCOME, [[*each[:4], *each[5:7]] for each in found])
            connection.executemany(_ADD_MISSED, missed.items())
            named = [(each.query, each.change) for each in found if each.query is not None]
            connection.executemany(_ADD_QUERY, named)
            if named and connection.execute("SELECT COUNT(*) FROM queries").fetchone()[0] > _MAX_QUERIES:
                connection.execute(_DROP_QUERIES, [_DROPPED_QUERIES])

    def add_interleaved(self, search_id: str, query_id: str | None, teams: Mapping[str, str]) -> None:
        """Adds a page of a search.

        Args:
            query_id: of OpenSearch's User Behavior Insights; None where the search has none.
            teams: which order each hit came from, by its id.

        Raises:
            StoreUnavailable: the file cannot be written.
        """
        with self._writing() as connection:
            connection.execute(_ADD_INTERLEAVED, [search_id, time.time(), json.dumps(dict(teams))])
            if query_id is not None:
                connection.execute(_ADD_UBI_ID, [query_id, search_id])
            if time.monotonic() > self._next_look_s:
                self._forget_old(connection)

    def add_clicks(self, clicks: Iterable[tuple[str, str]]) -> int:
        """Adds clicks: the id of each search, and of the hit. One hit of a search counts once.

        Returns:
            how many of them are of hits that were shown.

        Raises:
            NotFound: there is no file.
            StoreUnavailable: it cannot be written.
        """
        by_search: dict[str, list[str]] = {}
        for search_id, doc_id in clicks:
            by_search.setdefault(search_id, []).append(doc_id)
        known: list[tuple[str, str, str]] = []
        self._check_is_there()
        with self._writing() as connection:
            # All is read before the first click is written, so that others wait for the writing alone.
            for search_id, doc_ids in by_search.items():
                found = connection.execute("SELECT teams FROM interleaved WHERE search_id = ?", [search_id]).fetchone()
                teams = {} if found is None else json.loads(found[0])
                known += [(search_id, doc_id, teams[doc_id]) for doc_id in doc_ids if doc_id in teams]
            connection.executemany(_ADD_CLICK, known)
        return len(known)

    def query_ids(self) -> dict[str, str]:
        """The ids of searches by each `query_id` of User Behavior Insights that they were done under.

        Raises:
            NotFound, StoreUnavailable: as `report`.
        """
        with self._reading() as connection:
            return dict(connection.execute("SELECT query_id, search_id FROM ubi_ids").fetchall())

    def report(self, with_queries: bool = False) -> TrafficAnswer:
        """What was added up.

        Args:
            with_queries: whether it shows texts of queries: only to whoever may read the file.

        Raises:
            NotFound: there is no file.
            StoreUnavailable: it cannot be read.
        """
        with self._reading() as connection:
            votes = _votes(connection)
            (begin,) = connection.execute("SELECT at FROM begins").fetchone()
            outcomes = connection.execute("SELECT * FROM outcomes ORDER BY n DESC, reason").fetchall()
            queries = connection.execute(
                "SELECT query, n, change / n FROM queries WHERE change > 0 ORDER BY 3 DESC, 2 DESC, 1 LIMIT ?",
                [N_QUERIES_LISTED if with_queries else 0],
            ).fetchall()
        applied = [row for row in outcomes if row[0] == "applied"]
        n_ranked, n_new_first, n_new_page, seconds, engine_seconds = (
            sum(row[column] for row in applied) for column in range(2, 7)
        )
        return TrafficAnswer(
            since=datetime.fromtimestamp(begin, UTC).isoformat(timespec="seconds"),
            n_searches=sum(row[2] for row in outcomes),
            n_ranked=n_ranked,
            n_new_first=n_new_first,
            n_new_page=n_new_page,
            mean_ms=round(1000 * seconds / n_ranked, 1) if n_ranked else None,
            mean_engine_ms=round(1000 * engine_seconds / n_ranked, 1) if n_ranked else None,
            not_ranked={f"{row[0]}: {row[1]}": row[2] for row in outcomes if row[0] != "applied"},
            queries=[ChangedQuery(query, n, round(change, 3)) for query, n, change in queries],
            interleaved=_verdict(votes) if votes.n_searches else None,
        )

    def _forget_old(self, connection: sqlite3.Connection) -> None:
        self._next_look_s = time.monotonic() + _LOOK_S
        connection.execute("DELETE FROM interleaved WHERE at < ?", [time.time() - _RETENTION_S])
        connection.execute("DELETE FROM clicks WHERE search_id NOT IN (SELECT search_id FROM interleaved)")
        connection.execute("DELETE FROM ubi_ids WHERE search_id NOT IN (SELECT search_id FROM interleaved)")

    def _check_is_there(self) -> None:
        if not self.path.is_file():
            raise NotFound(
                f"there is no {self.path}: no traffic was recorded; start the service with "
                "`sinkrank serve --proxy-mode shadow`, or `interleave`"
            )

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._opened("rwc") as connection:
            connection.execute("PRAGMA synchronous = OFF")  # a crash of the machine may cost the last counts
            with connection:
                yield connection

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        self._check_is_there()
        with self._opened("ro") as connection:
            yield connection

    @contextmanager
    def _opened(self, mode: str) -> Iterator[sqlite3.Connection]:
        address = f"{self.path.absolute().as_uri()}?mode={mode}"
        try:
            with closing(sqlite3.connect(address, _TIMEOUT_S, uri=True)) as connection:
                yield connection
        except sqlite3.Error as error:
            raise self._unavailable(error) from error

    def _unavailable(self, error: Exception) -> StoreUnavailable:
        return StoreUnavailable(
            f"{self.path}, in which traffic is recorded, cannot be used ({one_line(error)}); give the service a "
            "writable folder with --home"
        )


def _votes(connection: sqlite3.Connection) -> Votes:
    """What the clicks say."""
    (n_searches,) = connection.execute("SELECT COUNT(*) FROM interleaved").fetchone()
    wins, losses, ties = connection.execute(_COUNT_WINNERS, {"ours": OURS, "engine": ENGINE}).fetchone()
    return Votes(n_searches, wins, losses, ties)


def _verdict(votes: Votes) -> InterleavedVotes:
    low, high = votes.interval or (None, None)
    return InterleavedVotes(
        n_searches=votes.n_searches,
        wins=votes.wins,
        losses=votes.losses,
        ties=votes.ties,
        low=None if low is None else round(low, 4),
        high=None if high is None else round(high, 4),
        winner=votes.winner,
        n_searches_needed=votes.n_searches_needed,
    )
