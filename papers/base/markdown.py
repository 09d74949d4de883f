"""Writes tables in Markdown."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence


def row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], n_texts: int = 1) -> Iterator[str]:
    """Yields the lines of a table. The first `n_texts` columns are texts, the others figures."""
    yield row(columns)
    yield row([*["---"] * n_texts, *["---:"] * (len(columns) - n_texts)])
    yield from map(row, rows)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], n_texts: int = 1) -> None:
    """Prints each row of a `table` as soon as it is known."""
    for line in table(columns, rows, n_texts):
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
