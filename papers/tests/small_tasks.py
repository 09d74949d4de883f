"""Small tasks for the tests of the systems."""

from __future__ import annotations

from ir_measures import Qrel

from papers.corpora.tasks import Direction, Task

FR_EN = Direction("fr", "en")
EN_EN = Direction("en", "en")


def small_task(queries: list[str], documents: list[str], query_side: list[str], direction: Direction = FR_EN) -> Task:
    """A task of texts whose tokens are parted by blanks; each query asks for the document of its place."""
    return Task(
        direction,
        "pages",
        {f"q{n}": tuple(text.split()) for n, text in enumerate(queries)},
        {f"d{n}": tuple(text.split()) for n, text in enumerate(documents)},
        {f"p{n}": tuple(text.split()) for n, text in enumerate(query_side)},
        tuple(Qrel(f"q{n}", f"d{n}", 1) for n in range(min(len(queries), len(documents)))),
    )
