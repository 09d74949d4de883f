"""Keeps what a run has done so far in a file, so that a run of the same input into the same index goes on there.

The file is SQLite, `HOME/ingest/INDEX-KEY.sqlite3`. KEY is a hash of all that decides what the run does (`Identity`): a
file that has changed since, or another index, begins anew. It holds the row up to which everything is settled (in the
index or in the reject file), the counts of the summary, the length of the reject file at that row, the ids seen (8
bytes of hash each, with their row), and the document frequencies counted; beside it lies the file of the words that
were counted (`bag_file`). It is written about once a second and goes when the run is done. What was written to the
index after the last time is written again, which changes nothing: a document of the same id takes its own place.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from ingest.bag_file import BagFile
from reranker.base.errors import BadInput, StoreUnavailable
from reranker.text.idf import DocumentFrequencies, FrequencyCounter

# Raise it whenever a file written before can no longer be read: the run then begins anew.
_FORMAT = 2

_TABLES = """
CREATE TABLE state (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE ids (hash INTEGER PRIMARY KEY, row INTEGER NOT NULL);
CREATE TABLE frequencies (language TEXT PRIMARY KEY, n_documents INTEGER NOT NULL, term_ids BLOB, counts BLOB);
"""


@dataclass(frozen=True, slots=True)
class Identity:
    """What a run does: two runs of one identity end with the same index.

    Attributes:
        store: its address, without credentials.
        sources: of each file its path, size, time of change and format.
        options: everything else that decides about the documents, as JSON takes it.
    """

    store: str
    index: str
    sources: Sequence[Sequence[Any]]
    options: Mapping[str, Any]

    @property
    def key(self) -> str:
        """16 hexadecimal digits."""
        described = json.dumps({"format": _FORMAT, **asdict(self)}, sort_keys=True, default=str)
        return blake2b(described.encode(), digest_size=8).hexdigest()


@dataclass(slots=True)
class Settled:
    """What has become of the rows up to one of them.

    Attributes:
        n_rows: settled rows, from the beginning of the input.
        reject_bytes: length of the reject file.
        sample: hash and id of the documents of the smallest hashes: the same ones in whatever order they come.
        hubness_sample: of the documents, as JSON.
    """

    n_rows: int = 0
    n_rejected: int = 0
    n_without_known_words: int = 0
    reject_bytes: int = 0
    languages: dict[str, int] = field(default_factory=dict)
    sample: list[tuple[int, str]] = field(default_factory=list)
    hubness_sample: dict[str, Any] = field(default_factory=dict)

    @property
    def n_indexed(self) -> int:
        return sum(self.languages.values())


class Checkpoint:
    """The file of one run; used by one process at a time.

    Attributes:
        settled: as it was when the file was opened.
        owner: a random name of the run, which keeps it when it goes on after it was stopped.
        target: the index that is written to, by its own name; None before it was chosen.
        n_rows, n_documents: in the input; None before they were counted.
        bags: the words of the rows that were counted.
    """

    def __init__(self, folder: Path | None, identity: Identity) -> None:
        """
        Args:
            folder: made where it is missing; None keeps nothing beyond the run.

        Raises:
            BadInput: another process does the same at the moment.
            StoreUnavailable: the file cannot be written.
        """
        self.path = None if folder is None else folder / f"{identity.index}-{identity.key}.sqlite3"
        try:
            self._connection = self._open(identity)
        except (OSError, sqlite3.Error) as error:
            raise _as_ours(error, self.path) from error
        self.owner: str = self._get("owner")
        self.target: str | None = self._get("target")
        self.n_documents: int | None = self._get("n_documents")
        self.n_rows: int | None = None if self.n_documents is None else self._get("counted")[0]
        bag_path = None if self.path is None else self.path.with_suffix(".bags")
        self.bags = BagFile(bag_path, (self._get("counted") or (0, 0, 0))[2])
        kept = self._get("settled")
        self.settled = Settled() if kept is None else _settled(kept)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()
        self.bags.close()
        if isinstance(error, sqlite3.Error):
            raise _as_ours(error, self.path) from error

    def choose_target(self, target: str) -> None:
        """Keeps where the run writes to."""
        self.target = target
        self._put("target", target)
        self._connection.commit()

    def save(self, settled: Settled) -> None:
        """Keeps how far the run is, and the ids seen until now."""
        self._put("settled", asdict(settled))
        self._connection.commit()

    def are_first(self, hashes: Sequence[int], first_row: int) -> list[bool]:
        """Whether the ids of consecutive rows come for the first time in this input; asked again of the same rows, in
        this run or in one that goes on, the answer is the same.

        Args:
            hashes: of the ids (`reranker.text.documents.id_hash`), 0 for a row without one.
            first_row: the number of the first of the rows, from 0.
        """
        asked = [(hashed, row) for row, hashed in enumerate(hashes, start=first_row) if hashed]
        self._connection.executemany("INSERT OR IGNORE INTO ids VALUES (?, ?)", asked)
        look_up = self._connection.execute
        return [
            not hashed or look_up("SELECT row FROM ids WHERE hash = ?", (hashed,)).fetchone()[0] == row
            for row, hashed in enumerate(hashes, start=first_row)
        ]

    def counted(self) -> tuple[int, int, dict[str, FrequencyCounter]]:
        """Rows counted so far, documents among them, and the frequencies by language."""
        n_rows, n_documents, _ = self._get("counted") or (0, 0, 0)
        rows = self._connection.execute("SELECT language, n_documents, term_ids, counts FROM frequencies")
        counters = {
            language: FrequencyCounter(
                DocumentFrequencies(n, np.frombuffer(term_ids, "<i4"), np.frombuffer(counts, "<i4"))
            )
            for language, n, term_ids, counts in rows
        }
        return n_rows, n_documents, counters

    def save_counted(
        self, n_rows: int, n_documents: int, counters: Mapping[str, FrequencyCounter], is_whole: bool
    ) -> None:
        """Keeps the frequencies of the rows until here, their words and the ids seen.

        Args:
            is_whole: whether these are all rows.
        """
        self._put("counted", (n_rows, n_documents, self.bags.sync()))
        found = {language: counter.result() for language, counter in counters.items()}
        self._connection.executemany(
            "INSERT OR REPLACE INTO frequencies VALUES (?, ?, ?, ?)",
            [
                (language, one.n_documents, one.term_ids.astype("<i4").tobytes(), one.counts.astype("<i4").tobytes())
                for language, one in found.items()
            ],
        )
        if is_whole:
            self.n_rows, self.n_documents = n_rows, n_documents
            self._put("n_documents", n_documents)
        self._connection.commit()

    def start_over(self) -> None:
        """Forgets all that was done, since the index that it was done to is gone."""
        for table in ("state", "ids", "frequencies"):
            self._connection.execute(f"DELETE FROM {table}")  # noqa: S608 - our own names
        self._put("owner", self.owner)
        self._connection.commit()
        self.bags.delete()
        self.target = self.n_rows = self.n_documents = None
        self.settled = Settled()

    def finish(self) -> None:
        """Deletes the file: the run is done."""
        self._connection.close()
        self.bags.delete()
        if self.path is not None:
            for suffix in ("", "-wal", "-shm"):
                Path(f"{self.path}{suffix}").unlink(missing_ok=True)

    def _open(self, identity: Identity) -> sqlite3.Connection:
        if self.path is None:
            return _made(sqlite3.connect(""))  # a file of SQLite's own, gone with the connection
        self.path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(self.path, timeout=0)
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("PRAGMA journal_mode = WAL")
        # A power cut may lose the last seconds, which are then done again; a killed process loses nothing.
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("BEGIN EXCLUSIVE")
        if not connection.execute("SELECT 1 FROM sqlite_schema").fetchone():
            _made(connection)
            what = json.dumps(asdict(identity), default=str)
            connection.execute("INSERT INTO state VALUES ('what', ?)", (what,))
        connection.commit()
        return connection

    def _get(self, key: str) -> Any:
        row = self._connection.execute("SELECT value FROM state WHERE key = ?", (key,)).fetchone()
        return None if row is None else json.loads(row[0])

    def _put(self, key: str, value: Any) -> None:
        self._connection.execute("INSERT OR REPLACE INTO state VALUES (?, ?)", (key, json.dumps(value)))


def unfinished(folder: Path) -> Iterable[Path]:
    """The checkpoints of runs that did not come to their end."""
    return sorted(folder.glob("*.sqlite3"))


def _made(connection: sqlite3.Connection) -> sqlite3.Connection:
    for statement in _TABLES.split(";"):
        connection.execute(statement)
    connection.execute("INSERT INTO state VALUES ('owner', ?)", (json.dumps(secrets.token_hex(8)),))
    return connection


def _settled(kept: dict[str, Any]) -> Settled:
    return Settled(**{**kept, "sample": [(hashed, doc_id) for hashed, doc_id in kept["sample"]]})


def _as_ours(error: Exception, path: Path | None) -> BadInput | StoreUnavailable:
    if "locked" in str(error):
        return BadInput(f"another process brings the same input into this index ({path}); wait until it is done")
    return StoreUnavailable(
        f"the checkpoint {path} cannot be kept ({error}); its folder must be writable and its disk not full. A damaged "
        f"file may be deleted: the run then begins anew"
    )
