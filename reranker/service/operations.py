"""`/-/live` and `/-/ready`: whether the process runs, and whether it can do its work."""

from __future__ import annotations

from flask import Blueprint, Response

from reranker.errors import SinkrankError
from reranker.service.errors import json_response
from reranker.service.service import Service, current_service

blueprint = Blueprint("operations", __name__)


@blueprint.get("/-/live")
def live() -> Response:
    """Answers as long as the process does."""
    return json_response({"status": "alive"})


@blueprint.get("/-/ready")
def ready() -> Response:
    """200 where every part is ready, 503 and what is not where one is not."""
    service = current_service()
    embeddings = service.embeddings
    checks = {
        "store": _store(service),
        "embeddings": {
            "ready": embeddings.n_terms > 0,
            "version": embeddings.version,
            "n_terms": embeddings.n_terms,
            "languages": list(embeddings.languages),
        },
        "kernel": {"ready": service.warm.is_set()},
    }
    is_ready = all(check["ready"] for check in checks.values())
    status = "ready" if is_ready else "not ready"
    return json_response({"status": status, "checks": checks}, 200 if is_ready else 503)


def _store(service: Service) -> dict[str, object]:
    if service.store is None:
        return {"ready": True, "message": "the service has no store: it re-ranks texts, and searches nothing"}
    try:
        service.store.indices()
    except SinkrankError as error:
        return {"ready": False, "message": str(error)}
    return {"ready": True}
