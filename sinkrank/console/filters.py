"""Reads `--filter` options: `module=swriter`, `year>=2000`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import typer

_CONDITION = re.compile(r"([^<>=]+)(>=|<=|=|>|<)(.*)", re.DOTALL)
_BOUNDS = {">=": "gte", ">": "gt", "<=": "lte", "<": "lt"}


def parse_filters(conditions: Sequence[str]) -> dict[str, Any]:
    """The metadata filters of a request. A field given twice matches any of its values, or both bounds of a range.

    A value that reads as a number or as true or false is sought as such and as text, since CSV has text alone; a
    bound of a range is a number then, or in quotes (`year>='2000'`) text.

    Raises:
        typer.BadParameter: a condition of another form, or a value and a range for one field.

    >>> parse_filters(["module=swriter", "module=scalc", "year>=2000", "year<2010"])
    {'module': ['swriter', 'scalc'], 'year': {'gte': 2000, 'lt': 2010}}
    """
    found: dict[str, Any] = {}
    for condition in conditions:
        match = _CONDITION.fullmatch(condition.strip())
        if match is None:
            raise typer.BadParameter(
                f"{condition!r} is not a condition; write FIELD=VALUE, FIELD>=VALUE or FIELD<=VALUE, in quotes for the "
                "shell",
                param_hint="--filter",
            )
        name, operator, text = (part.strip() for part in match.groups())
        empty: Any = [] if operator == "=" else {}
        known = found.setdefault(name, empty)
        if type(known) is not type(empty):
            raise typer.BadParameter(f"{name!r} has a value and a range; give one of the two", param_hint="--filter")
        if operator == "=":
            known.extend(_readings(text))
        else:
            known[_BOUNDS[operator]] = _readings(text)[0]
    return found


def _readings(text: str) -> list[str | int | float | bool]:
    """The possible values of a text, the most specific first; a quoted text is only text."""
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        return [text[1:-1]]
    if text in ("true", "false"):
        return [text == "true", text]
    for kind in (int, float):
        try:
            return [kind(text), text]
        except ValueError:
            continue
    return [text]
