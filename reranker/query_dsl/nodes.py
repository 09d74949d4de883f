"""A query as leaves and groups: what the readers of clauses and of the two query syntaxes make, and `scoring` reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple


class Kind(Enum):
    TEXT = "text"  # text, unless the mapping says that none of its fields holds text
    BEGUN = "begun"  # text whose last word may be half typed: autocomplete, unless its whole words are matched too
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
