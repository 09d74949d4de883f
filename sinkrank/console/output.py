"""Prints results on standard output, and messages and progress bars on standard error."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table

from reranker.base.terminal import CONTROLS, NO_CONTROLS

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

    from ingest.progress import Progress

# Width of tables in a pipe. Other tools read them, so few cells should be cut.
_PIPE_WIDTH = 200
# A text is printed as it is, whatever is in it.
_PLAIN: Any = {"highlight": False, "markup": False, "emoji": False}
_JSON_ESCAPES = {code: f"\\u{code:04x}" for code in CONTROLS}
# Shown on a terminal while a command waits for its first search.
LOADING = "loading the embeddings and the index …"
# The bar of a shorter step is removed when the next one begins.
_VISIBLE_SECONDS = 1.0


class _Console(Console):
    """A console on which texts of documents and names of an engine's fields cannot control the terminal."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else text.translate(NO_CONTROLS), style, control)


def results(least_width: int = 64) -> Console:
    """Standard output. In a pipe a line stays one line, however long it is.

    Args:
        least_width: columns without which a table would have to cut its figures. A narrower terminal folds the lines.
    """
    console = _Console(**_PLAIN)
    if not console.is_terminal:
        return _Console(**_PLAIN, width=_PIPE_WIDTH, soft_wrap=True)
    console.width = max(console.width, least_width)
    return console


def talk() -> Console:
    """Standard error."""
    return _Console(**_PLAIN, stderr=True, soft_wrap=True)


def table(*columns: str, **more: Any) -> Table:
    """A table as all of them look."""
    return Table(*columns, box=box.SIMPLE_HEAD, pad_edge=False, title_justify="left", title_style="", **more)


def counted(n: int, thing: str, things: str = "") -> str:
    """A number with its noun; the plural of most has an s.

    >>> counted(1, "document"), counted(5268, "document"), counted(2, "query", "queries")
    ('1 document', '5,268 documents', '2 queries')
    """
    return f"{n:,} {thing}" if n == 1 else f"{n:,} {things or f'{thing}s'}"


def print_json(value: Any) -> None:
    """One JSON document on standard output."""
    text = json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False, default=dict)
    print(text.translate(_JSON_ESCAPES))  # noqa: T201


@contextmanager
def progress_bars(console: Console | None = None) -> Iterator[Progress]:
    """A function that shows progress, with one bar per description; silent if standard error is not a terminal."""
    console = talk() if console is None else console
    if not console.is_terminal:
        yield lambda done, total, description: None
        return
    with _bars(console) as bars:
        yield _Reporter(bars)


class _Reporter:
    """Keeps one bar per description. A new description ends the previous bar, and removes it if it was short. The text
    after a comma (`indexing, 3 rejected`) may change within a bar."""

    def __init__(self, bars: Bars) -> None:
        self._bars = bars
        self._description = ""
        self._task: TaskID | None = None
        self._started = 0.0

    def __call__(self, done: int, total: int | None, description: str) -> None:
        step = description.partition(",")[0]
        if step != self._description or self._task is None:
            self._finish()
            self._description, self._started = step, time.monotonic()
            self._task = self._bars.add_task(description, total=total)
        self._bars.update(self._task, completed=done, total=total, description=description)

    def _finish(self) -> None:
        if self._task is None:
            return
        self._bars.stop_task(self._task)
        if time.monotonic() - self._started < _VISIBLE_SECONDS:
            self._bars.remove_task(self._task)


def _bars(console: Console) -> Bars:
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(compact=True),
        console=console,
    )
