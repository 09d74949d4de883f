"""Filters of a search by language and metadata, as requests give them."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import regex

from reranker.base.errors import BadInput, WrongParameter
from reranker.text.languages import language_code

_FIELD_NAME = regex.compile(r"[A-Za-z0-9_\-]{1,64}(\.[A-Za-z0-9_\-]{1,64}){0,7}")

# SQLite takes 32,766 values and 500 parts of a query, the engines 65,536 values of a field and 1,024 clauses.
_MAX_FILTER_VALUES = 10_000
_MAX_FILTER_FIELDS = 100

Scalar = str | int | float | bool


# Bounds by `gte`, `gt`, `lte` and `lt`: of numbers, or of strings in alphabetical order.
Range = Mapping[str, Scalar]


@dataclass(frozen=True, slots=True)
class Filters:
    """Which documents a search may find.

    Attributes:
        languages: ISO 639-1 codes, any of them; empty for all.
        metadata: for each metadata field (dots for nested ones), either a range or the values of which a document must
            have one. A field with a list matches if any element does. All fields must match. The document's value
            decides whether texts or numbers are compared: `2000` and `"2000"` are the same condition.
    """

    languages: tuple[str, ...] = ()
    metadata: Mapping[str, tuple[Scalar, ...] | Range] = field(default_factory=dict)

    @classmethod
    def parse(cls, languages: Iterable[str] | None = None, metadata: Mapping[str, Any] | None = None) -> Filters:
        """Reads the filters of a request, such as `{"module": "swriter", "year": {"gte": 2000}, "tag": ["a", "b"]}`.

        Raises:
            UnknownLanguage, BadInput: the message names the field and its possible values.
        """
        codes = tuple(dict.fromkeys(language_code(language) for language in languages or ()))
        conditions = {name: _condition(name, value) for name, value in (metadata or {}).items()}
        n_values = sum(len(condition) for condition in conditions.values() if isinstance(condition, tuple))
        if len(conditions) > _MAX_FILTER_FIELDS or n_values > _MAX_FILTER_VALUES:
            raise BadInput(
                f"the filters have {len(conditions)} fields and {n_values} values; give at most {_MAX_FILTER_FIELDS} "
                f"fields and {_MAX_FILTER_VALUES} values"
            )
        return cls(codes, conditions)


def _condition(name: str, value: Any) -> tuple[Scalar, ...] | Range:
    if not _FIELD_NAME.fullmatch(name):
        raise WrongParameter(
            f"filter field {reprlib.repr(name)} is not a metadata name; use letters, digits, '_' and '-', with dots "
            "between"
        )
    if isinstance(value, Mapping):
        unknown = set(value) - {"gte", "gt", "lte", "lt"}
        if unknown or not value:
            raise WrongParameter(f"filter {name!r} takes gte, gt, lte, lt; got {reprlib.repr(sorted(value))}")
        if {"gte", "gt"} <= value.keys() or {"lte", "lt"} <= value.keys():  # the engines take the last of the two
            raise WrongParameter(
                f"filter {name!r} has two bounds on one side; give one of gte and gt, and of lte and lt"
            )
        if not all(isinstance(bound, str | int | float) for bound in value.values()):
            raise WrongParameter(f"the bounds of filter {name!r} must be numbers or strings")
        return value
    values = tuple(value) if isinstance(value, list | tuple) else (value,)
    if not values or not all(isinstance(one, str | int | float | bool) for one in values):
        raise WrongParameter(
            f"filter {name!r} takes a string, number or boolean, or a list of them; got {reprlib.repr(value)}"
        )
    return values
