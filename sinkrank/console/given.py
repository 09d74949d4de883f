"""Whether an option is given on the command line."""

from __future__ import annotations

import typer


def is_given(context: typer.Context, name: str) -> bool:
    """Whether a parameter is given on the command line, also with its default value."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"
