"""Installs an OpenSearch search pipeline that re-ranks with the service, and removes it.

A connector of ml-commons calls the service's `/v1/rerank`, a model uses the connector, and the pipeline's `rerank`
processor passes the fields of each hit to the model. The processor reads only top-level fields of `_source`, and joins
several fields without a space (neural-search 2.19.1).
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import regex
from opensearchpy import exceptions

from reranker.base.errors import BadInput, NotOurIndex, StoreUnavailable, WrongParameter
from reranker.stores.base.description import IndexDescription
from reranker.stores.base.names import check_index_name
from reranker.stores.engine.client import connect, engine_errors, failure_reason
from reranker.stores.engine.fields import TEXT_TYPES
from reranker.upstream.access import EngineAccess
from reranker.upstream.addresses import EngineAddress
from reranker.upstream.nodes import Upstream

# For an index that Sinkrank made. The packed bag has the words that our own search reads; the text fields of such an
# index are one level too deep for the processor.
_STORED_BAG_FIELDS = ("lang", "bag")

_ML = "/_plugins/_ml"
_SERVICE_URL = regex.compile(r"https?://[^\s/?#@$]+(/[^\s?#@$]*)?")
# Deploying waits for the whole cluster.
_LEAST_TIMEOUT_S = 60.0
# An interrupted run leaves one or two objects with a name.
_MAX_FOUND = 1_000
# A minute for a busy cluster to see that nothing uses what is deleted.
_DELETE_TRIES = 120
_BETWEEN_TRIES_S = 0.5


@dataclass(frozen=True, slots=True)
class PipelineRequest:
    """What to install.

    Attributes:
        service_url: URL at which the cluster reaches the service.
        fields: fields to rank by; empty for the stored bags of an index that Sinkrank made, or the only text field.
        api_key: API key of the service, if it needs one. The cluster stores it encrypted and never returns it.
    """

    index: str
    service_url: str
    fields: tuple[str, ...] = ()
    api_key: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class InstalledPipeline:
    """The result of an installation."""

    name: str
    index: str
    endpoint: str
    fields: tuple[str, ...]


class EnginePipelines:
    """Search pipelines of one OpenSearch cluster.

    Raises, in all methods:
        StoreUnavailable: the cluster cannot be reached, forbids a step or fails.
        BadInput: it lacks ml-commons or neural-search.
    """

    def __init__(self, address: EngineAddress, access: EngineAccess = EngineAccess(), timeout_s: float = 30.0) -> None:
        self._address = address.redacted
        self._timeout_s = max(_LEAST_TIMEOUT_S, timeout_s)
        self._client = connect(Upstream(address, access, timeout_s))

    def close(self) -> None:
        self._client.close()

    def install(self, request: PipelineRequest) -> InstalledPipeline:
        """Makes a connector and a model, tries them, lets the pipeline use them, and deletes those of earlier runs.

        Raises:
            WrongParameter: the name of the index or the URL is not valid.
            NotFound: there is no such index.
            BadInput: it has no such field, or none or several to choose from.
            StoreUnavailable: the service does not answer the cluster, or the cluster may not call it.
        """
        name, endpoint = pipeline_name(request.index), rerank_endpoint(request.service_url)
        with engine_errors(self._address, request.index):
            models, connectors = self._named("models", name), self._named("connectors", name)
            is_ours, fields = self._read_index(request)
            model = ""
            try:
                connector = self._call("POST", f"{_ML}/connectors/_create", _connector(name, request, is_ours))
                body = {"name": name, "function_name": "remote", "connector_id": connector["connector_id"]}
                model = self._call("POST", f"{_ML}/models/_register?deploy=true", body)["model_id"]
                trial = {"query_text": "sinkrank", "text_docs": ["sinkrank"]}
                self._call("POST", f"{_ML}/_predict/text_similarity/{model}", trial)
            except exceptions.ConnectionError:
                raise  # the cluster does not answer us
            except exceptions.TransportError as error:
                # It refuses us; the trial has the status of the service, too.
                if error.status_code in (401, 403) and (not model or "security_exception" in failure_reason(error)):
                    raise
                raise _cannot_rank(error, endpoint) from error
            self._call("PUT", f"/_search/pipeline/{name}", _pipeline(model, fields))
            self._delete(models, connectors)
        return InstalledPipeline(name, request.index, endpoint, fields)

    def remove(self, index: str) -> dict[str, int]:
        """Removes everything that `install` made for an index. Returns how many there were of each kind; it is no error
        if nothing is there."""
        name = pipeline_name(index)
        # With a name, a 404 does not count as an address without an engine.
        with engine_errors(self._address, name):
            models, groups, connectors = (self._named(kind, name) for kind in ("models", "model_groups", "connectors"))
            try:
                self._call("DELETE", f"/_search/pipeline/{name}")
                has_pipeline = True
            except exceptions.NotFoundError:
                has_pipeline = False
            self._delete(models, connectors)
            for group in groups:
                self._call("DELETE", f"{_ML}/model_groups/{group}")
        return {
            "search pipeline": int(has_pipeline),
            "model": len(models),
            "model group": len(groups),
            "connector": len(connectors),
        }

    def _read_index(self, request: PipelineRequest) -> tuple[bool, tuple[str, ...]]:
        """Whether Sinkrank made the index, and the fields to rank by: its stored bags, which need no tokenising;
        otherwise the fields of the request, or the only text field."""
        found = self._call("GET", f"/{request.index}")
        if len(found) != 1:
            raise BadInput(
                f"{request.index!r} stands for {len(found)} indices ({', '.join(sorted(found))}); name one of them"
            )
        ((name, index),) = found.items()
        try:
            IndexDescription.from_meta(index["mappings"].get("_meta"), name)
        except NotOurIndex:
            types = {field: kind.get("type") for field, kind in index["mappings"].get("properties", {}).items()}
            return False, _fields(name, types, request.fields)
        if request.fields:
            raise BadInput(f"index {name!r} is ranked by its stored bags of words; leave out --field")
        return True, _STORED_BAG_FIELDS

    def _named(self, kind: str, name: str) -> list[str]:
        """The ids of the objects of ml-commons with this name."""
        body = {"size": _MAX_FOUND, "query": {"term": {"name.keyword": name}}}
        try:
            answer = self._call("POST", f"{_ML}/{kind}/_search", body)
        except exceptions.RequestError as error:
            if "no handler found" not in failure_reason(error):
                raise
            raise BadInput(
                f"{self._address} has no ml-commons (nothing answers at {_ML}): install OpenSearch's plugins "
                f"opensearch-ml and opensearch-neural-search, or use the proxy, which needs neither"
            ) from error
        return [hit["_id"] for hit in answer["hits"]["hits"]]

    def _delete(self, models: Sequence[str], connectors: Sequence[str]) -> None:
        for model in models:
            self._delete_unused(f"{_ML}/models/{model}", before=f"{_ML}/models/{model}/_undeploy")
        for connector in connectors:
            self._delete_unused(f"{_ML}/connectors/{connector}")

    def _delete_unused(self, path: str, before: str | None = None) -> None:
        """Deletes a model or a connector. The cluster sees for a second that it is in use: a model by the nodes that
        deploy or undeploy it (status 400), a connector by a model that was deleted (409)."""
        for tries_left in reversed(range(_DELETE_TRIES)):
            try:
                if before is not None:
                    self._call("POST", before)
                self._call("DELETE", path)
                return
            except exceptions.NotFoundError:
                return
            except exceptions.TransportError as error:
                in_use = error.status_code == 409 or "deployed state" in failure_reason(error)
                if not in_use or not tries_left:
                    raise
                time.sleep(_BETWEEN_TRIES_S)

    def _call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        params = {"request_timeout": self._timeout_s}
        return self._client.transport.perform_request(method, path, params=params, body=body)


def pipeline_name(index: str) -> str:
    """The name of the pipeline, the connector, the model and the model group.

    Raises:
        WrongParameter: there cannot be such an index.
    """
    return f"sinkrank-{check_index_name(index)}"


def rerank_endpoint(service_url: str) -> str:
    """The URL of the service that the cluster calls.

    >>> rerank_endpoint("http://sinkrank.internal:8080/")
    'http://sinkrank.internal:8080/v1/rerank'

    Raises:
        WrongParameter: it is not an http or https URL, or contains credentials, which everyone could read in the
            cluster.
    """
    # The message omits the URL, which may contain a password. `$` would begin a parameter of the connector.
    if not _SERVICE_URL.fullmatch(service_url):
        raise WrongParameter(
            "the URL of the service is not valid; give it as http://HOST:PORT or https://HOST, without credentials"
        )
    return service_url.rstrip("/") + "/v1/rerank"


def _fields(index: str, types: Mapping[str, str | None], wanted: tuple[str, ...]) -> tuple[str, ...]:
    known = ", ".join(types) or "none"
    for name in wanted:
        if name not in types:
            raise BadInput(f"index {index!r} has no field {name!r} at the top level (it has {known})")
    texts = tuple(name for name, kind in types.items() if kind in TEXT_TYPES)
    if not wanted and not texts:
        raise BadInput(
            f"index {index!r} has no text field at the top level (it has {known}); name the fields to rank by with "
            f"--field"
        )
    if not wanted and len(texts) > 1:
        raise BadInput(
            f"index {index!r} has several text fields ({', '.join(texts)}), and OpenSearch joins fields without a "
            "space, so that two words become one where they meet; name the fields with --field, which may be repeated"
        )
    return wanted or texts


def _connector(name: str, request: PipelineRequest, is_ours: bool) -> dict[str, Any]:
    """The body of `POST /_plugins/_ml/connectors/_create`. In `request_body` ml-commons escapes the query, and writes
    the documents as a JSON list."""
    parts = ['"query": "${parameters.query}"', '"documents": ${parameters.documents}']
    parts += [f'"index": {json.dumps(request.index)}'] if is_ours else []
    key = request.api_key
    return {
        "name": name,
        "description": f"Made by `sinkrank pipeline install` for the index {request.index}",
        "version": 1,
        "protocol": "http",
        "credential": {"key": "none" if key is None else key},  # ml-commons needs one
        # In seconds. After these a search returns the engine's order.
        "client_config": {"connection_timeout": 2, "read_timeout": 10},
        "actions": [
            {
                "action_type": "predict",
                "method": "POST",
                "url": rerank_endpoint(request.service_url),
                "headers": {"content-type": "application/json"}
                | ({} if key is None else {"X-Api-Key": "${credential.key}"}),
                "request_body": "{" + ", ".join(parts) + "}",
                "pre_process_function": "connector.pre_process.cohere.rerank",
                "post_process_function": "connector.post_process.cohere.rerank",
            }
        ],
    }


def _pipeline(model: str, fields: tuple[str, ...]) -> dict[str, Any]:
    """The body of `PUT /_search/pipeline/NAME`."""
    processor = {
        "ml_opensearch": {"model_id": model},
        "context": {"document_fields": list(fields)},
        # Else a search without a query text, or while the service is down, fails with status 500.
        "ignore_failure": True,
    }
    return {"response_processors": [{"rerank": processor}]}


def _cannot_rank(error: exceptions.TransportError, endpoint: str) -> Exception:
    if error.status_code in (401, 403):
        return StoreUnavailable(
            f"the cluster cannot rank by {endpoint} ({error.status_code}: {failure_reason(error)}); if the service "
            "needs an API key, give one of its keys with --api-key-file"
        )
    return StoreUnavailable(
        f"the cluster cannot rank by {endpoint} ({failure_reason(error)}); start the service with `sinkrank serve`, on "
        "an address that the cluster reaches, and let the cluster call it: plugins.ml_commons."
        "trusted_connector_endpoints_regex and, for a private address, plugins.ml_commons.connector.private_ip_enabled"
    )
