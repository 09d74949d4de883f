"""Writes JSON in which every float is a plain decimal with a point (`1.0`, `0.000001`), as OpenSearch's pipelines need.

`json.dumps` writes 0.000001 as `1e-06`. The rerank processor of OpenSearch casts the literal that it reads to a Java
Double and takes neither an integer nor more than 18 characters.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

# Made once: `json.dumps` makes one at each call with choices like these, which takes longer than a short text.
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode

# Deeper than any answer of our own routes goes outside of free metadata.
_ALL = 32


def to_json(value: Any, depth: int = _ALL) -> str:
    """A value as compact JSON.

    Args:
        depth: levels of objects and lists in which floats are written plainly; `json.dumps`, many times as fast,
            writes what is below.

    Raises:
        ValueError: a float is NaN or infinite, which JSON cannot hold.

    >>> to_json({"score": 1e-06, "n": 1, "text": "é"})
    '{"score":0.000001,"n":1,"text":"é"}'
    """
    if isinstance(value, float):
        return float_text(value)
    if depth > 0 and isinstance(value, Mapping):
        return "{" + ",".join(f"{_encode(str(key))}:{to_json(one, depth - 1)}" for key, one in value.items()) + "}"
    if depth > 0 and isinstance(value, list | tuple):
        return "[" + ",".join(to_json(one, depth - 1) for one in value) + "]"
    return _encode(value)


def json_bytes(text: str) -> bytes:
    """JSON as UTF-8; half a surrogate pair, which a text cut by JavaScript may end in, becomes its escape.

    >>> json_bytes('"\\ud83d"')
    b'"\\\\ud83d"'
    """
    return text.encode("utf-8", "backslashreplace")


def float_text(value: float) -> str:
    """The shortest decimal that reads back as the same float, with a point and without an exponent.

    >>> float_text(1.0), float_text(1e-06), float_text(1e22)
    ('1.0', '0.000001', '10000000000000000000000.0')
    """
    if not math.isfinite(value):
        raise ValueError(f"{value} cannot be written as JSON")
    text = repr(float(value))
    if "e" not in text:
        return text
    text = format(Decimal(text), "f")
    return text if "." in text else f"{text}.0"
