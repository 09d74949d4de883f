"""What a query is read into: leaves that score or filter, and groups of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

# Why a search keeps the engine's order: the words of `X-Rerank-Reason`, the strongest first.
CALLER_SCORING = "caller_scoring"
AUTOCOMPLETE = "autocomplete"
UNKNOWN_QUERY = "unknown_query"
REASONS = (CALLER_SCORING, AUTOCOMPLETE, UNKNOWN_QUERY)


class Kind(Enum):
    TEXT = "text"  # text, unless the mapping says that none of its fields holds text
    TERM = "term"  # an exact value, unless the mapping says that its field holds text
    PREFIX = "prefix"  # autocomplete, unless the mapping says that its field holds no text
    MEANING = "meaning"  # compares embeddings, of a text or of a vector
    FILTER = "filter"  # gives each hit that it finds the same score


class Field(NamedTuple):
    """A field as a query names it (`title`, `title.*`, `*`), and its boost."""

    name: str
    boost: float = 1.0


@dataclass(frozen=True, slots=True)
class Leaf:
    """A clause of one kind.

    Attributes:
        fields: none for the default fields, or where the clause has no field of text.
        reason: why a search with this clause keeps the engine's order; "" where there is no reason.
    """

    kind: Kind
    text: str = ""
    fields: tuple[Field, ...] = ()
    boost: float = 1.0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """Clauses that score together.

    Attributes:
        must: those that each hit fits.
        should: those that a hit may fit.
        is_optional: whether a hit may fit none of `should`.
        has_filter: whether there are clauses that only filter or forbid besides.
    """

    must: Sequence[Node] = ()
    should: Sequence[Node] = ()
    is_optional: bool = False
    has_filter: bool = False
    boost: float = 1.0
    reason: str = ""


Node = Leaf | Group


def read_field(value: str) -> Field:
    """A field with its boost behind it.

    >>> read_field("title^5"), read_field("text")
    (Field(name='title', boost=5.0), Field(name='text', boost=1.0))
    """
    name, sign, boost = value.rpartition("^")
    if not sign:
        return Field(value)
    try:
        return Field(name, float(boost))
    except ValueError:
        return Field(value)


def read_boost(value: Any) -> float:
    """A clause's boost; NaN, which no other equals, where it is no number."""
    try:
        return float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else float("nan")
    except ValueError:
        return float("nan")
