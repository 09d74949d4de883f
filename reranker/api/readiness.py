"""Finds out whether the service can do its work: the engine answers, the embeddings are whole, the kernels compiled.

Without embeddings a proxy is `degraded`: it passes every search on, so balancers leave it on.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from reranker.base.errors import SinkrankError
from reranker.service.service import Service
from reranker.stores.base.addresses import is_engine

# Rows that are read of the embeddings each time: enough to see a file that was cut or replaced under the process.
_N_SAMPLED = 16
# The vectors are normalised, and kept in single precision or less.
_NORM_TOLERANCE = 0.01


def readiness(service: Service) -> dict[str, Any]:
    """The state of each part; `status` is `ready` where all of them are, `degraded` where only the embeddings are not
    there yet and searches pass through to an engine, else `not ready`.

    A service that was told to stop is not ready: balancers take it off while it answers what still comes.
    """
    checks: dict[str, dict[str, Any]] = {
        "store": _store(service),
        "embeddings": _embeddings(service),
        "kernel": {"ready": service.warm.is_set()},
        "running": {"ready": not service.draining.is_set()},
    }
    wanting = [name for name, check in checks.items() if not check["ready"]]
    passes = wanting == ["embeddings"] and service.opened is None and is_engine(service.settings.store_address)
    status = "degraded" if passes else "not ready" if wanting else "ready"
    return {"status": status, "checks": checks}


def _store(service: Service) -> dict[str, Any]:
    if service.store is None:
        return {"ready": True, "message": "the service has no store: it re-ranks texts, and searches nothing"}
    try:
        service.store.indices()
    except SinkrankError as error:
        return {"ready": False, "message": str(error)}
    return {"ready": True}


def _embeddings(service: Service) -> dict[str, Any]:
    opened = service.opened
    if opened is None:
        return {"ready": False, "message": service.no_embeddings()}
    embeddings = opened.embeddings
    found: dict[str, Any] = {
        "ready": True,
        "version": embeddings.version,
        "n_terms": embeddings.n_terms,
        "languages": list(embeddings.languages),
    }
    if not embeddings.n_terms:
        return {**found, "ready": False, "message": "there is no term in the embeddings"}
    rows = np.unique(np.linspace(0, embeddings.n_terms - 1, _N_SAMPLED).astype(np.int64))
    norms = np.linalg.norm(np.asarray(embeddings.vectors[rows], dtype=np.float64), axis=1)
    if not np.all(np.abs(norms - 1.0) < _NORM_TOLERANCE):  # also false for NaN
        return {
            **found,
            "ready": False,
            "message": "the embeddings hold vectors that are not of length 1: the file was changed or damaged; "
            "import or train them again, and start the service anew",
        }
    return found
