"""Keeps what each system said of each question, so that a suite that broke off goes on."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.base.files import write_whole

RECORD_FORMAT = 1
"""Part of every digest: raise it when a record holds something else, and all is measured anew."""

KEPT_DEPTH = 50
"""Documents of each ranking that a record and a run file hold; the measures are of the whole ranking."""


@dataclass(frozen=True)
class Cost:
    """What a system took.

    Attributes:
        fit_s, document_s, query_s: CPU time (s, all threads) to learn, for all documents, for all queries.
        peak_bytes: memory while ranking, above what was held before; None where it cannot be measured.
    """

    fit_s: float
    document_s: float
    query_s: float
    peak_bytes: int | None


@dataclass(frozen=True, eq=False)
class Record:
    """One system's answer to one question.

    Attributes:
        system, description, data: as `System` has them.
        top: (n_queries, depth) int32, places of the nearest documents in the task's order; -1 where fewer are found.
        scores: (n_queries, depth) float32, distances with their sign turned, strictly falling.
        measures: by judgement, (n_queries, n_measures) float32 in the order of its qrels and of `MEASURES`.
    """

    system: str
    description: str
    data: str
    cost: Cost
    top: NDArray[np.int32]
    scores: NDArray[np.float32]
    measures: Mapping[str, NDArray[np.float32]]


class Records:
    """A folder with one file for each record, named by the digest of its input."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, digest: str) -> Record | None:
        """The record, or None if there is none that can be read."""
        try:
            # numpy leaves a file open that is no archive, if it opens it itself
            with self._path(digest).open("rb") as opened, np.load(opened) as file:
                about = json.loads(str(file["about"]))
                names = about.pop("judgements")
                measures = {name: file[f"measures_{place}"] for place, name in enumerate(names)}
                return Record(
                    **about | {"cost": Cost(**about["cost"])}, top=file["top"], scores=file["scores"], measures=measures
                )
        except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile):
            return None

    def put(self, digest: str, record: Record) -> None:
        """Keeps a record; it is whole or not there, whatever breaks off."""
        about = {
            "system": record.system,
            "description": record.description,
            "data": record.data,
            "cost": asdict(record.cost),
            "judgements": list(record.measures),
        }
        arrays: dict[str, Any] = {f"measures_{place}": values for place, values in enumerate(record.measures.values())}
        buffer = io.BytesIO()
        np.savez_compressed(buffer, about=np.array(json.dumps(about)), top=record.top, scores=record.scores, **arrays)
        write_whole(self._path(digest), buffer.getvalue())

    def _path(self, digest: str) -> Path:
        return self._folder / f"{digest}.npz"
