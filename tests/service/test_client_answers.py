"""The client's types of answers are those that the service describes, field by field, and what it answers fits them."""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import (
    Any,
    Literal,
    NotRequired,
    Required,
    TypedDict,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import pytest

from reranker.api.openapi import description
from reranker.client import answers

SCHEMAS = description()["components"]["schemas"]
NAMES = {float: "number", int: "integer", str: "string", bool: "boolean"}
TOP = ["SearchAnswer", "ExplainAnswer", "RerankAnswer", "Readiness"]


def compare(hint: Any, schema: Mapping[str, Any], where: str) -> None:
    """Fails where a type and a schema do not say the same; numbers' ranges and texts for people are passed over."""
    if "$ref" in schema:
        schema = SCHEMAS[schema["$ref"].rpartition("/")[2]]
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (NotRequired, Required):
        compare(parts[0], schema, where)
    elif is_typeddict(hint):
        assert schema["type"] == "object", where
        assert set(schema["properties"]) == hint.__required_keys__ | hint.__optional_keys__, where
        assert set(schema.get("required", ())) == hint.__required_keys__, where
        for name, inner in get_type_hints(hint, include_extras=True).items():
            compare(inner, schema["properties"][name], f"{where}.{name}")
    elif origin in (Union, types.UnionType):
        compare_all(parts, schema["anyOf"], where)
    elif origin is Literal:
        assert set(schema.get("enum", [schema.get("const")])) == set(parts), where
    elif origin is list:
        assert schema["type"] == "array", where
        compare(parts[0], schema["items"], f"{where}[]")
    elif origin is dict:
        assert schema["type"] == "object", where
        inner = schema.get("additionalProperties", True)
        assert (inner is True) == (parts[1] is Any), where
        if inner is not True:
            compare(parts[1], inner, f"{where}{{}}")
    else:
        assert schema["type"] == ("null" if hint is type(None) else NAMES[hint]), where


def compare_all(parts: tuple[Any, ...], schemas: list[Mapping[str, Any]], where: str) -> None:
    assert len(parts) == len(schemas), where
    for part, schema in zip(parts, schemas, strict=True):
        compare(part, schema, where)


@pytest.mark.parametrize("name", TOP)
def test_an_answer_has_the_fields_and_types_that_the_service_describes(name: str) -> None:
    compare(getattr(answers, name), SCHEMAS[name], name)


class Short(TypedDict):
    status: Literal["ready", "not ready"]


class Wrong(TypedDict):
    status: Literal["ready", "not ready"]
    checks: dict[str, int]


# Not as a class: this module's annotations are texts, in which TypedDict does not see the mark.
Optional = TypedDict(  # noqa: UP013
    "Optional", {"status": Literal["ready", "not ready"], "checks": NotRequired[dict[str, answers.Check]]}
)


@pytest.mark.parametrize("other", [Short, Wrong, Optional])
def test_a_type_that_says_something_else_is_found(other: type) -> None:
    with pytest.raises(AssertionError):
        compare(other, SCHEMAS["Readiness"], "Readiness")
