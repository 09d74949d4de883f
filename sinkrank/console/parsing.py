"""Reads the values of options: pairs, lists, files of lines."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

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


def read_lines(path: Path) -> list[str]:
    """The lines of a file, without blank ones.

    Raises:
        BadInput: it is not UTF-8.
        OSError: it cannot be read.
    """
    from reranker.base.errors import BadInput

    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(f"{path} is not UTF-8 ({error.reason} at byte {error.start}); save it as UTF-8") from error
    return [line for line in text.splitlines() if line.strip()]
