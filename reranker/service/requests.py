"""Reads request bodies into checked objects; what does not fit is named with what was expected."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn, TypeVar

from flask import request
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError

from reranker.base.errors import BadInput
from reranker.base.suggestions import did_you_mean
from reranker.service.errors import BadBody
from reranker.service.request_fields import (
    DEFAULT_SIZE,
    ConditionsOnMetadata,
    Depth,
    Epsilon,
    FirstStage,
    Iterations,
    KnnWeight,
    Method,
    MethodOrNone,
    Name,
    Offset,
    QueryText,
    Share,
    Size,
    Tau,
    Texts,
    setting,
)

_MAX_SHOWN = 40

Body = TypeVar("Body", bound=BaseModel)


class _Ranked(BaseModel):
    """What every request that orders documents may say. The text below a key is its description in OpenAPI."""

    model_config = ConfigDict(strict=True, frozen=True, use_attribute_docstrings=True)

    query: QueryText
    """The text to search for."""
    index: Name | None = None
    language: Name | None = None
    """Of the query; guessed where it is left out."""


class _Search(_Ranked):
    """What says which candidates there are, and how they are ordered. For our own routes: a misspelled key is an error,
    and the text "10" is not a number."""

    model_config = ConfigDict(extra="forbid")

    index: Name | None = setting("index")
    method: Method | None = setting("method")
    epsilon: Epsilon | None = setting("epsilon")
    tau: Tau | None = setting("tau")
    n_iterations: Iterations | None = setting("n_iterations")
    languages: list[Name] | None = None
    """Of the documents, any of them; all where it is left out."""
    filters: ConditionsOnMetadata | None = None
    """Conditions on metadata, all of which a document meets: a value, a list of values, or `gt`, `gte`, `lt`, `lte`."""
    first_stage: FirstStage | None = setting("first_stage")
    knn_weight: KnnWeight | None = setting("knn_weight")
    depth: Depth | None = setting("depth")
    feedback: bool | None = setting("feedback")
    first_stage_share: Share | None = setting("first_stage_share")


class SearchBody(_Search):
    """`POST /v1/search`; what is left out is taken from the settings."""

    method: MethodOrNone | None = setting("method")
    offset: Offset = Field(0, alias="from")
    """Hits to leave out at the top."""
    size: Size = DEFAULT_SIZE
    """Hits to return."""


class ExplainBody(_Search):
    """`POST /v1/explain`: a search, and the `id` of the document to explain."""

    doc_id: str = Field(alias="id")
    """Of the document to explain."""


class MatchesBody(BaseModel):
    """`POST /v1/matches`; languages that are left out are guessed."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, use_attribute_docstrings=True)

    query: QueryText
    """The text whose words are looked for."""
    texts: Texts
    """Where to look for them."""
    language: Name | None = None
    """Of the query."""
    languages: list[Name] | None = None
    """Of the texts, one each."""


class RerankOptions(_Ranked):
    """For the routes whose shape others have defined: their clients send keys of each other, which are ignored."""

    model_config = ConfigDict(extra="ignore")

    index: Name | None = None
    """One of our own indices: words are weighed as in a search of it, and its stored bags are read."""
    document_languages: Name | list[Name] | None = Field(
        None, validation_alias=AliasChoices("document_languages", "languages")
    )
    """One for all documents, or one each; guessed where it is left out."""
    method: Method | None = setting("method")
    epsilon: Epsilon | None = setting("epsilon")
    tau: Tau | None = setting("tau")
    n_iterations: Iterations | None = setting("n_iterations")


class RerankBody(RerankOptions):
    """Cohere's and Jina's rerank request."""

    documents: list[Any]
    """Texts, or objects with a key `text` or those of `rank_fields`."""
    model: str | None = None
    """Comes back in the answer."""
    top_n: int | None = Field(None, ge=1)
    """How many of the best to answer with; all where it is left out."""
    rank_fields: list[str] | None = None
    """Keys of the documents whose texts are ranked, one a line."""
    return_documents: bool | None = None
    """Whether each result holds its document."""


class TextsBody(RerankOptions):
    """The rerank request of text-embeddings-inference."""

    texts: list[Any]
    """The texts to rank."""
    return_text: bool | None = None
    """Whether each result holds its text."""


def read_object() -> dict[str, Any]:
    """The request's JSON object, whatever content type it claims.

    Raises:
        BadInput: it is not JSON, or not an object.
        RequestEntityTooLarge: it is over the limit.
    """
    data = request.get_data(cache=False)
    try:
        body = json.loads(data, parse_constant=_refuse, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        # The error is named by its place alone: a body is not echoed.
        place = f" (line {error.lineno}, column {error.colno})" if isinstance(error, json.JSONDecodeError) else ""
        raise NotJson(f'the body is not JSON{place}; send an object such as {{"query": "text"}}') from error
    if not isinstance(body, dict):
        raise BadBody(f'the body is {_described(body)}, not a JSON object; send one such as {{"query": "text"}}')
    return body


def _finite(text: str) -> float:
    """A number that can be written back: `1e999` is read as infinity otherwise, which no JSON holds."""
    value = float(text)
    return value if math.isfinite(value) else _refuse(text)


def _refuse(text: str) -> NoReturn:
    raise ValueError(f"{text} is no finite number")


class NotJson(BadInput):
    """A body that no JSON parser reads."""

    code = "not_json"


def parse(model: type[Body], body: dict[str, Any]) -> Body:
    """The body as a checked object.

    Raises:
        BadBody: naming the first key that does not fit, and for an unknown one the nearest known.
    """
    try:
        return model.model_validate(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        raise BadBody(_message(model, first)) from None


def _message(model: type[BaseModel], error: Any) -> str:
    path = ".".join(str(part) for part in error["loc"])
    known = [field.alias or name for name, field in model.model_fields.items()]
    if error["type"] == "extra_forbidden":
        hint = did_you_mean(path, known)
        nearest = f"; {hint}" if hint else "."
        return f"{path[:_MAX_SHOWN]!r} is not a key of this request{nearest} The keys are {', '.join(known)}"
    if error["type"] == "missing":
        return f"the key {path!r} is missing; this request needs it"
    return f"{path!r}: {error['msg'][0].lower()}{error['msg'][1:]}; got {_described(error['input'])}"


def _described(value: Any) -> str:
    if isinstance(value, str | int | float | bool) and len(repr(value)) <= _MAX_SHOWN:
        return json.dumps(value, ensure_ascii=False)
    names = {str: "a long text", list: "a list", dict: "an object", type(None): "null"}
    return names.get(type(value), "a long number")
