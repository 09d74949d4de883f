"""Records the progress of a run in a file, so that a second run of the same input into the same index continues it.

The file is SQLite, `HOME/ingest/INDEX-KEY.sqlite3`. KEY is a hash of all that decides the result (`Identity`): a
changed file, or another index, starts again. The file contains:

- the row up to which everything is settled (in the index or in the reject file), and the numbers of the summary;
- the length of the reject file at that row;
- a hash of 8 bytes of each id seen, with its row.

The document frequencies are in the index before its first document. A run that is stopped before counts again. The
checkpoint is written about once a second and deleted at the end of the run. Documents written after the last save are
written again, which changes nothing: a document replaces the one with its id.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, Self

from ingest.bag_file import BagFile
from reranker.base.errors import BadInput, StoreUnavailable

# Raise it whenever files written before can no longer be read. Their runs then start again.
_FORMAT = 3

_TABLES = """
CREATE TABLE state (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE ids (hash INTEGER PRIMARY KEY, row INTEGER NOT NULL);
"""


@dataclass(frozen=True, slots=True)
class Identity:
    """What a run does. Two runs with the same identity end with the same index.

    Attributes:
        store: its address, without credentials.
        sources: path, size, modification time and format of each file.
        options: everything else that decides the documents, as JSON values.
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
    """The state of a run after its first `n_rows` rows.

    Attributes:
        n_rows: number of settled rows, from the beginning of the input.
        reject_bytes: length of the reject file.
        sample: hash and id of the documents with the smallest hashes; their order of arrival does not matter.
        hubness_sample: as JSON.
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
        settled: the state when the file was opened.
        owner: random name of the run; a continued run keeps it.
        target: name of the index version to write to; None before it was chosen.
        n_rows, n_documents: in the input; None before they were counted and the index has the frequencies.
        bags: the words of the rows that this process has counted.
    """

    def __init__(self, folder: Path | None, identity: Identity) -> None:
        """
        Args:
            folder: created if missing; None keeps nothing beyond the run.

        Raises:
            BadInput: another process is doing the same run.
            StoreUnavailable: the file cannot be written.
        """
        self.path = None if folder is None else folder / f"{identity.index}-{identity.key}.sqlite3"
        try:
            self._connection = self._open(identity)
        except (OSError, sqlite3.Error) as error:
            raise _as_ours(error, self.path) from error
        self.owner: str = self._get("owner")
        self.target: str | None = self._get("target")
        self.n_rows: int | None
        self.n_documents: int | None
        self.n_rows, self.n_documents = self._get("counted") or (None, None)
        self.bags = BagFile(None if self.path is None else self.path.parent)
        self.settled = Settled(**(self._get("settled") or {}))
        self.settled.sample = [(hashed, doc_id) for hashed, doc_id in self.settled.sample]  # JSON has no tuples

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: object, error: object, _trace: object) -> None:
        self._connection.close()
        self.bags.close()
        if isinstance(error, sqlite3.Error):
            raise _as_ours(error, self.path) from error

    def choose_target(self, target: str) -> None:
        """Stores the name of the index to write to."""
        self.target = target
        self._put("target", target)
        self._connection.commit()

    def save(self, settled: Settled) -> None:
        """Stores the state of the run."""
        self._put("settled", asdict(settled))
        self._connection.commit()

    def are_first(self, hashes: Sequence[int], first_row: int) -> list[bool]:
        """Whether each id of consecutive rows occurs here for the first time in the input. The answer for a row is the
        same in a continued run.

        Args:
            hashes: hashes of the ids (`reranker.text.documents.id_hash`), 0 for a row without one.
            first_row: number of the first row, from 0.
        """
        asked = [(hashed, row) for row, hashed in enumerate(hashes, start=first_row) if hashed]
        self._connection.executemany("INSERT OR IGNORE INTO ids VALUES (?, ?)", asked)
        self._connection.commit()
        look_up = self._connection.execute
        return [
            not hashed or look_up("SELECT row FROM ids WHERE hash = ?", (hashed,)).fetchone()[0] == row
            for row, hashed in enumerate(hashes, start=first_row)
        ]

    def save_counted(self, n_rows: int, n_documents: int) -> None:
        """Stores that all rows are counted, and that the index has their frequencies."""
        self.n_rows, self.n_documents = n_rows, n_documents
        self._put("counted", (n_rows, n_documents))
        self._connection.commit()

    def start_over(self) -> None:
        """Resets the state, since the index that was written to is gone."""
        for table in ("state", "ids"):
            self._connection.execute(f"DELETE FROM {table}")  # noqa: S608 - our own names
        self._put("owner", self.owner)
        self._connection.commit()
        self.target = self.n_rows = self.n_documents = None
        self.settled = Settled()

    def finish(self) -> None:
        """Deletes the file: the run is done."""
        self._connection.close()
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
    """The checkpoints of unfinished runs."""
    return sorted(folder.glob("*.sqlite3"))


def _made(connection: sqlite3.Connection) -> sqlite3.Connection:
    for statement in _TABLES.split(";"):
        connection.execute(statement)
    connection.execute("INSERT INTO state VALUES ('owner', ?)", (json.dumps(secrets.token_hex(8)),))
    return connection


def _as_ours(error: Exception, path: Path | None) -> BadInput | StoreUnavailable:
    if "locked" in str(error):
        return BadInput(f"another process ingests the same input into this index ({path}); wait until it is done")
    return StoreUnavailable(
        f"the checkpoint {path} cannot be written ({error}); its folder must be writable and its disk not full. A "
        f"damaged file may be deleted: the run then starts again"
    )
