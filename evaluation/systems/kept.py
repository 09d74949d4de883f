"""Keeps a system's distances in files, so that ensembles join what their members have said already."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import cache
from importlib import metadata
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from evaluation.corpora.pages import Page
from evaluation.files import whole_file
from evaluation.systems.protocol import Distances, System
from evaluation.tasks import Task
from ingest.progress import Progress, no_progress


class Kept:
    """A system that is asked once for each task and set of training pages, whatever process asks.

    What is kept counts as the same while this release, the sources of the systems, the system's description and the
    texts are the same. Distances are rounded to float32, so that the first answer is as the later ones. A system that
    was fitted on these pages before is not fitted again until there is a new task: its fit time is that of the first.

    Args:
        folder: of the files; 4 bytes a pair of query and document.
        made_with: a hash of what else the system was made with (embeddings).
    """

    def __init__(self, system: System, folder: Path, made_with: str = "") -> None:
        self.name, self.description, self.data = system.name, system.description, system.data
        self._system, self._folder = system, folder
        self._made_of = [metadata.version("sinkrank"), _sources(), system.name, system.description, made_with]
        self._pages: Sequence[Page] = ()
        self._pages_digest = ""
        self._fitted = False

    def fit(self, pages: Sequence[Page], progress: Progress = no_progress) -> None:
        """Fits the system, if it was not fitted on these pages before."""
        self._pages, self._pages_digest, self._fitted = pages, _digest([list(page) for page in pages]), False
        marker = self._path("fitted")
        if not marker.exists():
            self._fit(progress)
            _write(marker)

    def distances(self, task: Task, progress: Progress = no_progress) -> Distances:
        """As `System`, with the times of the first answer."""
        texts = [str(task.direction), dict(task.queries), dict(task.documents), dict(task.query_side)]
        path = self._path(_digest(texts))
        kept = _read(path)
        if kept is None:
            if not self._fitted:
                self._fit(progress)
            found = self._system.distances(task, progress)
            kept = Distances(_rounded(found), found.document_s, found.query_s)
            _write(path, kept)
        progress(len(task.queries), len(task.queries), f"{task.name} {self.name}")
        return kept

    def _fit(self, progress: Progress) -> None:
        self._system.fit(self._pages, progress)
        self._fitted = True

    def _path(self, of: str) -> Path:
        return self._folder / f"{self.name}-{_digest([*self._made_of, self._pages_digest, of])}.npz"


def _rounded(found: Distances) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    return found.values.astype(np.float32).astype(np.float64)


def _write(path: Path, found: Distances | None = None) -> None:
    """The file appears whole or not at all; without distances it only says that the system was fitted."""
    with whole_file(path) as file:
        if found is not None:
            times = np.array([found.document_s, found.query_s])
            np.savez(file, values=found.values.astype(np.float32), times=times)


def _read(path: Path) -> Distances | None:
    """None where nothing is kept, or a file that cannot be read."""
    try:
        with path.open("rb") as file, np.load(file) as kept:
            document_s, query_s = kept["times"].tolist()
            return Distances(kept["values"].astype(np.float64), document_s, query_s)
    except (OSError, ValueError, KeyError, BadZipFile):
        return None


def _digest(whole: object) -> str:
    return hashlib.blake2b(json.dumps(whole, ensure_ascii=False).encode(), digest_size=16).hexdigest()


@cache
def _sources() -> str:
    hasher = hashlib.blake2b(digest_size=16)
    for source in sorted(Path(__file__).parent.glob("*.py")):
        hasher.update(source.read_bytes())
    return hasher.hexdigest()
