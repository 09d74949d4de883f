"""Asks all nodes of an engine at the same time whether they respond."""

from __future__ import annotations

import threading
from concurrent.futures import Future, wait

from opensearchpy import exceptions

from reranker.base.errors import SinkrankError, StoreUnavailable
from reranker.stores.engine.client import engine_errors
from reranker.stores.engine.connection import UpstreamConnection
from reranker.stores.engine.idf import IDF_INDEX
from reranker.upstream.nodes import Upstream

# A node answers it alone, even while the cluster elects a manager or if the index is missing, and still checks the
# credentials.
_PATH = f"/{IDF_INDEX}/_mapping"
_PARAMETERS = {"local": "true", "ignore_unavailable": "true", "filter_path": "*.mappings._meta"}
# How long to wait for the other nodes after one has responded. Orchestrators wait a second for the whole answer.
_PATIENCE_S = 0.5


class NodeProbes:
    """Asks the nodes of one engine; threads can share it. While a node has not answered, it is not asked again."""

    def __init__(self, upstream: Upstream) -> None:
        self._nodes = upstream.parted()
        self._lock = threading.Lock()
        self._asked: dict[int, Future[None]] = {}

    def problems(self) -> list[str]:
        """Says for each node that does not respond why.

        Raises:
            StoreUnavailable: no node responds.
        """
        asked = self._ask()
        wait(asked, _PATIENCE_S)
        if not any(_has_responded(one) for one in asked):
            wait(asked)  # each has a time-out
        problems = [self._problem(place, one) for place, one in enumerate(asked) if not _has_responded(one)]
        if len(problems) == len(asked):
            raise StoreUnavailable("; ".join(problems))
        return problems

    def _ask(self) -> list[Future[None]]:
        with self._lock:
            for place in range(len(self._nodes)):
                if place not in self._asked or self._asked[place].done():
                    self._asked[place] = self._start(place)
            return [self._asked[place] for place in sorted(self._asked)]

    def _start(self, place: int) -> Future[None]:
        """Asks one node in a daemon thread, so that a command can end before the answer."""
        future: Future[None] = Future()

        def run() -> None:
            try:
                self._ask_one(place)
            except Exception as error:
                future.set_exception(error)
            else:
                future.set_result(None)

        threading.Thread(target=run, name="probe", daemon=True).start()
        return future

    def _ask_one(self, place: int) -> None:
        node = self._nodes[place]
        with engine_errors(node.shown):
            _, _, text = UpstreamConnection(node).perform_request("GET", _PATH, _PARAMETERS)
            if not text.lstrip().startswith("{"):
                raise exceptions.SerializationError("no JSON object")

    def _problem(self, place: int, asked: Future[None]) -> str:
        if not asked.done():
            return f"{self._nodes[place].shown} has not answered yet"
        error = asked.exception()
        return str(error) if isinstance(error, SinkrankError) else f"{self._nodes[place].shown}: {error!r}"


def _has_responded(asked: Future[None]) -> bool:
    return asked.done() and asked.exception() is None
