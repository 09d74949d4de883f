"""Reads the values of options: pairs, lists."""

from __future__ import annotations

from collections.abc import Iterable

import typer


def parse_pairs(given: Iterable[str], option: str, form: str) -> dict[str, str]:
    """`a=x`, `b=y` as a dictionary.

    Raises:
        typer.BadParameter: one is not of this form.
    """
    pairs = [pair.partition("=") for pair in given]
    if any(not name or not value for name, _, value in pairs):
        raise typer.BadParameter(f"give {form}", param_hint=option)
    return {name.strip(): value.strip() for name, _, value in pairs}


def parse_names(listed: str | None) -> list[str]:
    """Names separated by commas.

    >>> parse_names("fi, de"), parse_names(None)
    (['fi', 'de'], [])
    """
    return [name.strip() for name in (listed or "").split(",") if name.strip()]
