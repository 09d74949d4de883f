"""Reads `sort`: whether hits are sorted by score."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any


def further_keys(sort: Any, added: Sequence[Any] = ()) -> int | None:
    """How many keys order hits of the same score; 0 where nothing is said. None where hits are sorted by anything else
    than falling scores.

    Args:
        sort: as in a body.
        added: keys behind those.

    >>> further_keys(["_score", {"date": "desc"}]), further_keys({"_score": {"order": "DESC"}})
    (1, 0)
    >>> further_keys(["date", "_score"]) is None
    True
    """
    sorts = [*(sort if isinstance(sort, list) else [sort]), *added]
    if any(isinstance(one, list) for one in sorts):  # the engines refuse it
        return None
    keys = list(_keys(sorts))
    if not keys:
        return 0
    return len(keys) - 1 if keys[0] == ("_score", "desc") else None


def url_sort(value: str) -> list[Any]:
    """`?sort=_score:desc,date` as in a body."""
    parts = [part.rpartition(":") for part in value.split(",") if part]
    return [{name: order} if name else order for name, _, order in parts]


def _keys(sort: Sequence[Any]) -> Iterator[tuple[str, str]]:
    """Each key with its direction; that of `_score` is `desc` by default."""
    for one in sort:
        if isinstance(one, Mapping):
            for name, given in one.items():
                yield name, str(given.get("order", "desc") if isinstance(given, Mapping) else given).lower()
        elif one is not None:
            yield str(one), "desc"
