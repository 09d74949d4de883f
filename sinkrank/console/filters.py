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

    Values are text, which each store compares with a field's numbers and booleans too. Quotes around them are left out.

    Raises:
        typer.BadParameter: a condition of another form; a value and a range, or a bound twice, for one field.

    >>> parse_filters(["module=swriter", "module=scalc", "year>=2000", "year<2010"])
    {'module': ['swriter', 'scalc'], 'year': {'gte': '2000', 'lt': '2010'}}
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
            known.append(_unquoted(text))
        elif _BOUNDS[operator] in known:
            raise typer.BadParameter(f"{name!r} has two bounds by {operator}; give one", param_hint="--filter")
        else:
            known[_BOUNDS[operator]] = _unquoted(text)
    return found


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"" else text
