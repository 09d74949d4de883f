"""Options that several commands of the papers take."""

from __future__ import annotations

from typing import Annotated

import typer

Directions = Annotated[
    str | None,
    typer.Option(
        metavar="FROM-TO,…",
        help="Languages of queries and documents; default: English to each other language and back.",
    ),
]
