"""Each answer is declared once: what the service describes and what the client reads are the same fields."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from reranker import answers
from reranker.answers import Answer, NotThisAnswer, read_answer
from reranker.answers.answer import is_required
from reranker.api.openapi import ROUTES, description
from reranker.client import answers as of_client

SCHEMAS = description()["components"]["schemas"]
DECLARED = [kind for kind in vars(answers).values() if isinstance(kind, type) and issubclass(kind, Answer)]
ANSWERS = [kind for kind in DECLARED if kind is not Answer]


@pytest.mark.parametrize("kind", ANSWERS, ids=lambda kind: kind.__name__)
def test_an_answer_is_described_with_all_its_fields(kind: type[Answer]) -> None:
    schema = SCHEMAS[kind.__name__]
    names = [field.name for field in fields(kind)]
    assert list(schema["properties"]) == names
    assert set(schema.get("required", ())) == {name for name in names if is_required(kind, name)}


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
    (kind,) = [route.answer for route in ROUTES if route.path == path]
    assert kind is not None
    sent = client.post(path, json=body).get_json()
    read = read_answer(kind, sent)
    # Key by key and in their order.
    assert json.dumps(read, default=dict) == json.dumps(sent)


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
