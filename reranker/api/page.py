"""`/-/ui`: a page to search with, served whole from here; it loads nothing from elsewhere and runs no inline script.

The service lists its own indices. The engine's others are listed and searched by the browser, through the proxy, with
the rights of whoever looks at the page: the service lends nobody its own.
"""

from __future__ import annotations

import logging

from flask import Blueprint, Response, render_template, request, send_from_directory

from reranker.answers.page import ExamplesAnswer
from reranker.answers.traffic import TrafficAnswer
from reranker.api.callers import caller_rights
from reranker.base.errors import SinkrankError
from reranker.search.request import FIRST_STAGES
from reranker.service.errors import json_response
from reranker.service.examples import examples_of
from reranker.service.rights import has_credentials, refuses_strangers
from reranker.service.service import Service, current_service
from reranker.traffic.file import TrafficFile
from reranker.transport import METHODS
from reranker.upstream.addresses import EngineAddress, read_address

_CONTENT_SECURITY_POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "img-src 'self' data:",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    ]
)

# Candidates to choose from; that of the settings stands among them.
_DEPTHS = (20, 50, 100, 200, 500)

blueprint = Blueprint("page", __name__, template_folder="templates")
_log = logging.getLogger(__name__)


@blueprint.get("/-/ui")
def page() -> Response:
    """The page, with the languages, methods and indices to choose from."""
    service = current_service()
    indices, problem = _indices(service)
    html = render_template(
        "page.html",
        languages=service.opened.embeddings.languages if service.opened is not None else (),
        methods=METHODS,
        method=service.settings.method,
        first_stages=FIRST_STAGES,
        first_stage=service.settings.first_stage,
        depths=sorted({*_DEPTHS, service.settings.depth}),
        depth=service.settings.depth,
        epsilon=service.settings.epsilon,
        tau=service.settings.tau,
        first_stage_share=service.settings.first_stage_share,
        engine=_engine(service),
        store=service.store.address if service.store is not None else "",
        indices=indices,
        index=service.settings.index,
        problem=problem,
        traffic=_traffic(service),
    )
    response = Response(html, mimetype="text/html")
    response.headers["Content-Security-Policy"] = _CONTENT_SECURITY_POLICY
    response.headers["Referrer-Policy"] = "no-referrer"
    response.headers["Cache-Control"] = "no-store"
    return response


@blueprint.get("/-/ui/examples")
def examples() -> Response:
    """Queries to try on an index that Sinkrank made."""
    service, index = current_service(), request.args.get("index", "")
    if service.store is None or index not in service.store.indices():
        return json_response(ExamplesAnswer([]))
    has_titles = not refuses_strangers(service.settings)
    return json_response(ExamplesAnswer(examples_of(service.store, index, service.settings.home, has_titles)))


@blueprint.get("/-/static/<path:name>")
def static_file(name: str) -> Response:
    """Style and script of the page."""
    return send_from_directory(f"{blueprint.root_path}/static", name, max_age=300)


def _indices(service: Service) -> tuple[list[str], str]:
    """The names to choose from, and what to tell the reader where there is none."""
    if service.opened is None:
        message = service.no_embeddings()
        return [], f"This service cannot re-rank yet: {message}. Load this page again when that is done."
    if service.store is None:
        return [], "This service has no store to search. Start it with: sinkrank serve --store ADDRESS"
    try:
        indices = service.store.indices()
    except SinkrankError as error:
        _log.warning("the page cannot list the indices: %s", error)
        return [], f"The store does not answer. {error}"
    if not indices and not _engine(service):
        return [], "There is no index yet. Make one with: sinkrank ingest FILE --index NAME"
    return indices, ""


def _traffic(service: Service) -> TrafficAnswer | None:
    """What live searches say of re-ranking, without their texts; None where nothing was recorded, and for those whom
    `/v1/traffic` refuses."""
    try:
        caller_rights(service)
        return TrafficFile(service.settings.home).report()
    except SinkrankError:
        return None


def _engine(service: Service) -> str:
    """Whether the browser can ask the engine for its other indices: `open`, or `secured` where the engine is likely to
    ask for a password first; empty where the store is a folder, or there are no embeddings."""
    settings = service.settings
    if (
        service.store is None
        or service.opened is None
        or not isinstance(read_address(settings.store_address), EngineAddress)
    ):
        return ""
    return "secured" if has_credentials(settings) else "open"
