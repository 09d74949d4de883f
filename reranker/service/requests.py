"""Reads request bodies into checked objects; what does not fit is named with what was expected."""

from __future__ import annotations

import json
import math
from typing import Annotated, Any, NoReturn, TypeVar

from flask import request
from pydantic import AfterValidator, AliasChoices, BaseModel, ConfigDict, Field, ValidationError

from reranker.base.errors import BadInput
from reranker.base.suggestions import did_you_mean
from reranker.service.errors import BadBody

# A page of text is some 3,000 characters; the tokenizer reads 500 words of a query anyway.
MAX_QUERY_CHARS = 100_000
_MAX_SHOWN = 40

QueryText = Annotated[str, Field(max_length=MAX_QUERY_CHARS)]
# Of a language, method or index. A longer one is compared with all that are known, to name the nearest, for seconds.
Name = Annotated[str, Field(max_length=200)]
Body = TypeVar("Body", bound=BaseModel)


def _check_text(filters: dict[str, Any]) -> dict[str, Any]:
    """pydantic refuses half a surrogate pair in a `str`, but does not look into values of any type."""
    try:
        json.dumps(filters, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ValueError("a value is not Unicode text") from None
    return filters


class _Strict(BaseModel):
    """For our own routes: a misspelled key is an error, and the text "10" is not a number."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    query: QueryText
    index: Name | None = None
    language: Name | None = None
    method: Name | None = None
    epsilon: float | None = None
    tau: float | None = None
    n_iterations: int | None = None


class _Search(_Strict):
    """What says which candidates there are, and how they are ordered. `languages` are the documents'."""

    languages: list[Name] | None = None
    filters: Annotated[dict[str, Any], AfterValidator(_check_text)] | None = None
    first_stage: Name | None = None
    knn_weight: float | None = None
    depth: int | None = None
    feedback: bool | None = None
    first_stage_share: float | None = None


class SearchBody(_Search):
    """`POST /v1/search`; what is left out is taken from the settings."""

    offset: int = Field(0, alias="from")
    size: int = 10


class ExplainBody(_Search):
    """`POST /v1/explain`: a search, and the `id` of the document to explain."""

    doc_id: str = Field(alias="id")


class MatchesBody(BaseModel):
    """`POST /v1/matches`; languages that are left out are guessed."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    query: QueryText
    texts: list[str]
    language: Name | None = None
    languages: list[Name] | None = None


class RerankOptions(BaseModel):
    """For the routes whose shape others have defined: their clients send keys of each other, which are passed over.

    `index` names an index of ours: the words are weighed as in a search of it, and its stored bags are read.
    """

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)

    query: QueryText
    index: Name | None = None
    language: Name | None = None
    document_languages: Name | list[Name] | None = Field(
        None, validation_alias=AliasChoices("document_languages", "languages")
    )
    method: Name | None = None
    epsilon: float | None = None
    tau: float | None = None
    n_iterations: int | None = None


class RerankBody(RerankOptions):
    """Cohere's and Jina's rerank request."""

    documents: list[Any]
    model: str | None = None
    top_n: int | None = Field(None, ge=1)
    rank_fields: list[str] | None = None
    return_documents: bool | None = None


class TextsBody(RerankOptions):
    """The rerank request of text-embeddings-inference."""

    texts: list[Any]
    return_text: bool | None = None


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
