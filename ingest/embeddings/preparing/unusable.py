"""Counts rows that are no documents, and keeps the first few reasons."""

from __future__ import annotations

from ingest.files import Row

_EXAMPLES = 3


class Unusable:
    """The rows.

    Attributes:
        n: their number.
    """

    def __init__(self) -> None:
        self.n = 0
        self._examples: list[str] = []

    def add(self, row: Row, reason: str | None) -> None:
        """Counts a row. Of an index the URL is left out, which may contain a password."""
        self.n += 1
        if len(self._examples) < _EXAMPLES:
            name = row.file.rpartition("/")[2] if "://" in row.file else row.file
            self._examples.append(f"{name}, line {row.line}: {reason}")

    def __str__(self) -> str:
        rest = f" (and {self.n - len(self._examples):,} more)" if self.n > len(self._examples) else ""
        return f"{self.n:,} of the documents cannot be used: {'; '.join(self._examples)}{rest}"
