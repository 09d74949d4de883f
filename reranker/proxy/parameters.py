"""The parameters of a URL as they were written: what is not ours to change stays byte for byte."""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import parse_qsl, unquote_plus


def read_parameters(raw_query_string: str) -> dict[str, str]:
    """The parameters, unescaped; of several with one name the last counts, as for the engines."""
    return dict(parse_qsl(raw_query_string, keep_blank_values=True))


def without_parameters(raw_query_string: str, names: Collection[str]) -> str:
    """The query string without these parameters; the same text where it has none of them."""
    parts = raw_query_string.split("&") if raw_query_string else []
    kept = [part for part in parts if _name(part) not in names]
    return "&".join(kept) if len(kept) < len(parts) else raw_query_string


def only_parameters(raw_query_string: str, names: Collection[str]) -> str:
    """The query string with these parameters alone."""
    return "&".join(part for part in raw_query_string.split("&") if part and _name(part) in names)


def is_true(value: str | None) -> bool:
    """Whether a flag of the engine's URLs is set; one without a value is."""
    return value in ("", "true")


def _name(part: str) -> str:
    return unquote_plus(part.split("=", 1)[0])
