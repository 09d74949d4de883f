"""Stores the answer of each system to each question, so that an interrupted suite can continue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import joblib
import numpy as np
from numpy.typing import NDArray

from reranker.base.whole_files import whole_file

RECORD_FORMAT = 3
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
        """Reads a record; None if there is none."""
        path = self._folder / f"{digest}.joblib"
        return cast(Record, joblib.load(path)) if path.exists() else None

    def put(self, digest: str, record: Record) -> None:
        """Writes a record. The file appears whole or not at all."""
        with whole_file(self._folder / f"{digest}.joblib") as file:
            joblib.dump(record, file, compress=3)
