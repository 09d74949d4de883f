"""`/-/live`, `/-/ready`, `/-/metrics` and `/-/openapi.json`: what orchestrators, monitoring and programmers ask."""

from __future__ import annotations

from flask import Blueprint, Response, request

from reranker.answers.operations import Alive
from reranker.api.openapi import description
from reranker.api.readiness import readiness
from reranker.service.errors import json_response
from reranker.service.service import current_service

blueprint = Blueprint("operations", __name__)


@blueprint.get("/-/live")
def live() -> Response:
    """Answers as long as the process does."""
    return json_response(Alive("alive"))


@blueprint.get("/-/ready")
def ready() -> Response:
    """200 where every part is ready, or searches pass through for want of embeddings; else 503 and what is not."""
    found = readiness(current_service())
    return json_response(found, 503 if found.status == "not ready" else 200)


@blueprint.get("/-/metrics")
def metrics() -> Response:
    """The numbers, in the format that the scraper asks for."""
    body, content_type = current_service().metrics.exposition(request.headers.get("Accept", ""))
    return Response(body, content_type=content_type)


@blueprint.get("/-/openapi.json")
def openapi() -> Response:
    """The description of our own routes, OpenAPI 3.1."""
    return json_response(description())
