"""Reads JSON by the letter: Python's parser also takes `NaN`, and reads `1e999` as infinity, which no JSON can hold."""

from __future__ import annotations

import json
from math import isfinite
from typing import Any, NoReturn


def read_strictly(text: str | bytes) -> Any:
    """The value of a JSON text.

    Raises:
        ValueError: it is not JSON (`json.JSONDecodeError`), or has a number that is not finite.
        RecursionError: it is nested too deeply.
    """
    return json.loads(text, parse_constant=_refuse, parse_float=finite)


def finite(digits: str) -> float:
    """Raises ValueError for what is not a finite number."""
    number = float(digits)
    if not isfinite(number):
        raise ValueError(f"{digits[:50]} is beyond the range of numbers")
    return number


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")
