"""Caches a system's distances in files, so that ensembles reuse the distances of their members."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from ingest.progress import Progress, no_progress
from papers.corpora.tasks import Task
from papers.systems import protocol
from papers.systems.protocol import Distances, System, fit
from reranker.base.whole_files import whole_file
from sinkrank.demo.pages import CorpusPage


class CachedSystem:
    """Runs a system once for each task and set of training pages, over all processes.

    The cache is valid for the same release, sources of the systems, description of the system and texts. Distances are
    rounded to float32, so that the first answer equals the cached ones. A system that was fitted on the same pages
    before is not fitted again until there is a new task.

    Args:
        folder: folder of the files; 4 bytes for each pair of query and document.
        made_with: hash of the system's other inputs (embeddings).

    Attributes:
        fit_s: CPU time (s, all threads) of the first fit on the pages.
    """

    def __init__(self, system: System, folder: Path, made_with: str = "") -> None:
        self.name, self.description, self.data = system.name, system.description, system.data
        self._system, self._folder = system, folder
        self._made_of = [metadata.version("sinkrank"), _sources(), system.name, system.description, made_with]
        self._pages: Sequence[CorpusPage] = ()
        self._pages_digest = ""
        self._fitted = False
        self.fit_s = 0.0

    def learns_from(self, pages: Sequence[CorpusPage]) -> None:
        """Sets the training pages, without fitting: `cached` needs no more."""
        self._pages, self._pages_digest, self._fitted = pages, _digest([list(page) for page in pages]), False

    def fit(self, pages: Sequence[CorpusPage], progress: Progress = no_progress) -> None:
        """Fits the system, if it was not fitted on these pages before."""
        self.learns_from(pages)
        marker = self._path("fitted")
        before = _read(marker, "fit_s")
        if before is None:
            self.fit_s = self._fit(progress)
            _write(marker, fit_s=self.fit_s)
        else:
            self.fit_s = float(before[0])

    def distances(self, task: Task, progress: Progress = no_progress) -> Distances:
        """See `System`. The times are those of the first answer."""
        found = self.cached(task)
        if found is None:
            if not self._fitted:
                self._fit(progress)
            found = self._system.distances(task, progress)
            values, times = found.values.astype(np.float32), np.array([found.document_s, found.query_s])
            _write(self._task_path(task), values=values, times=times)
            found = replace(found, values=values.astype(np.float64))
        progress(len(task.queries), len(task.queries), f"{task.name} {self.name}")
        return found

    def cached(self, task: Task) -> Distances | None:
        """The cached distances of a task; None if there are none."""
        found = _read(self._task_path(task), "values", "times")
        return None if found is None else Distances(found[0].astype(np.float64), *found[1].tolist())

    def _fit(self, progress: Progress) -> float:
        seconds = fit(self._system, self._pages, progress)
        self._fitted = True
        return seconds

    def _task_path(self, task: Task) -> Path:
        return self._path(
            _digest([str(task.direction), dict(task.queries), dict(task.documents), dict(task.query_side)])
        )

    def _path(self, of: str) -> Path:
        return self._folder / f"{self.name}-{_digest([*self._made_of, self._pages_digest, of])}.npz"


def _write(path: Path, **arrays: Any) -> None:
    """Writes the arrays. The file appears whole or not at all."""
    with whole_file(path) as file:
        np.savez(file, **arrays)


def _read(path: Path, *names: str) -> list[NDArray[Any]] | None:
    """Reads the arrays with these names; None if there is no file, or it cannot be read."""
    try:
        with path.open("rb") as file, np.load(file) as arrays:
            return [arrays[name] for name in names]
    except (OSError, ValueError, KeyError, BadZipFile):
        return None


def _digest(whole: object) -> str:
    return hashlib.blake2b(json.dumps(whole, ensure_ascii=False).encode(), digest_size=16).hexdigest()


@cache
def _sources() -> str:
    hasher = hashlib.blake2b(digest_size=16)
    for module in (protocol.__file__, __file__):
        for source in sorted(Path(module).parent.glob("*.py")):
            hasher.update(source.read_bytes())
    return hasher.hexdigest()
