"""`POST /v1/search` and `POST /v1/explain`: our own search in two stages, and why a hit stands where it does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from flask import Blueprint, Response

from reranker.api.callers import check_may_read
from reranker.base.request_context import caller_credentials, note
from reranker.search.request import SearchRequest
from reranker.service.errors import json_response
from reranker.service.requests import ExplainBody, SearchBody, parse, read_object
from reranker.service.service import Service, current_service
from reranker.stores.base.filters import Filters

blueprint = Blueprint("search", __name__)


@blueprint.post("/v1/search")
def search() -> Response:
    """Searches an index; see `requests.SearchBody` for the body, docs/http.md for the answer."""
    service = current_service()
    body = parse(SearchBody, read_object())
    wanted = replace(_search_request(service, body), offset=body.offset, size=body.size)
    note(**_facts(wanted))
    found = service.searcher.search(wanted)
    service.metrics.first_stage_seconds.observe(found.took_ms["first_stage"] / 1000)
    return json_response(found)


@blueprint.post("/v1/explain")
def explain() -> Response:
    """Takes the score of one document of a search apart: its parts, and the transport word by word."""
    service = current_service()
    body = parse(ExplainBody, read_object())
    wanted = _search_request(service, body)
    return json_response(service.searcher.explain(wanted, body.doc_id))


def _facts(wanted: SearchRequest) -> dict[str, Any]:
    """What the log says of a search, in the words of the page's address; `target` where it is one language."""
    languages, parameters = wanted.filters.languages, wanted.parameters
    facts: dict[str, Any] = {"index": wanted.index, "first_stage": wanted.first_stage, "depth": wanted.depth}
    facts["epsilon"] = parameters.epsilon
    if parameters.tau is not None:
        facts["tau"] = parameters.tau
    if wanted.first_stage_share is not None:
        facts["share"] = wanted.first_stage_share
    if len(languages) == 1:
        facts["target"] = languages[0]
    return facts


def _search_request(service: Service, body: SearchBody | ExplainBody) -> SearchRequest:
    settings = service.settings
    caller_credentials()  # refuses strangers before they learn which indices there are
    index = service.searcher.choose_index(body.index or settings.index)
    check_may_read(service, index)
    share = settings.first_stage_share if body.first_stage_share is None else body.first_stage_share
    return SearchRequest(
        text=body.query,
        index=index,
        language=body.language,
        filters=Filters.parse(body.languages, body.filters),
        first_stage=body.first_stage or settings.first_stage,
        depth=settings.depth if body.depth is None else body.depth,
        method=body.method or settings.method,
        parameters=service.parameters(body.epsilon, body.n_iterations, body.tau),
        feedback=settings.feedback if body.feedback is None else body.feedback,
        first_stage_share=share,
        knn_weight=settings.knn_weight if body.knn_weight is None else body.knn_weight,
    )
