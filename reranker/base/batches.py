"""Splits a stream into lists of a bounded length and size."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

_Item = TypeVar("_Item")


def in_batches(
    items: Iterable[_Item], n_bytes_of: Callable[[_Item], int], most_items: int, most_bytes: int
) -> Iterator[list[_Item]]:
    """Yields the items in lists of at most so many items and so many bytes; an item that is larger is alone.

    >>> list(in_batches(["a", "b", "long", "c"], len, 2, 3))
    [['a', 'b'], ['long'], ['c']]
    """
    batch: list[_Item] = []
    n_bytes = 0
    for item in items:
        size = n_bytes_of(item)
        if batch and (len(batch) == most_items or n_bytes + size > most_bytes):
            yield batch
            batch, n_bytes = [], 0
        batch.append(item)
        n_bytes += size
    if batch:
        yield batch
