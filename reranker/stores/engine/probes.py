"""Asks all nodes of an engine at the same time whether they respond."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor, wait

from opensearchpy import exceptions

from reranker.base.errors import SinkrankError, StoreUnavailable
from reranker.stores.engine.client import engine_errors
from reranker.stores.engine.connection import UpstreamConnection
from reranker.stores.engine.notes import NOTES_INDEX
from reranker.upstream.nodes import Upstream

# A node answers it alone, even while the cluster elects a manager or if the index is missing, and still checks the
# credentials.
_PATH = f"/{NOTES_INDEX}/_mapping"
_PARAMETERS = {"local": "true", "ignore_unavailable": "true", "filter_path": "*.mappings._meta"}
# How long a node may take to answer, and how long it is waited for after another has responded. Orchestrators wait a
# second for the whole answer.
_TIMEOUT_S = 5.0
_PATIENCE_S = 0.5


def node_problems(upstream: Upstream) -> list[str]:
    """Says for each node that does not respond why.

    Raises:
        StoreUnavailable: no node responds.
    """
    nodes = upstream.parted()
    pool = ThreadPoolExecutor(len(nodes), thread_name_prefix="probe")
    asked = [pool.submit(_ask, node) for node in nodes]
    pool.shutdown(wait=False)
    wait(asked, _PATIENCE_S)
    if not any(_has_responded(one) for one in asked):
        wait(asked)
    problems = [_problem(node, one) for node, one in zip(nodes, asked, strict=True) if not _has_responded(one)]
    if len(problems) == len(nodes):
        raise StoreUnavailable("; ".join(problems))
    return problems


def _ask(node: Upstream) -> None:
    with engine_errors(node.redacted):
        _, _, text = UpstreamConnection(node).perform_request("GET", _PATH, _PARAMETERS, timeout=_TIMEOUT_S)
        if not text.lstrip().startswith("{"):
            raise exceptions.SerializationError("no JSON object")


def _has_responded(asked: Future[None]) -> bool:
    return asked.done() and asked.exception() is None


def _problem(node: Upstream, asked: Future[None]) -> str:
    if not asked.done():
        return f"{node.redacted} has not answered yet"
    error = asked.exception()
    return str(error) if isinstance(error, SinkrankError) else f"{node.redacted}: {error!r}"
