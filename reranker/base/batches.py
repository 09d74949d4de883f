"""Splits what is read into batches of a bounded length and size."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sized
from typing import TypeVar

_Item = TypeVar("_Item")

_READ_BYTES = 8_000_000


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


def next_length(batch: Sized, most_items: int) -> int:
    """How many items to read next, where their sizes are known only afterwards: some 8 MB by the mean size of the
    latest batch, and at most twice as many as that has, so begin with one.

    >>> next_length(["short"] * 4, 1_000), next_length(["x" * 2_000_000] * 8, 1_000)
    (8, 3)
    """
    return max(1, min(most_items, 2 * len(batch), len(batch) * _READ_BYTES // len(str(batch))))
