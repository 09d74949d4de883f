"""Finds out whether the service can do its work: a node of the engine responds, there are embeddings, and no
file is damaged.

Without embeddings a proxy is `degraded`: it passes every search on, so balancers leave it on.
"""

from __future__ import annotations

from reranker.answers.operations import Check, Readiness
from reranker.base.errors import SinkrankError
from reranker.embeddings import Embeddings
from reranker.service.service import Service
from reranker.upstream.addresses import is_engine


def readiness(service: Service) -> Readiness:
    """The state of each part; `status` is `ready` where all of them are, `degraded` where only the embeddings are not
    there yet and searches pass through to an engine, else `not ready`.

    A service that was told to stop is not ready: balancers take it off while it answers what still comes.
    """
    checks = {
        "store": service.store_probe.result(lambda: _store(service)),
        "embeddings": _embeddings(service),
        "running": Check(ready=not service.draining.is_set()),
        "files": _files(service),
    }
    wanting = [name for name, check in checks.items() if not check.ready]
    passes = wanting == ["embeddings"] and service.opened is None and is_engine(service.settings.store_address)
    return Readiness("degraded" if passes else "not ready" if wanting else "ready", checks)


def _store(service: Service) -> Check:
    if service.store is None:
        return Check(ready=True, message="the service has no store: it re-ranks texts, and searches nothing")
    try:
        problems = service.store.problems()
    except SinkrankError as error:
        return Check(ready=False, message=str(error))
    return Check(ready=True, message="; ".join(problems) or None)


def _files(service: Service) -> Check:
    """Whether no damage was found yet by the check in the background."""
    problems = service.integrity.problems
    return Check(ready=not problems, message="; ".join(problems.values()) or None)


def _embeddings(service: Service) -> Check:
    opened = service.opened
    if opened is None:
        return Check(ready=False, message=service.no_embeddings())
    embeddings = opened.embeddings
    return Check(
        ready=True,
        version=embeddings.version,
        n_terms=embeddings.n_terms,
        languages=list(embeddings.languages),
        message=_encoder_problem(embeddings),
    )


def _encoder_problem(embeddings: Embeddings) -> str | None:
    """Why queries are not encoded; the service is ready without it."""
    problems = [encoder.problem for encoder in embeddings.query_encoders if encoder.problem]
    return f"queries are not encoded: {'; '.join(problems)}" if problems else None
