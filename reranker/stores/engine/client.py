"""Makes opensearch-py's client of OpenSearch or Elasticsearch, detects which it is, and maps its errors to ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import opensearchpy
from opensearchpy import exceptions

from reranker.base.errors import BadInput, NotAllowed, NotAnEngine, StoreUnavailable, Unauthenticated
from reranker.stores.base.cures import no_such_index
from reranker.stores.engine.actions import if_same
from reranker.stores.engine.connection import CallerRefused, UpstreamConnection
from reranker.upstream.addresses import Distribution
from reranker.upstream.nodes import Upstream

# Of an engine's reason, which may repeat the whole query.
_MAX_REASON_LENGTH = 400

# The engines' error for a document whose primary shard is on no node: the index's health is red.
_NO_SHARD = "unavailable_shards_exception"

# The engines' error for a point in time that expired, or whose shard moved to another node.
_LOST_MOMENT = "search_context_missing_exception"

# OpenSearch began at 1.0, with the code of Elasticsearch 7.10. No older Elasticsearch is supported.
_FIRST_ELASTICSEARCH_MAJOR = 7


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


def connect(upstream: Upstream) -> opensearchpy.OpenSearch:
    """Makes a client of the engine, without sending anything. Closing it closes the upstream."""
    # `Upstream` repeats requests.
    return _Client(connection_class=partial(UpstreamConnection, upstream), serializer=_Objects(), max_retries=0)


def whole_search(client: opensearchpy.OpenSearch, **given: Any) -> Any:
    """Returns the answer to a search, from all shards. Without this the engines answer with the hits of those that
    could be searched.

    Raises:
        exceptions.TransportError: a shard failed, or the time was up.
    """
    params = {**given.pop("params", {}), "allow_partial_search_results": "false"}
    answer = client.search(**given, params=params)
    if is_partial(answer):
        raise exceptions.TransportError(503, "not all shards answered", None)
    return answer


def is_partial(answer: Mapping[str, Any]) -> bool:
    """Whether the answer to a search lacks what some shards have."""
    return bool(answer.get("timed_out") or answer.get("_shards", {}).get("failed"))


def multi_get(client: opensearchpy.OpenSearch, index: str, ids: Sequence[str], **given: Any) -> list[dict[str, Any]]:
    """Returns the answer for each id, with `found`. It sees documents that searches do not see yet.

    Raises:
        exceptions.TransportError: as if it had been asked for each alone: there is no such index (404), the caller has
            no right (403), or a shard cannot be read (503). The engines answer the whole request with 200.
    """
    documents: list[dict[str, Any]] = client.mget(index=index, body={"ids": list(ids)}, **given)["docs"]
    for details in (one["error"] for one in documents if "error" in one):
        kind = details.get("type", "") if isinstance(details, dict) else str(details)
        if kind == "index_not_found_exception":
            raise exceptions.NotFoundError(404, kind, {"error": details})
        if kind == "security_exception":
            refused = CallerRefused if given.get("headers") else exceptions.AuthorizationException
            raise refused(403, kind, {"error": details})
        raise exceptions.TransportError(503, kind, {"error": details})
    return documents


def unchanged(found: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters that make a request fail with a conflict if the document has changed since `multi_get` read it, or has
    come since."""
    return if_same(found["_seq_no"], found["_primary_term"]) if found.get("found") else {"op_type": "create"}


def detect_distribution(client: opensearchpy.OpenSearch) -> Distribution:
    """Asks whether the engine is OpenSearch or Elasticsearch.

    Raises:
        exceptions.OpenSearchException: nothing answers, or with an error.
        BadInput: something else answers.
    """
    answer = client.transport.perform_request("GET", "/")
    try:
        version = answer["version"]
        if version.get("distribution") == "opensearch":
            return "opensearch"
        major = int(version["number"].split(".")[0])
    except (LookupError, TypeError, AttributeError, ValueError):
        raise BadInput("what answers is neither OpenSearch nor Elasticsearch; check host, port and path") from None
    return "elasticsearch" if major >= _FIRST_ELASTICSEARCH_MAJOR else "opensearch"


@contextmanager
def engine_errors(address: str, index: str = "") -> Iterator[None]:
    """Maps opensearch-py's errors to ours, which name the address and the cure.

    Raises:
        NoSuchIndex: there is none.
        BadInput: the engine refuses the request.
        Unauthenticated, NotAllowed: the engine refuses the caller's credentials, or the caller lacks a right.
        NotAnEngine: what answers is no search engine.
        StoreUnavailable: the engine cannot be reached, refuses the service's credentials, or fails.
    """
    try:
        yield
    except exceptions.ConnectionError as error:
        raise StoreUnavailable(str(error.error)) from error
    except CallerRefused as error:
        raise _refused_caller(error, address) from error
    except exceptions.TransportError as error:
        raise _status_error(error, address, index) from error
    except (exceptions.OpenSearchException, exceptions.ImproperlyConfigured) as error:
        raise NotAnEngine(
            f"{address} does not answer like a search engine ({type(error).__name__}); check host, port and path, "
            "and what stands before the engine"
        ) from error


def _status_error(error: exceptions.TransportError, address: str, index: str) -> Exception:
    status, reason = error.status_code, failure_reason(error)
    if status == 401:
        return StoreUnavailable(
            f"{address} refuses the credentials (401); give store_username and store_password, or store_api_key, for "
            "example as SINKRANK_STORE_USERNAME and SINKRANK_STORE_PASSWORD"
        )
    if status == 403:
        return StoreUnavailable(f"{address} forbids this (403: {reason}); give the user the rights, or lift the block")
    if _LOST_MOMENT in reason:
        return StoreUnavailable(
            f"{address} has lost the point in time that was being read ({reason}); run the same command again"
        )
    if status == 404 and (not index or not isinstance(error.info, dict)):
        return NotAnEngine(f"{address} does not answer like a search engine (404); check host, port and path")
    if status == 404:
        return no_such_index(address, index)
    if status == 429:
        return StoreUnavailable(f"{address} is overloaded (429: {reason}); try again later, or add nodes")
    if _NO_SHARD in reason:
        return StoreUnavailable(
            f"{address} has no node for a shard ({reason}); bring the node back that held it, or change the setting "
            f"that keeps it away (`GET _cluster/allocation/explain` says which), and give the same command again"
        )
    if isinstance(status, int) and 400 <= status < 500:
        return BadInput(f"{address} refuses the request ({status}: {reason}); change the query, filter or document")
    return StoreUnavailable(f"{address} failed ({status}: {reason}); its log says why")


def _refused_caller(error: CallerRefused, address: str) -> NotAllowed:
    reason = failure_reason(error)
    if error.status_code == 401:
        return Unauthenticated(f"{address} refuses these credentials (401: {reason}); send those of one of its users")
    return NotAllowed(f"{address} forbids this to you (403: {reason}); ask for the right to read the index")


def failure_reason(error: exceptions.TransportError) -> str:
    """Returns the engine's first reason, shortened."""
    body = error.info if len(error.args) > 2 else None
    details = body.get("error") if isinstance(body, dict) else None
    return describe_failure(details if details is not None else error.error)


def describe_failure(details: Any) -> str:
    """Turns the `error` section of an answer, or a page in its place, into a short text in one line."""
    if isinstance(details, dict):
        inner = next(iter(details.get("root_cause") or ()), details)
        parts = [inner.get("type"), inner.get("reason")]
        cause = details.get("caused_by")
        if isinstance(cause, dict):
            parts.append(cause.get("reason"))
        details = ": ".join(dict.fromkeys(str(part) for part in parts if part))
    return " ".join(str(details).split())[:_MAX_REASON_LENGTH]
