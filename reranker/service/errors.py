"""Turns every error into JSON in the form of the route. Unexpected errors do not show their details.

ours      {"type": "urn:sinkrank:problem:bad_input", "title": "…", "status": 400, "detail": "…", "code": "bad_input"}
cohere    {"id": "…", "message": "…", "detail": "…"}
tei       {"error": "…", "error_type": "validation"}
engine    {"error": {"type": "…", "reason": "…", "root_cause": […]}, "status": 400}
"""

from __future__ import annotations

import logging
import uuid
from http import HTTPStatus
from typing import Any, Literal

from flask import Flask, Response, g, request
from werkzeug.exceptions import HTTPException

from reranker.answers.errors import CohereError, Problem, TextsError, TextsErrorType
from reranker.base.errors import BadInput, Busy, ClientLeft, EmptyQuery, SinkrankError, Unauthenticated
from reranker.service.json_text import json_bytes, to_json

Shape = Literal["ours", "cohere", "tei", "engine"]

_SHAPES_BY_PATH: dict[str, Shape] = {"/v1/rerank": "cohere", "/v2/rerank": "cohere", "/rerank": "tei"}
PROBLEM_TYPE = "application/problem+json"
_UNEXPECTED = "something went wrong inside the service; its log has the details"

_log = logging.getLogger(__name__)


class BadBody(BadInput):
    """The JSON of the request does not fit the route."""

    code = "bad_body"


def use_shape(shape: Shape) -> None:
    """Sets the form of this request's errors."""
    g.error_shape = shape


def json_response(body: Any, status: int = 200) -> Response:
    """A JSON answer with plain decimals (`json_text`)."""
    return Response(json_bytes(to_json(body) + "\n"), status, mimetype="application/json")


def register(app: Flask) -> None:
    """Installs the handlers."""
    app.register_error_handler(SinkrankError, _known)
    app.register_error_handler(HTTPException, _http)
    app.register_error_handler(Exception, _unexpected)


def _known(error: SinkrankError) -> Response:
    if error.http_status >= 500:
        _log.warning("%s %r: %s", request.method, request.path, error)
    answer = _render(error.http_status, error.code, str(error), isinstance(error, EmptyQuery))
    if isinstance(error, Unauthenticated):
        answer.headers["WWW-Authenticate"] = error.challenge
    if error.http_status == 429:
        answer.headers["Retry-After"] = "1"
    return answer


def _http(error: HTTPException) -> Response:
    status = error.code or 500
    if status < 400:
        return Response(status=status, headers=error.get_headers())
    messages = {
        404: f"there is no {request.path} here; the documentation lists the routes, the page is at /-/ui. Paths "
        "outside /-, /rerank, /v1 and /v2 are passed on to a search engine if the setting store is the address of one: "
        "`sinkrank serve --store opensearch://HOST:9200`",
        405: f"{request.path} does not take {request.method}; use {', '.join(_allowed(error))}",
        413: f"the body is larger than {request.max_content_length} bytes; send less at a time",
    }
    answer = _render(
        status, (error.name or "error").lower().replace(" ", "_"), messages.get(status, str(error.description))
    )
    if status == 405:
        answer.headers["Allow"] = ", ".join(_allowed(error))
    return answer


def _allowed(error: HTTPException) -> list[str]:
    return sorted(getattr(error, "valid_methods", None) or ())


def _unexpected(error: Exception) -> Response:
    _log.error("%s %r failed", request.method, request.path, exc_info=error)
    return _render(500, "internal_error", _UNEXPECTED)


def _render(status: int, code: str, message: str, is_empty: bool = False) -> Response:
    shape: Shape = g.get("error_shape") or _SHAPES_BY_PATH.get(request.path.removesuffix("/"), "ours")
    if shape == "cohere":
        return json_response(CohereError(str(uuid.uuid4()), message, message), status)
    if shape == "tei":
        # TEI answers a body of the wrong form with 422 and an empty one with 400. Its error types are a closed set.
        status = 422 if code in ("bad_body", "bad_input", "unknown_language") else status
        return json_response(TextsError(message, _texts_error_type(status, is_empty)), status)
    if shape == "engine":
        cause = {"type": code, "reason": message}
        return json_response({"error": {"root_cause": [cause], **cause}, "status": status}, status)
    problem = Problem(
        type=f"urn:sinkrank:problem:{code}",
        title="Client Closed Request" if status == ClientLeft.http_status else HTTPStatus(status).phrase,
        status=status,
        detail=message,
        code=code,
    )
    response = json_response(problem, status)
    response.content_type = PROBLEM_TYPE
    return response


def _texts_error_type(status: int, is_empty: bool) -> TextsErrorType:
    if is_empty:
        return "empty"
    if status == Busy.http_status:
        return "overloaded"
    return "validation" if status < 500 else "backend"
