"""Reads request bodies into checked objects. Errors name the wrong key and what was expected."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import chain
from typing import Annotated, Any, TypeVar, get_args

from flask import request
from pydantic import AliasChoices, BaseModel, ConfigDict, FailFast, Field, ValidationError

from reranker.base.errors import BadInput
from reranker.base.strict_json import read_strictly
from reranker.base.suggestions import did_you_mean
from reranker.service.errors import BadBody
from reranker.service.request_fields import (
    DEFAULT_SIZE,
    MAX_ENTRIES,
    MAX_RANK_FIELDS,
    ConditionsOnMetadata,
    Depth,
    Epsilon,
    FirstStage,
    Iterations,
    KnnWeight,
    Method,
    MethodOrNone,
    Name,
    Names,
    Offset,
    QueryText,
    Share,
    Size,
    Tau,
    Texts,
    setting,
)

_MAX_ECHOED_CHARS = 40
_MAX_ID_CHARS = 512  # the engines' limit, in bytes
_MAX_LEVELS = 200  # pydantic's own, of JSON; Python writes some 900, and no engine reads more than 1,000
_TOO_DEEP = f"the body has objects or lists in more than {_MAX_LEVELS} levels; send a flatter one"

Body = TypeVar("Body", bound=BaseModel)


class _Body(BaseModel):
    """A body of our own routes: a misspelled key is an error, and the text "10" is not a number.

    The text below a key is its description in OpenAPI.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, use_attribute_docstrings=True)


class _Ranked(_Body):
    """The keys of all requests that order documents."""

    query: QueryText
    """The text to search for."""
    index: Name | None = None
    language: Name | None = None
    """Language of the query; default: detected."""


class _Search(_Ranked):
    """The keys that choose and order the candidates."""

    index: Name | None = setting("index")
    method: Method | None = setting("method")
    epsilon: Epsilon | None = setting("epsilon")
    tau: Tau | None = setting("tau")
    n_iterations: Iterations | None = None
    """Maximum number of Sinkhorn iterations; default: 50."""
    languages: Names | None = None
    """Languages of the documents; default: all."""
    filters: ConditionsOnMetadata | None = None
    """Conditions on metadata, which must all be met: a value, a list of values, or `gt`, `gte`, `lt`, `lte`."""
    first_stage: FirstStage | None = setting("first_stage")
    knn_weight: KnnWeight | None = setting("knn_weight")
    depth: Depth | None = setting("depth")
    feedback: bool | None = setting("feedback")
    first_stage_share: Share | None = setting("first_stage_share")


class SearchBody(_Search):
    """The body of `POST /v1/search`. Defaults are the settings."""

    method: MethodOrNone | None = setting("method")
    offset: Offset = Field(0, alias="from")
    """Number of hits to skip."""
    size: Size = DEFAULT_SIZE
    """Number of hits to return."""
    min_relevance: Share | None = None
    """Leaves out hits with less relevance, and all behind the re-ranked window; 0 leaves out none. The hits have their
    relevance; default: they have not."""


class ExplainBody(_Search):
    """The body of `POST /v1/explain`: a search, and the `id` of the document to explain."""

    query: QueryText = ""
    """The text to search for; required without `search`."""
    doc_id: str = Field(alias="id", max_length=_MAX_ID_CHARS)
    """Id of the document to explain."""
    search: dict[str, Any] | None = None
    """The body of a search of the engine, as it is sent to the proxy, in place of `query` and its options."""


class MatchesBody(_Body):
    """The body of `POST /v1/matches`. Languages are detected by default."""

    query: QueryText
    """The text whose words are searched."""
    texts: Texts
    """The texts to search them in."""
    language: Name | None = None
    """Language of the query."""
    languages: Names | None = None
    """Languages of the texts, one each."""


class Click(_Body):
    """A click on a hit of an interleaved search."""

    search_id: Name
    """Of the search, as its answer names it."""
    doc_id: str = Field(alias="id", max_length=_MAX_ID_CHARS)
    """`_id` of the hit."""


class ClicksBody(_Body):
    """The body of `POST /v1/clicks`."""

    clicks: Annotated[list[Click], FailFast()] = Field(min_length=1, max_length=1_000)
    """In any order; a second click on the same hit of a search counts no more."""


class RerankOptions(_Ranked):
    """The keys of the rerank routes that others have defined. Their clients also send other keys, which are ignored."""

    model_config = ConfigDict(extra="ignore")

    index: Name | None = None
    """An index that Sinkrank made: words are weighted as in a search of it, and its stored bags of words are read."""
    document_languages: Name | Names | None = Field(
        None, validation_alias=AliasChoices("document_languages", "languages")
    )
    """Language of all documents, or one for each; default: detected."""
    method: Method | None = setting("method")
    epsilon: Epsilon | None = setting("epsilon")
    tau: Tau | None = setting("tau")
    n_iterations: Iterations | None = None
    """Maximum number of Sinkhorn iterations; default: 50."""
    min_relevance: Share | None = None
    """Leaves out texts with less relevance; 0 leaves out none. The others have their relevance; default: they have
    not."""


class RerankBody(RerankOptions):
    """The rerank request of Cohere and Jina."""

    documents: list[Any]
    """Texts, or objects with the key `text` or the keys of `rank_fields`."""
    model: str | None = None
    """Returned in the answer."""
    top_n: int | None = Field(None, ge=1)
    """Number of best results to return; default: all."""
    rank_fields: list[str] | None = Field(None, max_length=MAX_RANK_FIELDS)
    """Keys of the documents to rank by, each once: the texts and numbers in their values, joined by newlines."""
    return_documents: bool | None = None
    """Whether to return the document of each result."""


class TextsBody(RerankOptions):
    """The rerank request of text-embeddings-inference."""

    texts: list[Any]
    """The texts to rank."""
    return_text: bool | None = None
    """Whether to return the text of each result."""


def read_object() -> dict[str, Any]:
    """Reads the request's JSON object, with any content type.

    Raises:
        BadInput: the body is not JSON, is not an object, or is nested so deeply that it cannot be read.
        RequestEntityTooLarge: the body is larger than the limit.
    """
    data = request.get_data(cache=False)
    try:
        body = read_strictly(data)
    except RecursionError:
        raise BadBody(_TOO_DEEP) from None
    except ValueError as error:
        if request.content_encoding not in (None, "identity"):
            raise BadInput("the body is compressed; send it without Content-Encoding", code="not_json") from error
        # The message has only the place of the error, because bodies are not echoed.
        place = f" (line {error.lineno}, column {error.colno})" if isinstance(error, json.JSONDecodeError) else ""
        raise BadInput(
            f'the body is not JSON{place}; send an object such as {{"query": "text"}}', code="not_json"
        ) from error
    if not isinstance(body, dict):
        raise BadBody(f'the body is {_described(body)}, not a JSON object; send one such as {{"query": "text"}}')
    return body


def _check_size(body: dict[str, Any]) -> None:
    """
    Raises:
        BadBody: objects and lists lie in each other in too many levels, or an object has too many keys.
    """
    level: list[Any] = [body]
    for _ in range(_MAX_LEVELS):
        if any(isinstance(one, dict) and len(one) > MAX_ENTRIES for one in level):
            raise BadBody(f"the body has an object of more than {MAX_ENTRIES:,} keys; send fewer")
        children = chain.from_iterable(one.values() if isinstance(one, dict) else one for one in level)
        level = [child for child in children if isinstance(child, dict | list)]
        if not level:
            return
    raise BadBody(_TOO_DEEP)


def parse(model: type[Body], body: dict[str, Any]) -> Body:
    """The body as a checked object.

    Raises:
        BadBody: the body is nested too deeply, an object of it has too many keys, or a key is wrong; the message names
            the first one, and for an unknown key the nearest known one.
    """
    _check_size(body)
    try:
        return model.model_validate(body)
    except ValidationError as error:
        raise BadBody(_message(model, _first_error(error))) from None


def _first_error(error: ValidationError) -> Any:
    """The first error. A key that takes a text or a list has one for either: the deeper one says what is wrong with the
    list. Their places have the names of these types, too, which are left out."""
    found = error.errors(include_url=False, include_context=False)
    if "constrained-str" not in str(found[0]["loc"][1:2]):
        return found[0]
    key = found[0]["loc"][:1]
    first = max((one for one in found if one["loc"][:1] == key), key=lambda one: len(one["loc"]))
    rest = tuple(part for part in first["loc"][1:] if "constrained-str" not in str(part))
    return {**first, "loc": key + rest}


def _message(model: type[BaseModel], error: Any) -> str:
    path = ".".join(map(str, error["loc"]))
    if error["type"] == "string_unicode":
        # A wrong key has the place of its object.
        where = repr(path) if path else "the body"
        return f"{where} holds half of a surrogate pair; send Unicode text as keys and values"
    if error["type"] == "extra_forbidden":
        *parents, key = error["loc"]
        parent = ".".join(map(str, parents))
        known = _keys_at(model, parents)
        hint = did_you_mean(str(key), known)
        nearest = f"; {hint}" if hint else "."
        of = repr(parent) if parent else "this request"
        return f"{path[:_MAX_ECHOED_CHARS]!r} is not a key of {of}{nearest} The keys are {', '.join(known)}"
    if error["type"] == "missing":
        return f"the key {path!r} is missing; this request needs it"
    message = (
        "input should be an object" if error["type"] == "model_type" else error["msg"][0].lower() + error["msg"][1:]
    )
    return f"{path!r}: {message}; got {_described(error['input'])}"


def _keys_at(model: type[BaseModel], path: Iterable[str | int]) -> list[str]:
    """The keys of an object inside a body: of a model that a field has, alone or in a list."""
    for name in (part for part in path if isinstance(part, str)):
        annotation = model.model_fields[name].annotation
        model = next(one for one in (annotation, *get_args(annotation)) if hasattr(one, "model_fields"))
    return [field.alias or name for name, field in model.model_fields.items()]


def _described(value: Any) -> str:
    if isinstance(value, str | int | float | bool) and len(repr(value)) <= _MAX_ECHOED_CHARS:
        return json.dumps(value, ensure_ascii=False)
    names = {str: "a long text", list: "a list", dict: "an object", type(None): "null"}
    return names.get(type(value), "a long number")
