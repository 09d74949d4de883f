"""Remembers which version of an index a run makes, so that the same command, given again, completes that version.

The file is `HOME/ingest/INDEX-KEY.json`. KEY is a hash of all that decides the result (`Identity`): a changed file, or
another index, starts again. A run that continues reads and encodes all rows, and writes the documents that are missing.
The file is deleted at the end of the run.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, Self

from filelock import FileLock, Timeout

from reranker.base.errors import BadInput, StoreUnavailable
from reranker.base.whole_files import write_whole


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
        described = json.dumps(asdict(self), sort_keys=True, default=str)
        return blake2b(described.encode(), digest_size=8).hexdigest()


class Checkpoint:
    """The file of one run; used by one process at a time.

    Attributes:
        owner: random name of the run; a continued run keeps it.
        target: name of the version that the run makes; None before it has one.
    """

    def __init__(self, folder: Path | None, identity: Identity) -> None:
        """
        Args:
            folder: created if missing; None keeps nothing beyond the run.
        """
        self.owner = secrets.token_hex(8)
        self.target: str | None = None
        self._path = None if folder is None else folder / f"{identity.index}-{identity.key}.json"
        self._lock = None if self._path is None else FileLock(f"{self._path}.lock", blocking=False, thread_local=False)

    def __enter__(self) -> Self:
        """
        Raises:
            BadInput: another process is doing the same run.
            StoreUnavailable: the file cannot be written.
        """
        if self._path is None or self._lock is None:
            return self
        with ExitStack() as opened:  # frees the lock if the file cannot be used
            try:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                opened.enter_context(self._lock)
                content = self._path.read_bytes() if self._path.exists() else b""
            except Timeout as error:
                raise BadInput(
                    f"another process ingests the same input into this index ({self._path}); wait until it is done"
                ) from error
            except OSError as error:
                raise self._unwritable(error) from error
            with suppress(ValueError):  # it is new or damaged: the run starts again
                state = json.loads(content)
                self.owner, self.target = state["owner"], state["target"]
            self._save()
            opened.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        if self._path is None or self._lock is None:
            return
        if self.target is None:
            self._path.unlink(missing_ok=True)
        with suppress(OSError):  # Windows removes no open file; there the lock removes its own
            Path(self._lock.lock_file).unlink(missing_ok=True)
        self._lock.release()

    def choose_target(self, target: str) -> None:
        """Stores the name of the version to make.

        Raises:
            StoreUnavailable: the file cannot be written.
        """
        self.target = target
        self._save()

    def finish(self) -> None:
        """Forgets the version: the run is done."""
        self.target = None

    def _save(self) -> None:
        if self._path is None:
            return
        try:
            write_whole(self._path, json.dumps({"owner": self.owner, "target": self.target}).encode())
        except OSError as error:
            raise self._unwritable(error) from error

    def _unwritable(self, error: OSError) -> StoreUnavailable:
        return StoreUnavailable(
            f"the checkpoint {self._path} cannot be written ({error}); check its folder's permissions and its disk"
        )


def unfinished(folder: Path) -> list[Path]:
    """The checkpoints of unfinished runs."""
    return sorted(folder.glob("*.json"))
