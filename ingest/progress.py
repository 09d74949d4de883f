"""The progress callback that every step of ingest, training and evaluation uses."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[int, int | None, str], None]
"""`progress(done, total, description)`; `total` is None while it is unknown."""


def no_progress(done: int, total: int | None, description: str) -> None:
    """Reports nothing; the default."""
