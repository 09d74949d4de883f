"""Lets opensearch-py speak through an `Upstream`, whose connections, repeats and credentials all calls to an engine
have."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import quote, urlencode

import opensearchpy
from opensearchpy import exceptions

from reranker.base.request_context import current_request
from reranker.upstream.nodes import EngineTimeout, EngineUnreachable, NoTls, Upstream

# Last parts of paths to which a POST changes nothing, or nothing more the second time.
_READING_POSTS = frozenset({"_search", "_mget", "_count", "_analyze", "_refresh", "_pit", "point_in_time"})
# Parts of paths to which a PUT may be sent twice. A PUT that makes an index may not.
_REPEATABLE_PUTS = frozenset({"_mapping", "_alias", "_doc", "pipeline"})
# They make a write depend on the current state, which the first try may have changed.
_CONDITIONS = frozenset({"op_type", "if_seq_no"})
# What may stand in a target; opensearch-py has escaped all that a name must not hold.
_AS_IT_IS = "!#$%&'()*+,/:;=?@[]~"


class CallerRefused(exceptions.TransportError):
    """The engine refuses the credentials of a caller, or what he asks for."""


class UpstreamConnection(opensearchpy.Connection):
    """The single connection that opensearch-py sees. A request without an `authorization` of its own is the service's;
    each carries the id and the trace of the request that it is made for."""

    def __init__(self, upstream: Upstream, **options: Any) -> None:
        super().__init__(**options)
        self._upstream = upstream

    def perform_request(
        self,
        method: str,
        url: str,
        params: Mapping[str, Any] | None = None,
        body: bytes | None = None,
        timeout: float | None = None,
        ignore: Collection[int] = (),
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """
        Raises:
            exceptions.TransportError: the answer is an error.
            exceptions.ConnectionError: there is no answer; its `info` is the error of the `Upstream`.
            Busy, ClientLeft: as `Upstream.send`.
        """
        target = quote(url, safe=_AS_IT_IS) + (f"?{urlencode(params)}" if params else "")
        request = current_request()
        given = {**self.headers, **(headers or {}), **(request.headers if request is not None else {})}
        as_service = "authorization" not in given
        is_safe = may_be_sent_twice(method, url, params)
        try:
            answer = self._upstream.send(
                method,
                target,
                list(given.items()),
                body,
                timeout_s=timeout,
                is_safe=is_safe,
                as_service=as_service,
                is_read=True,
            )
        except (EngineUnreachable, EngineTimeout) as error:
            kind = exceptions.SSLError if isinstance(error, NoTls) else exceptions.ConnectionError
            raise kind("N/A", str(error), error) from error
        named = {name.lower(): value for name, value in answer.headers}
        self._raise_warnings([value for name, value in answer.headers if name.lower() == "warning"])
        try:
            text = answer.body.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError as error:
            raise exceptions.SerializationError("the answer is not UTF-8", error) from error
        if not 200 <= answer.status < 300 and answer.status not in ignore:
            try:
                self._raise_error(answer.status, text, named.get("content-type"))
            except (exceptions.AuthenticationException, exceptions.AuthorizationException) as error:
                if as_service:
                    raise
                raise CallerRefused(*error.args) from error
        return answer.status, named, text

    def close(self) -> None:
        self._upstream.close()


def may_be_sent_twice(method: str, url: str, params: Mapping[str, Any] | None = None) -> bool:
    """Whether a POST or a PUT leaves the engine in the same state if it arrives twice.

    >>> may_be_sent_twice("POST", "/pages/_search"), may_be_sent_twice("POST", "/pages/_bulk")
    (True, False)
    >>> may_be_sent_twice("PUT", "/pages/_mapping"), may_be_sent_twice("PUT", "/pages")
    (True, False)
    """
    parts = url.strip("/").split("/")
    if method == "POST":
        return parts[-1] in _READING_POSTS
    if method == "PUT":
        return not _REPEATABLE_PUTS.isdisjoint(parts) and _CONDITIONS.isdisjoint(params or ())
    return False
