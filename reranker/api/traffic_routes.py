"""`GET /v1/traffic` and `POST /v1/clicks`: what live searches say of re-ranking."""

from __future__ import annotations

from flask import Blueprint, Response

from reranker.answers.traffic import ClicksAnswer
from reranker.api.callers import caller_rights
from reranker.service.errors import json_response
from reranker.service.requests import ClicksBody, parse, read_object
from reranker.service.service import current_service
from reranker.traffic.file import TrafficFile

blueprint = Blueprint("traffic", __name__)


@blueprint.get("/v1/traffic")
def traffic() -> Response:
    """What the traffic file adds up to."""
    service = current_service()
    caller_rights(service)  # refuses strangers
    return json_response(TrafficFile(service.settings.home).report())


@blueprint.post("/v1/clicks")
def clicks() -> Response:
    """Adds clicks to the traffic file."""
    body = parse(ClicksBody, read_object())
    file = TrafficFile(current_service().settings.home)
    n_recorded = file.add_clicks((click.search_id, click.doc_id) for click in body.clicks)
    return json_response(ClicksAnswer(n_recorded, len(body.clicks) - n_recorded))
