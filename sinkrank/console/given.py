"""Whether an option stands on the command line."""

from __future__ import annotations

import typer


def is_given(context: typer.Context, name: str) -> bool:
    """Whether a parameter stands on the command line, and is not its default."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"
