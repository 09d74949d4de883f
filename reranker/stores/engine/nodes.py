"""Sends opensearch-py's requests to the nodes of an engine, by the rules of `reranker.stores.base.nodes`.

If a node takes no connection, the request goes to the next node. So it does if too many requests wait for the node
(`Busy`); such a node does not count as down. If the connection breaks after the request was sent, or the answer is 502,
503 or 504, the request is sent once more if a second time changes nothing, to the next node if there is one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import opensearchpy
from opensearchpy import exceptions
from urllib3.exceptions import ConnectTimeoutError, NewConnectionError

from reranker.base.errors import Busy
from reranker.stores.base.addresses import NodeAddress
from reranker.stores.base.nodes import NodeOrder

_READING_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
# Last parts of paths to which a POST changes nothing, or nothing more the second time.
_READING_POSTS = frozenset({"_search", "_mget", "_count", "_analyze", "_refresh", "_pit", "point_in_time", "explain"})
# Parts of paths to which a PUT may be sent twice. A PUT that makes an index may not.
_REPEATABLE_PUTS = frozenset({"_mapping", "_alias", "_doc", "_settings", "_index_template", "pipeline"})
# They make a write depend on the current state, which the first try may have changed.
_CONDITIONS = frozenset({"op_type", "if_seq_no"})
_AWAY_STATUSES = frozenset({502, 503, 504})


class NodeConnections:
    """The single connection that opensearch-py sees; it sends each request to one of the nodes.

    Args:
        addresses: of the nodes of one engine.
        connect: makes the connection to a node from opensearch-py's options.
        options: of opensearch-py; each node's host and port replace those in them.
    """

    def __init__(
        self,
        addresses: Sequence[NodeAddress],
        connect: Callable[..., opensearchpy.Urllib3HttpConnection],
        **options: Any,
    ) -> None:
        self._connections = [connect(**{**options, "host": one.host, "port": one.port}) for one in addresses]
        self._order = NodeOrder([one.shown for one in addresses])

    def perform_request(
        self,
        method: str,
        url: str,
        params: Mapping[str, Any] | None = None,
        body: bytes | None = None,
        timeout: Any = None,
        ignore: Collection[int] = (),
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """Returns the answer of the first node that takes the request.

        Raises:
            exceptions.TransportError: the last node's failure.
            Busy: too many requests wait for the last node.
        """
        failed: Exception | None = None
        attempts = self._order.attempts(may_be_sent_twice(method, url, params))
        for place in attempts:
            try:
                return self.ask(place, method, url, params, body, timeout, ignore, headers)
            except Busy as error:
                failed = error
            except exceptions.TransportError as error:
                if not is_without_connection(error) and not (_may_succeed(error) and attempts.repeat()):
                    raise
                failed = error
        assert failed is not None  # noqa: S101 - an address has a node
        raise failed

    def ask(self, place: int, method: str, url: str, *request: Any) -> Any:
        """Returns the answer of one node; `request` is the other arguments of `perform_request`."""
        try:
            answer = self._connections[place].perform_request(method, url, *request)
        except exceptions.TransportError as error:
            if is_without_connection(error):
                self._order.took_none(place)
            elif isinstance(error.status_code, int):
                self._order.took_a_connection(place)
            raise
        self._order.took_a_connection(place)
        return answer

    def close(self) -> None:
        for connection in self._connections:
            connection.close()


def _may_succeed(failure: exceptions.TransportError) -> bool:
    """Whether a second try of a failed request may help."""
    if failure.status_code in _AWAY_STATUSES:
        return True
    is_final = isinstance(failure, exceptions.ConnectionTimeout | exceptions.SSLError)
    return isinstance(failure, exceptions.ConnectionError) and not is_final


def is_without_connection(error: exceptions.TransportError) -> bool:
    """Whether no connection was made, so nothing was sent."""
    return isinstance(error, exceptions.ConnectionError) and isinstance(
        error.info, ConnectTimeoutError | NewConnectionError
    )


def may_be_sent_twice(method: str, url: str, params: Mapping[str, Any] | None = None) -> bool:
    """Whether a request leaves the engine in the same state if it arrives twice.

    >>> may_be_sent_twice("POST", "/pages/_search"), may_be_sent_twice("POST", "/pages/_bulk")
    (True, False)
    >>> may_be_sent_twice("PUT", "/pages/_mapping"), may_be_sent_twice("PUT", "/pages")
    (True, False)
    """
    if is_reading(method, url):
        return True
    parts = url.strip("/").split("/")
    return method == "PUT" and not _REPEATABLE_PUTS.isdisjoint(parts) and _CONDITIONS.isdisjoint(params or ())


def is_reading(method: str, url: str) -> bool:
    """Whether a request changes nothing, or nothing more the second time."""
    return method in _READING_METHODS or (method == "POST" and url.strip("/").split("/")[-1] in _READING_POSTS)
