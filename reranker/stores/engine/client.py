"""Connects opensearch-py to OpenSearch or Elasticsearch, detects which it is, and maps their errors to ours."""

from __future__ import annotations

import base64
import logging
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

import opensearchpy
import urllib3
from opensearchpy import exceptions

from reranker.base.errors import BadInput, NotAllowed, NotAnEngine, NotFound, StoreUnavailable, Unauthenticated
from reranker.base.leaving import EndsWithClient, reading_call
from reranker.base.request_context import caller_credentials, current_request, engine_call
from reranker.base.whole_heads import WholeHeadResponse
from reranker.stores.base.addresses import Distribution, EngineAddress
from reranker.stores.base.nodes import CONNECT_TIMEOUT_S
from reranker.stores.engine.access import EngineAccess, Signer
from reranker.stores.engine.nodes import NodeConnections, is_reading

_log = logging.getLogger(__name__)

# Connections kept open to each node. More threads than this still work, each on a new connection.
_POOL_SIZE = 32

# Of an engine's reason, which may repeat the whole query.
_MAX_REASON_LENGTH = 400

# OpenSearch began at 1.0, with the code of Elasticsearch 7.10. No older Elasticsearch is supported.
_FIRST_ELASTICSEARCH_MAJOR = 7

# The errors of reading a version from an unexpected answer.
_NO_VERSION = (exceptions.TransportError, LookupError, TypeError, AttributeError, ValueError, StopIteration)


class _HttpConnection(EndsWithClient, urllib3.connection.HTTPConnection):
    response_class = WholeHeadResponse


class _HttpsConnection(EndsWithClient, urllib3.connection.HTTPSConnection):
    response_class = WholeHeadResponse


class _Connection(opensearchpy.Urllib3HttpConnection):
    """Sends the request's id and trace with each call. The caller's credentials replace the service's own. A call that
    reads ends when the client leaves."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.pool.ConnectionCls = _HttpsConnection if self.use_ssl else _HttpConnection

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
        request, credentials = current_request(), caller_credentials()
        with reading_call(is_reading(method, url)), engine_call(method, self.host) as call:
            named = {**(headers or {}), **(request.headers if request is not None else {}), **call.headers}
            named.update(credentials)
            try:
                answer = super().perform_request(method, url, params, body, timeout, ignore, named)
            except exceptions.TransportError as error:
                error.is_callers = bool(credentials)  # type: ignore[attr-defined]
                raise
            call.answered(answer[0])
        return answer


class _Objects(opensearchpy.JSONSerializer):
    """Reads answers, each of which is a JSON object."""

    def loads(self, data: str) -> Any:
        answer = super().loads(data)
        if not isinstance(answer, dict):
            raise exceptions.SerializationError(data[:_MAX_REASON_LENGTH], TypeError("no JSON object"))
        return answer


class _Client(opensearchpy.OpenSearch):
    """Its searches are answered with hits, and with aggregations where the body asks for them."""

    def search(self, **given: Any) -> Any:
        answer = super().search(**given)
        hits = answer.get("hits") if isinstance(answer, dict) else None
        found = hits.get("hits") if isinstance(hits, dict) else None
        has_hits = isinstance(found, list) and all(isinstance(hit, dict) for hit in found)
        if not has_hits or ("aggs" in (given.get("body") or {}) and "aggregations" not in answer):
            raise exceptions.SerializationError(str(answer)[:_MAX_REASON_LENGTH], TypeError("no answer to a search"))
        return answer


def connect(
    address: EngineAddress, access: EngineAccess = EngineAccess(), timeout_s: float = 30.0
) -> opensearchpy.OpenSearch:
    """Makes a client of the engine, without sending anything.

    Raises:
        BadInput: as `EngineAccess.check` and `EngineAccess.signer`.
    """
    access.check(address.username is not None, address.use_tls)
    if address.use_tls and not access.verify_certs:
        _log.warning("the certificate of %s is not checked", address.shown)
    # opensearch-py logs every 404 as a warning. Those that matter are raised.
    logging.getLogger("opensearch").setLevel(logging.CRITICAL)
    tls: dict[str, Any] = {}
    if address.use_tls:
        tls = {"use_ssl": True, "verify_certs": access.verify_certs, "ssl_show_warn": False}
        if access.verify_certs and access.ca_certs is not None:
            tls["ca_certs"] = str(access.ca_certs)
        if access.client_cert is not None:
            tls["client_cert"] = str(access.client_cert)
            tls["client_key"] = None if access.client_key is None else str(access.client_key)
    return _Client(
        hosts=[{"host": address.nodes[0].host, "port": address.nodes[0].port}],
        url_prefix=address.prefix,
        headers=credential_headers(address, access),
        http_auth=_only_own_calls(access.signer(address.nodes[0].host)),
        timeout=time_out(timeout_s),
        max_retries=0,  # `NodeConnections` repeats requests
        pool_maxsize=_POOL_SIZE,
        connection_class=partial(NodeConnections, address.nodes, _Connection),
        serializer=_Objects(),
        **tls,
    )


def nodes_of(client: opensearchpy.OpenSearch) -> NodeConnections:
    """Returns the connections to the nodes of a client that `connect` made."""
    connections: NodeConnections = client.transport.get_connection()
    return connections


def credential_headers(address: EngineAddress, access: EngineAccess) -> dict[str, str]:
    """Returns the authorization header if a user or an API key is set. Signatures are made for each request."""
    if address.username is not None:
        # Not left to opensearch-py, which refuses a password outside Latin-1.
        credentials = f"{address.username}:{address.password or ''}".encode()
        return {"authorization": "Basic " + base64.b64encode(credentials).decode("ascii")}
    return {} if access.api_key is None else {"authorization": f"ApiKey {access.api_key}"}


def _only_own_calls(signer: Signer | None) -> Signer | None:
    """Signs requests of the service. Requests with a caller's credentials are sent without."""
    if signer is None:
        return None
    return lambda method, url, body: {} if caller_credentials() else signer(method, url, body)


def time_out(seconds: float) -> urllib3.Timeout:
    """Returns a time-out of this many seconds for an answer, and a shorter one for the connection."""
    return urllib3.Timeout(connect=min(CONNECT_TIMEOUT_S, seconds), read=seconds)


def detect_distribution(client: opensearchpy.OpenSearch) -> Distribution:
    """Asks whether the engine is OpenSearch or Elasticsearch.

    Raises:
        exceptions.OpenSearchException: nothing answers.
        BadInput: something else answers.
    """
    try:
        version = client.transport.perform_request("GET", "/")["version"]
        if version.get("distribution") == "opensearch":
            return "opensearch"
        number = str(version["number"])
    except _NO_VERSION as error:
        _raise_unless_unknown_path(error)
        # An engine without all its modules may have no `GET /`.
        number = _node_version(client)
    return "elasticsearch" if int(number.split(".")[0]) >= _FIRST_ELASTICSEARCH_MAJOR else "opensearch"


def _node_version(client: opensearchpy.OpenSearch) -> str:
    try:
        answer = client.transport.perform_request("GET", "/_nodes/_local", params={"filter_path": "nodes.*.version"})
        return str(next(iter(answer["nodes"].values()))["version"])
    except _NO_VERSION as error:
        _raise_unless_unknown_path(error)
        raise BadInput("what answers is neither OpenSearch nor Elasticsearch; check host, port and path") from None


def _raise_unless_unknown_path(error: Exception) -> None:
    if isinstance(error, exceptions.TransportError) and error.status_code not in (400, 404, 405):
        raise error


@contextmanager
def engine_errors(address: str, index: str = "") -> Iterator[None]:
    """Maps opensearch-py's errors to ours, which name the address and the cure.

    Raises:
        NotFound: there is no such index.
        BadInput: the engine refuses the request.
        Unauthenticated, NotAllowed: the engine refuses the caller's credentials, or the caller lacks a right.
        NotAnEngine: what answers is no search engine.
        StoreUnavailable: the engine cannot be reached, refuses the service's credentials, or fails.
    """
    try:
        yield
    except exceptions.SSLError as error:
        if "CERTIFICATE" not in str(error).upper():
            raise StoreUnavailable(
                f"{address} does not speak TLS as we do ({_cause(error)}); if the engine is without TLS, write http:// "
                f"or opensearch://"
            ) from error
        raise StoreUnavailable(
            f"the certificate of {address} is not trusted ({_cause(error)}); give the file of its authority as "
            f"store_ca_certs"
        ) from error
    except exceptions.ConnectionTimeout as error:
        raise StoreUnavailable(
            f"{address} did not answer in time; see whether it is overloaded, or raise store_timeout_s"
        ) from error
    except exceptions.ConnectionError as error:
        raise StoreUnavailable(
            f"nothing answers at {address} ({_cause(error)}); start the engine, or check host, port and http or https"
        ) from error
    except exceptions.TransportError as error:
        raise _status_error(error, address, index) from error
    except (exceptions.OpenSearchException, exceptions.ImproperlyConfigured) as error:
        raise NotAnEngine(
            f"{address} answers as no search engine does ({type(error).__name__}); check host, port and path, and what "
            "stands before the engine"
        ) from error


def _status_error(error: exceptions.TransportError, address: str, index: str) -> Exception:
    status, reason = error.status_code, failure_reason(error)
    if status in (401, 403) and getattr(error, "is_callers", False):
        return _refused_caller(status, reason, address)
    if status == 401:
        return StoreUnavailable(
            f"{address} refuses the credentials (401); give store_username and store_password, for example as "
            f"SINKRANK_STORE_USERNAME and SINKRANK_STORE_PASSWORD"
        )
    if status == 403:
        return StoreUnavailable(f"{address} forbids this (403: {reason}); give the user the rights, or lift the block")
    if status == 404 and not index:
        return StoreUnavailable(f"{address} answers as no search engine does (404); check host, port and path")
    if status == 404:
        return NotFound(
            f"{address} has no index {index!r}; check its name, or make it with `sinkrank ingest FILE --index {index} "
            f"--store {address}`"
        )
    if status == 429:
        return StoreUnavailable(f"{address} is overloaded (429: {reason}); try again later, or add nodes")
    if isinstance(status, int) and 400 <= status < 500:
        return BadInput(f"{address} refuses the request ({status}: {reason}); change the query, filter or document")
    return StoreUnavailable(f"{address} failed ({status}: {reason}); its log says why")


def _refused_caller(status: int, reason: str, address: str) -> NotAllowed:
    """The error for a caller whose own credentials were sent."""
    if status == 401:
        return Unauthenticated(f"{address} does not know these credentials (401: {reason}); send a user's it knows")
    return NotAllowed(f"{address} forbids you this (403: {reason}); ask for the right to read the index")


def failure_reason(error: exceptions.TransportError) -> str:
    """Returns the engine's first reason, shortened."""
    body = error.info if len(error.args) > 2 else None
    details = body.get("error") if isinstance(body, dict) else None
    return describe_failure(details if details is not None else error.error)


def describe_failure(details: Any) -> str:
    """Turns the `error` section of an answer into a short text."""
    if isinstance(details, dict):
        inner = next(iter(details.get("root_cause") or ()), details)
        parts = [inner.get("type"), inner.get("reason")]
        cause = details.get("caused_by")
        if isinstance(cause, dict):
            parts.append(cause.get("reason"))
        details = ": ".join(dict.fromkeys(str(part) for part in parts if part))
    return str(details)[:_MAX_REASON_LENGTH]


def _cause(error: exceptions.ConnectionError) -> str:
    """Returns the class of the failure; urllib3's message would repeat the host."""
    cause = error.info if len(error.args) > 2 else error
    reason = getattr(cause, "reason", None)
    return type(reason if isinstance(reason, Exception) else cause).__name__
