"""Describes our own routes in OpenAPI 3.1, from the models that read requests and the declarations of answers.

The engine's API, which every other path is passed on to, is described by the engine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from typing import Any

from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import JsonSchemaMode

from reranker.answers.answer import Answer
from reranker.answers.errors import CohereError, Problem, TextsError
from reranker.answers.explanation import ExplainAnswer
from reranker.answers.matches import MatchesAnswer
from reranker.answers.operations import Alive, Readiness
from reranker.answers.page import ExamplesAnswer
from reranker.answers.rerank import RankedText, RerankAnswer
from reranker.answers.search import SearchAnswer
from reranker.answers.traffic import ClicksAnswer, TrafficAnswer
from reranker.service.errors import PROBLEM_TYPE
from reranker.service.requests import (
    ClicksBody,
    ExplainBody,
    MatchesBody,
    RerankBody,
    SearchBody,
    TextsBody,
)

# 3.1.0 rather than .1: the tools that read descriptions know it best.
_VERSION = "3.1.0"
_REFERENCE = "#/components/schemas/{model}"
_JSON = "application/json"
_STATUSES = {
    400: "The request is wrong; the message says what was expected.",
    401: "Credentials of the engine, or an API key of the service, are missing or wrong.",
    403: "The engine does not let these credentials read the index, or a page of another site sent the request.",
    404: "There is no such index or document.",
    409: "The index was made with other versions, or not by Sinkrank.",
    413: "The body or its list of documents is too large.",
    421: "The service does not answer to this host.",
    422: "No word of the query has an embedding, or the body is wrong.",
    429: "Too many requests are in progress; Retry-After says when to try again.",
    500: "A fault of the service; its log has the details.",
    501: "A package is missing that the method needs.",
    502: "The store's address is not that of a search engine.",
    503: "The store does not answer, or there is none; or the file of API keys cannot be read.",
}


@dataclass(frozen=True, slots=True)
class _Route:
    """One of our routes.

    Attributes:
        request: the bodies that it takes, any of them; none for a GET.
        answer: as JSON; None where it is something else, of `content_type`.
        error: the shape of its errors.
        parameters: the names of the texts that it takes in the URL.
    """

    method: str
    path: str
    summary: str
    tag: str
    request: tuple[type[BaseModel], ...] = ()
    answer: type[Answer] | None = None
    answers_list: bool = False
    content_type: str = _JSON
    errors: tuple[type[Answer], ...] = ()
    statuses: tuple[int, ...] = ()
    parameters: tuple[str, ...] = ()


# What any route may answer, since it is refused before the route; then what those that need an API key answer without.
_OF_ALL = (421, 429)
_OF_A_KEY = (401, 503)
_OF_AN_INDEX = (400, 401, 403, 404, 409, 413, 422, 500, 501, 502, 503)
ROUTES = (
    _Route("post", "/v1/search", "Search an index in two stages", "search", (SearchBody,), SearchAnswer,
           errors=(Problem,), statuses=_OF_AN_INDEX),
    _Route("post", "/v1/explain", "Explain a document's score word by word", "search", (ExplainBody,), ExplainAnswer,
           errors=(Problem,), statuses=_OF_AN_INDEX),
    _Route("post", "/v1/matches", "Find a query's words, and words near to them, in texts", "search", (MatchesBody,),
           MatchesAnswer, errors=(Problem,), statuses=(400, 401, 403, 413, 503)),
    _Route("post", "/v1/clicks", "Record clicks on hits of interleaved searches", "search", (ClicksBody,), ClicksAnswer,
           errors=(Problem,), statuses=(400, 401, 403, 404, 413, 503)),
    _Route("get", "/v1/traffic", "What re-ranking would change in live searches", "search", answer=TrafficAnswer,
           errors=(Problem,), statuses=(401, 404, 503)),
    _Route("post", "/v1/rerank", "Re-rank texts, as Cohere's v1 and Jina's API", "rerank", (RerankBody,), RerankAnswer,
           errors=(CohereError,), statuses=_OF_AN_INDEX),
    _Route("post", "/v2/rerank", "Re-rank texts, as Cohere's v2 API", "rerank", (RerankBody,), RerankAnswer,
           errors=(CohereError,), statuses=_OF_AN_INDEX),
    _Route("post", "/rerank", "Re-rank texts, as text-embeddings-inference; with `documents` as Cohere's v1", "rerank",
           (TextsBody, RerankBody), RankedText, answers_list=True, errors=(TextsError, CohereError),
           statuses=_OF_AN_INDEX),
    _Route("get", "/-/live", "The process answers", "operations", answer=Alive),
    _Route("get", "/-/ready", "Whether the service takes requests", "operations", answer=Readiness, errors=(Readiness,),
           statuses=(503,)),
    _Route("get", "/-/metrics", "Numbers for Prometheus", "operations", content_type="text/plain", statuses=_OF_A_KEY),
    _Route("get", "/-/openapi.json", "This description", "operations", statuses=_OF_A_KEY),
    _Route("get", "/-/ui", "The search page", "page", content_type="text/html", statuses=_OF_A_KEY),
    _Route("get", "/-/ui/examples", "Queries to try on the index of the parameter `index`", "page",
           answer=ExamplesAnswer, errors=(Problem,), statuses=_OF_A_KEY, parameters=("index",)),
)  # fmt: skip


@cache
def description() -> Mapping[str, Any]:
    """The whole description; the same for every service of this version."""
    paths: dict[str, dict[str, Any]] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method] = _operation(route)
    return {
        "openapi": _VERSION,
        "info": {
            "title": "Sinkrank",
            "version": version("sinkrank"),
            "description": "Re-ranks search hits by optimal transport between words, across languages.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {"schemas": _schemas()},
    }


def _operation(route: _Route) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": f"{route.method}{route.path}".replace("/-/", "_").replace("/", "_").replace(".", "_"),
        "summary": route.summary,
        "tags": [route.tag],
        "responses": {"200": _response("Done.", _answer_schema(route), route.content_type)},
    }
    refusals = tuple(model for model in route.errors if model is not Readiness) or (Problem,)
    for status in sorted({*route.statuses, *_OF_ALL}):
        is_unready = status in route.statuses and Readiness in route.errors
        errors = route.errors if is_unready else refusals
        content_type = PROBLEM_TYPE if Problem in errors else _JSON
        text = "Not ready." if is_unready else _STATUSES[status]
        operation["responses"][str(status)] = _response(text, _one_of(errors), content_type)
    if route.parameters:
        texts = [{"name": name, "in": "query", "schema": {"type": "string"}} for name in route.parameters]
        operation["parameters"] = texts
    if route.request:
        content = {_JSON: {"schema": _one_of(route.request)}}
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _answer_schema(route: _Route) -> dict[str, Any]:
    if route.answer is None:
        return {"type": "object"} if route.content_type == _JSON else {"type": "string"}
    if route.answers_list:
        # A body with `documents` is answered as the same body is on /v1/rerank.
        return {"oneOf": [{"type": "array", "items": _reference(route.answer)}, _reference(RerankAnswer)]}
    return _reference(route.answer)


def _one_of(models: Sequence[type[BaseModel | Answer]]) -> dict[str, Any]:
    return _reference(models[0]) if len(models) == 1 else {"anyOf": [_reference(model) for model in models]}


def _reference(model: type[BaseModel | Answer]) -> dict[str, Any]:
    return {"$ref": _REFERENCE.format(model=model.__name__)}


def _response(text: str, schema: Mapping[str, Any], content_type: str) -> dict[str, Any]:
    return {"description": text, "content": {content_type: {"schema": schema}}}


def _schemas() -> dict[str, Any]:
    requests = dict.fromkeys(model for route in ROUTES for model in route.request)
    answers = dict.fromkeys(
        model for route in ROUTES for model in (*((route.answer,) if route.answer else ()), *route.errors)
    )
    inputs: list[tuple[type, JsonSchemaMode, TypeAdapter[Any]]] = [
        *((model, "validation", TypeAdapter(model)) for model in requests),
        *((model, "serialization", TypeAdapter(model)) for model in answers),
    ]
    _, schemas = TypeAdapter.json_schemas(inputs, ref_template=_REFERENCE)
    definitions: dict[str, Any] = schemas["$defs"]
    return definitions
