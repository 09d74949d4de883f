"""Stores the answer of each system to each question, so that an interrupted suite can continue."""

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

from reranker.base.whole_files import write_whole

RECORD_FORMAT = 2
"""A part of every digest. Raise it if the contents of a record change, so that everything is measured again."""

RECORD_DEPTH = 50
"""Number of documents of each ranking in a record and a run file. The measures use the whole ranking."""


@dataclass(frozen=True)
class Cost:
    """The costs of a system.

    Attributes:
        fit_s, document_s, query_s: CPU time (s, all threads) of fitting, of all documents, of all queries.
    """

    fit_s: float
    document_s: float
    query_s: float


@dataclass(frozen=True, eq=False)
class Record:
    """One system's answer to one question.

    Attributes:
        system, description, data: as in `System`.
        top: (n_queries, depth) int32, positions of the nearest documents in the task's order; -1 if there are fewer.
        scores: (n_queries, depth) float32, negative distances, strictly falling.
        measures: (n_queries, n_measures) float32 by judgement, in the order of its qrels and of `MEASURES`.
    """

    system: str
    description: str
    data: str
    cost: Cost
    top: NDArray[np.int32]
    scores: NDArray[np.float32]
    measures: Mapping[str, NDArray[np.float32]]


class Records:
    """A folder with a file for each record, named by the digest of its input."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, digest: str) -> Record | None:
        """Reads a record; None if there is none that can be read."""
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
        """Writes a record. The file appears whole or not at all."""
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
