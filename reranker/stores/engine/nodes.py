"""Sends opensearch-py's requests to the nodes of an engine, by the rules of `reranker.stores.base.nodes`.

A request to which a node took no connection goes to the next node. So does one that too many others wait beside for a
node (`Busy`); that node is not taken for down. A request that was sent, and whose connection then
broke, is sent once more if that changes nothing; so is one that a node answers with 502, 503 or 504.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import opensearchpy
from opensearchpy import exceptions
from urllib3.exceptions import ConnectTimeoutError, NewConnectionError

from reranker.base.errors import Busy
from reranker.stores.base.addresses import NodeAddress
from reranker.stores.base.nodes import NodeOrder

_READING_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
# The last part of a path to which a POST changes nothing, or nothing more the second time.
_READING_POSTS = frozenset({"_search", "_mget", "_count", "_analyze", "_refresh", "_pit", "point_in_time", "explain"})
# Parts of a path to which a PUT may come twice; a PUT that makes an index may not.
_REPEATABLE_PUTS = frozenset({"_mapping", "_alias", "_doc", "_settings", "_index_template", "pipeline"})
# They make a write depend on what is there, and the first try may have changed that.
_CONDITIONS = frozenset({"op_type", "if_seq_no"})
_AWAY_STATUSES = frozenset({502, 503, 504})


class NodeConnections:
    """Stands for the one connection that opensearch-py knows of, and asks the nodes behind it.

    Args:
        addresses: of the nodes of one engine.
        connect: makes the connection to one of them from opensearch-py's options.
        options: of opensearch-py; host and port among them are replaced.
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
        """The answer of the first node that takes the request.

        Raises:
            exceptions.TransportError: of the last node that was asked.
            Busy: too many requests wait for that one.
        """
        n_tries = 2 if may_be_sent_twice(method, url, params) else 1
        places = self._places()
        place = next(places)
        while True:
            failure: exceptions.TransportError | Busy
            try:
                return self.ask(place, method, url, params, body, timeout, ignore, headers)
            except (exceptions.TransportError, Busy) as error:
                failure = error
            if isinstance(failure, Busy) or is_without_connection(failure):
                following = next(places, None)
            else:
                n_tries -= 1
                following = self._after(failure, place, places) if n_tries else None
            if following is None:
                raise failure
            place = following

    def ask(self, place: int, method: str, url: str, *request: Any) -> Any:
        """The answer of one node; `request` are the further arguments of `perform_request`."""
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

    def _places(self) -> Iterator[int]:
        return iter(self._order.places())

    @staticmethod
    def _after(failure: exceptions.TransportError, place: int, places: Iterator[int]) -> int | None:
        """Which node a request that may be sent twice goes to after it failed; None where a second try has no point."""
        if failure.status_code in _AWAY_STATUSES:
            return next(places, place)
        if isinstance(failure, exceptions.ConnectionTimeout | exceptions.SSLError):
            return None
        # A kept connection may just have been closed; if the node is gone, the next try says so.
        return place if isinstance(failure, exceptions.ConnectionError) else None


def is_without_connection(error: exceptions.TransportError) -> bool:
    """Whether nothing was sent, since no connection came about."""
    return isinstance(error, exceptions.ConnectionError) and isinstance(
        error.info, ConnectTimeoutError | NewConnectionError
    )


def may_be_sent_twice(method: str, url: str, params: Mapping[str, Any] | None = None) -> bool:
    """Whether the engine is in the same state after a request that came twice as after one that came once.

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
