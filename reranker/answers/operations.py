"""The answers of `/-/live` and `/-/ready`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from reranker.answers.answer import Answer


@dataclass(frozen=True, slots=True, eq=False)
class Alive(Answer):
    """The process answers."""

    status: Literal["alive"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Check(Answer):
    """The state of one part of the service."""

    ready: bool
    version: str | None = None
    """Of the embeddings."""
    n_terms: int | None = None
    """Of the embeddings."""
    languages: list[str] | None = None
    """Of the embeddings."""
    message: str | None = None
    """What is wrong with the part, or what the service does without it."""


@dataclass(frozen=True, slots=True, eq=False)
class Readiness(Answer):
    """Whether each part can do its work."""

    status: Literal["ready", "degraded", "not ready"]
    """`degraded`: there are no embeddings yet, and searches pass through to the engine."""
    checks: dict[str, Check]
