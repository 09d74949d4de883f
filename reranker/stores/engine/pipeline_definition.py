"""The data of `sinkrank pipeline`: its request, the objects that it creates in a cluster, and its result.

A connector calls the service's `/v1/rerank`, a model uses the connector, and the pipeline's `rerank` processor passes
the fields of each hit to the model. The processor reads only top-level fields of `_source`, and joins several fields
without a space (neural-search 2.19.1).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import regex

from reranker.base.errors import WrongParameter
from reranker.stores.base.names import check_index_name

# Begins the description of our objects, which may be changed and deleted. The name of the index follows.
MADE_BY = "Made by `sinkrank pipeline install` for the index"

# For an index that Sinkrank made. The packed bag has the words that our own search reads; the text fields of such an
# index are one level too deep for the processor.
STORED_BAG_FIELDS = ("lang", "bag")

_RERANK_PATH = "/v1/rerank"

# In seconds (ml-commons 2.19.1). After these a search returns the engine's order.
_CONNECT_TIMEOUT_S = 2
_READ_TIMEOUT_S = 10


@dataclass(frozen=True, slots=True)
class PipelineRequest:
    """What to install.

    Attributes:
        service_url: URL at which the cluster reaches the service.
        fields: fields to rank by; empty for the stored bags of an index that Sinkrank made, or all text fields.
        method: one of `transport.METHODS`; None: the service's default.
        language: language of the queries; None: guessed.
        is_default: whether searches of the index that name no pipeline use this one.
        allow_endpoint: whether to change the cluster's settings if they do not allow calls to the service.
        api_key: API key of the service, if it needs one. The cluster stores it encrypted and never returns it.
    """

    index: str
    service_url: str
    fields: tuple[str, ...] = ()
    method: str | None = None
    language: str | None = None
    is_default: bool = False
    allow_endpoint: bool = False
    api_key: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class InstalledPipeline:
    """The result of an installation.

    Attributes:
        changed_settings: changed settings of the cluster with their new values.
    """

    name: str
    index: str
    endpoint: str
    fields: tuple[str, ...]
    connector_id: str
    model_id: str
    is_default: bool
    changed_settings: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RemovedPipeline:
    """The result of a removal.

    Attributes:
        was_default_of: indices whose default it was.
        private_addresses_allowed: whether the cluster may still call private addresses. This is not changed, since
            other connectors may need it.
    """

    name: str
    was_default_of: tuple[str, ...]
    pipelines: int
    models: int
    model_groups: int
    connectors: int
    untrusted: tuple[str, ...]
    private_addresses_allowed: bool


@dataclass(frozen=True, slots=True)
class PipelineDefinition:
    """A pipeline and how it calls the service.

    Attributes:
        endpoint: the URL that the cluster calls.
        fields: fields of a hit's `_source` to rank by.
        is_ours: whether Sinkrank made the index; its word weights are then used.
    """

    request: PipelineRequest
    endpoint: str
    fields: tuple[str, ...]
    is_ours: bool

    @property
    def name(self) -> str:
        """The name of the pipeline, the connector, the model and the model group."""
        return pipeline_name(self.request.index)

    @property
    def description(self) -> str:
        return f"{MADE_BY} {self.request.index}"

    def connector(self) -> dict[str, Any]:
        """The body of `POST /_plugins/_ml/connectors/_create`."""
        api_key = self.request.api_key
        headers = {"content-type": "application/json"}
        if api_key is not None:
            headers["X-Api-Key"] = "${credential.key}"
        return {
            "name": self.name,
            "description": self.description,
            "version": 1,
            "protocol": "http",
            "parameters": {},
            # ml-commons needs at least one.
            "credential": {"none": "none"} if api_key is None else {"key": api_key},
            "client_config": {"connection_timeout": _CONNECT_TIMEOUT_S, "read_timeout": _READ_TIMEOUT_S},
            "actions": [
                {
                    "action_type": "predict",
                    "method": "POST",
                    "url": self.endpoint,
                    "headers": headers,
                    "request_body": self._request_body(),
                    "pre_process_function": "connector.pre_process.cohere.rerank",
                    "post_process_function": "connector.post_process.cohere.rerank",
                }
            ],
        }

    def _request_body(self) -> str:
        """A template: ml-commons escapes the query and writes the documents as a JSON list."""
        asked = self.request
        fixed = {"index": asked.index if self.is_ours else None, "method": asked.method, "language": asked.language}
        parts = ['"query": "${parameters.query}"', '"documents": ${parameters.documents}']
        parts += [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in fixed.items() if value is not None]
        return "{" + ", ".join(parts) + "}"

    def pipeline(self, model_id: str) -> dict[str, Any]:
        """The body of `PUT /_search/pipeline/NAME`."""
        processor = {
            "ml_opensearch": {"model_id": model_id},
            "context": {"document_fields": list(self.fields)},
            # Else a search without a query text, or while the service is down, fails with status 500.
            "ignore_failure": True,
        }
        return {"description": self.description, "response_processors": [{"rerank": processor}]}


def pipeline_name(index: str) -> str:
    """
    Raises:
        WrongParameter: there cannot be such an index.
    """
    return f"sinkrank-{check_index_name(index)}"


def is_same_connector(wanted: Mapping[str, Any], found: Mapping[str, Any]) -> bool:
    """Whether a connector from ml-commons makes the same calls to the same service. Always false with an API key, which
    ml-commons does not return."""
    if "key" in wanted["credential"]:
        return False
    (asked,), given = wanted["actions"], found.get("actions") or [{}]
    same_call = all(given[0].get(key) == value for key, value in asked.items() if key != "action_type")
    limits = found.get("client_config") or {}
    return same_call and all(limits.get(key) == value for key, value in wanted["client_config"].items())


def trusted_pattern(endpoint: str) -> str:
    """A regular expression, also for Java, that matches only this URL; mostly without backslashes, which JSON doubles.

    >>> trusted_pattern("http://10.0.0.7:8080/v1/rerank")
    '^http://10[.]0[.]0[.]7:8080/v1/rerank$'
    """
    return f"^{re.escape(endpoint)}$".replace(r"\.", "[.]").replace(r"\-", "-")


def rerank_endpoint(service_url: str) -> str:
    """The URL of the service that the cluster calls.

    >>> rerank_endpoint("http://sinkrank.internal:8080/")
    'http://sinkrank.internal:8080/v1/rerank'

    Raises:
        WrongParameter: it is not an http or https URL, or contains credentials, which everyone could read in the
            cluster.
    """
    try:
        parts = urlsplit(service_url)
        is_url = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_url = False
    # The messages omit the URL, which may contain a password. `$` would begin a parameter of the connector.
    if not is_url or parts.query or parts.fragment or not regex.fullmatch(r"[!-#%-~]+", service_url):
        raise WrongParameter("the URL of the service is not valid; give it as http://HOST:PORT or https://HOST")
    if parts.username is not None or parts.password is not None:
        raise WrongParameter("the URL of the service contains credentials, which a cluster would show; leave them out")
    return service_url.rstrip("/") + _RERANK_PATH


def check_fields(fields: tuple[str, ...]) -> tuple[str, ...]:
    """The fields, if the processor can read them.

    Raises:
        WrongParameter: one is empty, or is not at the top level.
    """
    for name in fields:
        if not name.strip() or "." in name or "*" in name:
            raise WrongParameter(
                f"field {name!r} cannot be used: OpenSearch's rerank processor reads only top-level fields of _source; "
                f"name one of these"
            )
    return fields
