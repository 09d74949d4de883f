"""Each answer is declared once: what the routes write and what the service describes are the same fields."""

from __future__ import annotations

from dataclasses import MISSING, fields

import pytest

from reranker import answers
from reranker.answers import Answer
from reranker.answers.answer import defaults
from reranker.api.openapi import description

SCHEMAS = description()["components"]["schemas"]
DECLARED = [kind for kind in vars(answers).values() if isinstance(kind, type) and issubclass(kind, Answer)]
ANSWERS = [kind for kind in DECLARED if kind is not Answer]


@pytest.mark.parametrize("kind", ANSWERS, ids=lambda kind: kind.__name__)
def test_an_answer_is_described_with_all_its_fields(kind: type[Answer]) -> None:
    schema = SCHEMAS[kind.__name__]
    names = [field.name for field in fields(kind)]
    assert list(schema["properties"]) == names
    assert set(schema.get("required", ())) == {name for name in names if defaults(kind)[name] is MISSING}


def test_a_field_that_holds_its_default_is_no_key() -> None:
    check = answers.Check(ready=True)
    assert (check.message, list(check), len(check), check.get("message", "none")) == (None, ["ready"], 1, "none")
    with pytest.raises(KeyError):
        check["message"]


def test_an_answer_is_read_by_attribute_and_by_key() -> None:
    check = answers.Check(ready=False, message="no embeddings")
    assert (check.message, check["message"]) == ("no embeddings", "no embeddings")
    assert check == {"ready": False, "message": "no embeddings"}
