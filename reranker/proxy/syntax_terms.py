"""What the readers of the two query syntaxes find: the parts of a query that count for its score."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

# As many as our own search takes.
MAX_SYNTAX_CHARS = 100_000
# Groups within groups.
MAX_SYNTAX_DEPTH = 32


class SyntaxKind(Enum):
    WORDS = "words"
    PREFIX = "prefix"  # the beginning of a word: `wo*`
    FILTER = "filter"  # gives the same score to each hit: a range, a pattern, `_exists_`


@dataclass(frozen=True, slots=True)
class SyntaxTerm:
    """A part of a query that is not forbidden.

    Attributes:
        text: without operators, quotes and escapes; "" for a filter.
        field: that it names; None for the default fields.
    """

    kind: SyntaxKind
    text: str
    field: str | None = None
    boost: float = 1.0


def boosted(terms: Iterable[SyntaxTerm], boost: float) -> list[SyntaxTerm]:
    """The terms of a group that has a boost of its own."""
    return list(terms) if boost == 1.0 else [replace(term, boost=term.boost * boost) for term in terms]


def joined(terms: Sequence[SyntaxTerm]) -> list[SyntaxTerm]:
    """The terms with all words of the same field and boost in one, in the order in which they first appear."""
    texts: dict[SyntaxTerm, list[str]] = {}
    for term in terms:
        key = replace(term, text="") if term.kind is SyntaxKind.WORDS else term
        texts.setdefault(key, []).append(term.text)
    return [replace(key, text=" ".join(words)) if key.kind is SyntaxKind.WORDS else key for key, words in texts.items()]
