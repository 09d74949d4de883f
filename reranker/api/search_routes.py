"""`POST /v1/search` and `POST /v1/explain`: our own search in two stages, and why a hit stands where it does, in an
index of any kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from flask import Blueprint, Response, current_app, request

from reranker.answers.explanation import ExplainAnswer
from reranker.api.callers import caller_rights, check_is_no_version
from reranker.base.errors import NotOurIndex, WrongParameter
from reranker.base.request_context import note
from reranker.proxy import PROXY_EXTENSION, Proxy
from reranker.proxy.explain import window_search
from reranker.search.request import SearchRequest
from reranker.service.errors import BadBody, json_response
from reranker.service.requests import ExplainBody, SearchBody, parse, read_object
from reranker.service.searches import search_request
from reranker.service.service import Service, current_service
from reranker.stores.base.filters import Filters
from reranker.stores.base.names import check_any_index_name
from reranker.upstream.calls import MAX_ANSWER_BYTES
from reranker.upstream.incoming import Incoming
from reranker.upstream.rights import Rights

blueprint = Blueprint("search", __name__)

# What a body may say of a search, by the same names.
_GIVEN = (
    "first_stage", "depth", "method", "feedback", "first_stage_share", "knn_weight", "offset", "size", "min_relevance",
)  # fmt: skip


@blueprint.post("/v1/search")
def search() -> Response:
    """Searches an index; see `requests.SearchBody` for the body, docs/http.md for the answer."""
    service = current_service()
    body = parse(SearchBody, read_object())
    searched = search_of(service, body, caller_rights(service))
    note(index=searched.index, first_stage=searched.first_stage, depth=searched.depth)
    found = service.searcher.search(replace(searched, max_bytes=MAX_ANSWER_BYTES))
    service.metrics.first_stage_seconds.observe(found.took_ms["first_stage"] / 1000)
    return json_response(found)


@blueprint.post("/v1/explain")
def explain() -> Response:
    """Takes the score of one document of a search apart: its parts, and the transport word by word."""
    service = current_service()
    body = parse(ExplainBody, read_object())
    if body.search is not None:
        return json_response(_explained_by_proxy(service, body, body.search))
    if "query" not in body.model_fields_set:
        raise BadBody("the key 'query' is missing; this request needs it, or 'search'")
    rights = caller_rights(service)
    try:
        return json_response(service.searcher.explain(search_of(service, body, rights), body.doc_id))
    except NotOurIndex:
        if PROXY_EXTENSION not in current_app.extensions:
            raise
        return json_response(_explained_by_proxy(service, body, _search_of_all_fields(body)))


def _explained_by_proxy(service: Service, body: ExplainBody, search: Mapping[str, Any]) -> ExplainAnswer:
    """Of a search by the engine's own words, in an index of any kind.

    Raises:
        BadBody: there are options beside the search.
        StoreUnavailable: there is no engine.
    """
    beside = sorted(body.model_fields_set - {"doc_id", "index", "search"}) if body.search is not None else []
    if beside:
        raise BadBody(f"{beside[0]!r} stands beside 'search'; put it into the search: its query, or its ext.rerank")
    proxy: Proxy | None = current_app.extensions.get(PROXY_EXTENSION)
    if proxy is None:
        raise WrongParameter("'search' is for an engine, and the store is a folder; send 'query' instead")
    caller_rights(service)  # refuses strangers before they learn which indices there are
    name = body.index or service.settings.index
    index = service.searcher.choose_index(None) if name is None else check_any_index_name(name)
    check_is_no_version(service.searcher.store, index)
    headers = Incoming.read(request.environ, "", service.settings.max_body_bytes).headers
    return proxy.explain(Incoming.of_search(index, window_search(search), headers), body.doc_id)


def _search_of_all_fields(body: ExplainBody) -> dict[str, Any]:
    """The search that stands for a text, in an index that Sinkrank did not make.

    Raises:
        BadBody: an option is for an index that Sinkrank made.
    """
    ours = sorted(body.model_fields_set & {"filters", "first_stage", "knn_weight"})
    if ours:
        raise BadBody(f"{ours[0]!r} is for an index that Sinkrank made; send the engine's own query as 'search'")
    names = ("language", "method", "epsilon", "tau", "n_iterations", "feedback", "first_stage_share", "languages")
    section = {name: value for name in names if (value := getattr(body, name)) is not None}
    if body.depth is not None:
        section["window_size"] = body.depth
    return {"query": {"multi_match": {"query": body.query}}, "ext": {"rerank": section}}


def search_of(service: Service, body: SearchBody | ExplainBody, rights: Rights) -> SearchRequest:
    """The search of a body, the settings standing in for what it leaves out.

    Args:
        rights: as of `SearchRequest`; those of the caller are asked for first, so that strangers learn nothing.
    """
    index = _chosen_index(service, body.index)
    given = {name: value for name in _GIVEN if (value := getattr(body, name, None)) is not None}
    filters = Filters.parse(body.languages, body.filters)
    parameters = service.parameters(body.epsilon, body.n_iterations, body.tau)
    request = search_request(service.settings, body.query, index, body.language, filters)
    return replace(request, parameters=parameters, rights=rights, **given)


def _chosen_index(service: Service, name: str | None) -> str:
    """The index to search: the request's, that of the settings, or the store's only one.

    Raises:
        BadInput: there are several, or it is a version.
        NotFound: there is none.
    """
    searcher = service.searcher
    index = searcher.choose_index(name or service.settings.index)
    check_is_no_version(searcher.store, index)
    return index
