"""Reads `sort`: whether hits are sorted by score, and what orders hits of the same score."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

_Ordered = TypeVar("_Ordered")


@dataclass(frozen=True, slots=True)
class TieKey:
    """A key behind `_score`.

    Attributes:
        has_nulls_first: whether hits without a value come first, whatever the direction.
    """

    is_descending: bool = False
    has_nulls_first: bool = False


def read_ties(sort: Any) -> tuple[TieKey, ...] | None:
    """The keys that order hits of the same score; none where `_score` stands alone, or where nothing is said. None
    where hits are sorted by anything else than falling scores.

    Args:
        sort: as in a body.

    >>> read_ties(["_score", {"date": "desc"}])
    (TieKey(is_descending=True, has_nulls_first=False),)
    >>> read_ties(["date", "_score"]) is None
    True
    """
    keys = list(_keys(sort))
    if not keys:
        return ()
    (name, first), *others = keys
    return tuple(key for _, key in others) if name == "_score" and first.is_descending else None


def url_sort(value: str) -> list[Any]:
    """`?sort=_score:desc,date` as in a body."""
    parts = [part.rpartition(":") for part in value.split(",") if part]
    return [{name: order} if name else order for name, _, order in parts]


def _keys(sort: Any) -> Iterator[tuple[str, TieKey]]:
    if isinstance(sort, Sequence) and not isinstance(sort, str):
        for each in sort:
            yield from _keys(each)
    elif isinstance(sort, Mapping):
        for name, given in sort.items():
            yield name, _key(name, given)
    elif sort is not None:
        yield str(sort), _key(str(sort), {})


def _key(name: str, given: Any) -> TieKey:
    options = given if isinstance(given, Mapping) else {"order": given}
    order = str(options.get("order", "desc" if name == "_score" else "asc")).lower()
    return TieKey(order == "desc", options.get("missing") == "_first")


def in_order_of_ties(
    values: Sequence[Sequence[Any]], ties: Sequence[TieKey], ordered: Sequence[_Ordered]
) -> list[_Ordered]:
    """Puts what has the same score in the order of the caller's keys; what is equal there too stays as it is.

    Args:
        values: of each by these keys, in the order of `ordered`.
    """
    places = list(range(len(ordered)))
    for number, tie in reversed(list(enumerate(ties))):
        places.sort(key=lambda place: _comparable(values[place][number], tie), reverse=tie.is_descending)
    return [ordered[place] for place in places]


def _comparable(value: Any, tie: TieKey) -> tuple[bool, bool, Any]:
    """Of values of several types those of one stand together: several indices may have a field in two ways."""
    is_last = (value is None) != tie.has_nulls_first
    is_number = isinstance(value, int | float)
    return is_last != tie.is_descending, not is_number, value if is_number else str(value)
