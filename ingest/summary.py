"""The result of an ingest, as the command line shows it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class IngestSummary:
    """The result of an ingest.

    Attributes:
        read: rows read; each is indexed, rejected or unconfirmed.
        indexed: documents that the store confirmed.
        without_known_words: indexed documents without a word that has an embedding (only BM25 finds them).
        languages: documents indexed, by language; `und` if the confidence of the detected language was too low.
        rejects: the file of the rejected rows; None if there are none.
        first_reject: file, line and reason of the first of them.
        already_there: indexed documents that an earlier, interrupted run had written.
        unconfirmed: documents in flight when the store failed; they may be in the index or not.
        failure: why the run ended early; None if it is complete.
        version: the version of the index that was written to; None if it has none.
        previous_version: the version before a rebuild, kept for a rollback.
        is_dry_run: whether nothing was written.
    """

    index: str
    read: int
    indexed: int
    rejected: int
    without_known_words: int
    languages: dict[str, int]
    seconds: float
    rejects: Path | None
    first_reject: str | None = None
    already_there: int = 0
    unconfirmed: int = 0
    failure: str | None = None
    version: str | None = None
    previous_version: str | None = None
    is_dry_run: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether every row is in the index."""
        return self.failure is None and not self.rejected

    @property
    def documents_per_second(self) -> float:
        """Rows written or rejected per second."""
        return (self.indexed + self.rejected - self.already_there) / self.seconds if self.seconds > 0 else 0.0

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self) | {
            "rejects": str(self.rejects) if self.rejects else None,
            "seconds": round(self.seconds, 3),
            "documents_per_second": round(self.documents_per_second, 1),
        }
