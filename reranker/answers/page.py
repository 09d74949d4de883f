"""The answers that the page alone asks for."""

from __future__ import annotations

from dataclasses import dataclass

from reranker.answers.answer import Answer


@dataclass(frozen=True, slots=True, eq=False)
class Example(Answer):
    """A query to try."""

    query: str
    language: str = ""
    """Of the query; it is detected where there is none."""
    target: str = ""
    """The language of the documents to find; all where there is none."""


@dataclass(frozen=True, slots=True, eq=False)
class ExamplesAnswer(Answer):
    """Queries to try on an index: those of a file, or titles of its documents, in turn of each language."""

    examples: list[Example]
