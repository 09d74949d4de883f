"""The answers that the page alone asks for."""

from __future__ import annotations

from dataclasses import dataclass

from reranker.answers.answer import Answer


@dataclass(frozen=True, slots=True, eq=False)
class ExampleQuery(Answer):
    """A query to try."""

    query: str
    language: str
    """Of the query; empty: it is detected."""
    target: str
    """The language of the documents to find; empty for all."""


@dataclass(frozen=True, slots=True, eq=False)
class ExamplesAnswer(Answer):
    """Queries to try on an index, those for which the orders differ most first."""

    examples: list[ExampleQuery]
