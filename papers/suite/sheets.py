"""Tables of figures as people read them, on a terminal or as Markdown: the best figure of each column is marked."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from rich.table import Table
from rich.text import Text

Cell = str | float
"""A figure is shown with three decimals, and is compared with the others of its column; a text is neither."""


@dataclass(frozen=True)
class Sheet:
    """One table.

    Attributes:
        groups: rows by their heading, which stands in a line of its own; an empty one is not shown.
        lower_is_better: the columns whose best figure is the least.
        note: a sentence below the title.
    """

    title: str
    columns: Sequence[str]
    groups: Mapping[str, Sequence[Sequence[Cell]]]
    lower_is_better: Collection[str] = ()
    note: str = ""

    def as_markdown(self) -> list[str]:
        """The lines of the table; its title and note are no part of it."""
        best = self._best()
        lines = [_line(self.columns), _line(["---", *["---:"] * (len(self.columns) - 1)])]
        for heading, rows in self.groups.items():
            lines += [_line([f"*{heading}*", *[""] * (len(self.columns) - 1)])] if heading else []
            for row in rows:
                lines.append(_line([f"**{text}**" if is_best else text for text, is_best in _marked(row, best)]))
        return lines

    def as_rich(self) -> Table:
        """For a terminal, with the title above and the note below."""
        best = self._best()
        table = Table(title=Text(self.title), title_justify="left", header_style="bold", caption_justify="left")
        table.caption = Text(self.note) if self.note else None
        for place, name in enumerate(self.columns):
            table.add_column(name, justify="right" if place else "left")
        for heading, rows in self.groups.items():
            table.add_section()
            if heading:
                table.add_row(Text(heading, style="italic"))
            for row in rows:
                table.add_row(*(Text(text, style="bold" if is_best else "") for text, is_best in _marked(row, best)))
        return table

    def _best(self) -> list[str | None]:
        """By column the best figure as it is shown; None where there is none to compare it with."""
        rows = [row for rows in self.groups.values() for row in rows]
        found: list[str | None] = []
        for place, name in enumerate(self.columns):
            figures = [cell for row in rows if isinstance(cell := row[place], float)]
            best = min if name in self.lower_is_better else max
            found.append(_shown(best(figures)) if len(figures) > 1 else None)
        return found


def _marked(row: Sequence[Cell], best: Sequence[str | None]) -> list[tuple[str, bool]]:
    """Each cell as it is shown, and whether it is the best of its column."""
    return [(_shown(cell), _shown(cell) == best[place]) for place, cell in enumerate(row)]


def _shown(cell: Cell) -> str:
    return f"{cell:.3f}" if isinstance(cell, float) else cell


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
