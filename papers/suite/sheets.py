"""Formats tables of numbers as Markdown, with the best figure of each column marked."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from papers.base import markdown

Cell = str | float
"""A number has three decimals and is compared with the others of its column; a text is shown as it is."""


@dataclass(frozen=True)
class Sheet:
    """One table.

    Attributes:
        groups: rows by heading, which has its own line; an empty heading is not shown.
        lower_is_better: the columns whose best figure is the lowest.
        note: a sentence below the title.
    """

    title: str
    columns: Sequence[str]
    groups: Mapping[str, Sequence[Sequence[Cell]]]
    lower_is_better: Collection[str] = ()
    note: str = ""

    def as_markdown(self) -> list[str]:
        """Returns the lines of the table, without title and note."""
        best = self._best()
        lines: list[list[str]] = []
        for heading, rows in self.groups.items():
            lines += [[f"*{heading}*", *[""] * (len(self.columns) - 1)]] if heading else []
            lines += [[_marked(cell, best[place]) for place, cell in enumerate(row)] for row in rows]
        return list(markdown.table(self.columns, lines))

    def _best(self) -> list[str | None]:
        """Returns the best figure of each column as it is shown; None if there is nothing to compare."""
        rows = [row for rows in self.groups.values() for row in rows]
        found: list[str | None] = []
        for place, name in enumerate(self.columns):
            numbers = [cell for row in rows if isinstance(cell := row[place], float)]
            best = min if name in self.lower_is_better else max
            found.append(_shown(best(numbers)) if len(numbers) > 1 else None)
        return found


def _marked(cell: Cell, best: str | None) -> str:
    """Returns a cell as it is shown, in bold if it is the best of its column."""
    text = _shown(cell)
    return f"**{text}**" if text == best else text


def _shown(cell: Cell) -> str:
    return f"{cell:.3f}" if isinstance(cell, float) else cell
