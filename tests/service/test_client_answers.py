"""Each answer is declared once: what the service describes and what the client reads are the same fields."""

from __future__ import annotations

import json
import types
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest
from flask import Flask
from flask.testing import FlaskClient

from reranker import answers
from reranker.answers import Answer, NotThisAnswer, read_answer
from reranker.answers.answer import is_required
from reranker.api.app import warm_up
from reranker.api.openapi import ROUTES, description
from reranker.client import answers as of_client

SCHEMAS = description()["components"]["schemas"]
NAMES = {float: "number", int: "integer", str: "string", bool: "boolean"}
DECLARED = [kind for kind in vars(answers).values() if isinstance(kind, type) and issubclass(kind, Answer)]
ANSWERS = [kind for kind in DECLARED if kind is not Answer]


def compare(hint: Any, schema: Mapping[str, Any], where: str) -> None:
    """Fails where a type and a schema do not say the same; ranges of numbers and texts for people are not compared."""
    if "$ref" in schema:
        schema = SCHEMAS[schema["$ref"].rpartition("/")[2]]
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        compare(parts[0], schema, where)
    elif isinstance(hint, type) and issubclass(hint, Answer):
        compare_fields(hint, schema, where)
    elif origin in (Union, types.UnionType):
        assert len(parts) == len(schema["anyOf"]), where
        for part, inner in zip(parts, schema["anyOf"], strict=True):
            compare(part, inner, where)
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


def compare_fields(kind: type[Answer], schema: Mapping[str, Any], where: str) -> None:
    hints = get_type_hints(kind, include_extras=True)
    names = [field.name for field in fields(kind)]
    assert schema["type"] == "object", where
    assert set(schema["properties"]) == set(names), where
    assert set(schema.get("required", ())) == {name for name in names if is_required(kind, name)}, where
    for name in names:
        compare(hints[name], schema["properties"][name], f"{where}.{name}")


@pytest.mark.parametrize("kind", ANSWERS, ids=lambda kind: kind.__name__)
def test_an_answer_is_described_with_all_its_fields(kind: type[Answer]) -> None:
    compare_fields(kind, SCHEMAS[kind.__name__], kind.__name__)


def test_the_client_names_every_answer() -> None:
    assert {getattr(of_client, kind.__name__) for kind in ANSWERS} == set(ANSWERS)


REQUESTS = [
    ("/v1/search", {"query": "cat dog zzz"}),
    ("/v1/search", {"query": "cat", "method": "none"}),
    ("/v1/explain", {"query": "cat zzz", "id": "cat-fr"}),
    ("/v1/matches", {"query": "cat zzz", "texts": ["The cat"]}),
    ("/v2/rerank", {"query": "cat", "documents": ["dog", "zzz"], "return_documents": True}),
    ("/v2/rerank", {"query": "zzz", "documents": ["dog"]}),
]


@pytest.mark.parametrize(("path", "body"), REQUESTS)
def test_an_answer_is_read_back_whole(app: Flask, client: FlaskClient, path: str, body: dict[str, Any]) -> None:
    warm_up(app)
    (kind,) = [route.answer for route in ROUTES if route.path == path]
    assert kind is not None
    sent = client.post(path, json=body).get_json()
    read = read_answer(kind, sent)
    # Key by key and in their order.
    assert json.dumps(read, default=dict) == json.dumps(sent)


@dataclass(frozen=True, slots=True, eq=False)
class Short(Answer):
    status: Literal["ready", "degraded", "not ready"]


@dataclass(frozen=True, slots=True, eq=False)
class Wrong(Answer):
    status: Literal["ready", "degraded", "not ready"]
    checks: dict[str, int]


@dataclass(frozen=True, slots=True, eq=False)
class Optional(Answer):
    status: Literal["ready", "degraded", "not ready"]
    checks: dict[str, answers.Check] | None = None


@pytest.mark.parametrize("other", [Short, Wrong, Optional])
def test_a_declaration_that_says_something_else_is_found(other: type[Answer]) -> None:
    with pytest.raises(AssertionError):
        compare_fields(other, SCHEMAS["Readiness"], "Readiness")


def test_an_answer_is_read_by_attribute_and_by_key() -> None:
    check = read_answer(answers.Check, {"ready": False, "message": "no embeddings"})
    assert (check.message, check["message"]) == ("no embeddings", "no embeddings")
    assert check == {"ready": False, "message": "no embeddings"}


def test_a_field_that_holds_its_default_is_no_key() -> None:
    check = answers.Check(ready=True)
    assert (check.message, list(check), len(check), check.get("message", "none")) == (None, ["ready"], 1, "none")
    with pytest.raises(KeyError):
        check["message"]


def test_a_key_of_a_later_version_is_ignored() -> None:
    assert read_answer(answers.Check, {"ready": True, "since": 7}) == {"ready": True}


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        ([], "the answer is no object"),
        ({"status": "ready"}, "the answer has no 'checks'"),
        ({"status": "ready", "checks": []}, "the answer.checks is no object"),
        ({"status": 1, "checks": {}}, "the answer.status is no str"),
        ({"status": "ready", "checks": {"store": {"ready": 1}}}, "the answer.checks.store.ready is no bool"),
        ({"status": "ready", "checks": {"store": {"ready": True, "n_terms": True}}}, "n_terms is no int"),
        ({"status": "ready", "checks": {"store": {"ready": True, "languages": "en"}}}, "languages is no list"),
        ({"status": "ready", "checks": {"store": {"ready": True, "languages": [None]}}}, r"languages\[0\] is no str"),
    ],
)
def test_what_does_not_fit_is_named_with_its_place(sent: Any, told: str) -> None:
    with pytest.raises(NotThisAnswer, match=told):
        read_answer(answers.Readiness, sent)
