"""The answer of `POST /v1/matches`."""

from __future__ import annotations

from dataclasses import dataclass

from reranker.answers.answer import Answer
from reranker.answers.search import Count, Score


@dataclass(frozen=True, slots=True, eq=False)
class Match(Answer):
    """A word of a text that matches a query word."""

    start: Count
    """In characters of the text."""
    end: Count
    query_word: str
    """The query word that it is nearest to."""
    word: str
    """As it is written in its language."""
    likeness: Score
    """Cosine of the two embeddings; 1 for the same word or stem."""


@dataclass(frozen=True, slots=True, eq=False)
class MatchedText(Answer):
    """The matches of one text, in reading order."""

    language: str
    """Of the text: as given, or as guessed."""
    matches: list[Match]


@dataclass(frozen=True, slots=True, eq=False)
class MatchesAnswer(Answer):
    """The matches of each text, in the order of the texts."""

    language: str
    """Of the query: as given, or as guessed."""
    unknown_words: list[str]
    """Words of the query without an embedding."""
    texts: list[MatchedText]
