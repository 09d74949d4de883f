"""The error answers: problem details on our own routes, and the shapes of other services on theirs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from reranker.answers.answer import Answer

TextsErrorType = Literal["empty", "validation", "overloaded", "backend"]


@dataclass(frozen=True, slots=True, eq=False)
class Problem(Answer):
    """Problem details (RFC 9457), and a code for programs."""

    type: str
    """A name that all errors of a code share; there is no page behind it."""
    title: str
    """The HTTP status in words."""
    status: int
    """The HTTP status."""
    detail: str
    """What came, what was expected, and the cure."""
    code: str
    """One of a small, fixed set: `bad_input`, `unknown_words`, …"""


@dataclass(frozen=True, slots=True, eq=False)
class CohereError(Answer):
    """An error as Cohere's and Jina's clients expect it."""

    id: str
    message: str
    detail: str
    """The same as `message`; Jina's clients show this."""


@dataclass(frozen=True, slots=True, eq=False)
class TextsError(Answer):
    """An error as the clients of text-embeddings-inference expect it."""

    error: str
    error_type: TextsErrorType
