"""What `sinkrank pipeline` is asked for, puts into a cluster and says of it, as data.

The connector asks the service's `/v1/rerank`, the model stands for the connector, and the `rerank` processor of the
pipeline hands the model the fields of each hit. That processor reads top-level fields of `_source` alone, and joins
several of one hit without a space between them (neural-search 2.19.1).
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

# What marks the objects that are ours to change and to delete; the index's name follows.
MADE_BY = "Made by `sinkrank pipeline install` for the index"

# Of an index of ours. The packed bag carries the same words as a search of ours reads; the text fields of such an index
# lie one level too deep for the processor.
STORED_BAG_FIELDS = ("lang", "bag")

_RERANK_PATH = "/v1/rerank"
_NAME = regex.compile(r"[a-z0-9][a-z0-9_.\-]{0,127}")

# In seconds, as ml-commons 2.19.1 counts them. A search waits no longer; it comes back in the engine's order then.
_CONNECT_TIMEOUT_S = 2
_READ_TIMEOUT_S = 10


@dataclass(frozen=True, slots=True)
class PipelineRequest:
    """What to install.

    Attributes:
        service_url: where the cluster reaches the service.
        fields: to rank by; empty for the stored bags of an index of ours, or the text fields of any other.
        is_default: whether searches of the index that name no pipeline take this one.
        allow_endpoint: whether the cluster's settings may be changed so that it may call the service.
        api_key: of the service, if it asks for one.
    """

    index: str
    service_url: str
    name: str | None = None
    fields: tuple[str, ...] = ()
    method: str | None = None
    language: str | None = None
    is_default: bool = False
    allow_endpoint: bool = False
    api_key: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class InstalledPipeline:
    """What there is after an installation.

    Attributes:
        changed_settings: of the cluster, with their new values.
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
    """What was taken away.

    Attributes:
        was_default_of: indices whose default it was.
        private_addresses_allowed: whether the cluster may still call private addresses, which is left as it is: other
            connectors may need it.
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
    """One pipeline: what it is called, which index it is for, and where and how the service is asked.

    Attributes:
        name: of the pipeline, the connector, the model and the model group alike.
        endpoint: the URL that the cluster calls.
        fields: of a hit's `_source`, that are ranked by.
        is_ours: whether Sinkrank made the index: its words are then weighed as a search of that index weighs them.
        method: of `transport.METHODS`; the service's own where it is None.
        language: of the queries; guessed where it is None.
        api_key: of the service; the cluster keeps it encrypted and gives it to nobody.
    """

    name: str
    index: str
    endpoint: str
    fields: tuple[str, ...]
    is_ours: bool
    method: str | None = None
    language: str | None = None
    api_key: str | None = field(default=None, repr=False)

    @property
    def description(self) -> str:
        return f"{MADE_BY} {self.index}"

    def connector(self) -> dict[str, Any]:
        """The body of `POST /_plugins/_ml/connectors/_create`."""
        headers = {"content-type": "application/json"}
        if self.api_key is not None:
            headers["X-Api-Key"] = "${credential.key}"
        return {
            "name": self.name,
            "description": self.description,
            "version": 1,
            "protocol": "http",
            "parameters": {},
            # ml-commons takes no connector without one.
            "credential": {"none": "none"} if self.api_key is None else {"key": self.api_key},
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
        fixed = {"index": self.index if self.is_ours else None, "method": self.method, "language": self.language}
        parts = ['"query": "${parameters.query}"', '"documents": ${parameters.documents}']
        parts += [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in fixed.items() if value is not None]
        return "{" + ", ".join(parts) + "}"

    def pipeline(self, model_id: str) -> dict[str, Any]:
        """The body of `PUT /_search/pipeline/NAME`."""
        processor = {
            "ml_opensearch": {"model_id": model_id},
            "context": {"document_fields": list(self.fields)},
            # Without it a search that gives no query text, or meets a service that is down, fails with status 500.
            "ignore_failure": True,
        }
        return {"description": self.description, "response_processors": [{"rerank": processor}]}


def default_name(index: str) -> str:
    """What the pipeline of an index is called where nobody says."""
    return f"sinkrank-{index}"


def is_same_connector(wanted: Mapping[str, Any], found: Mapping[str, Any]) -> bool:
    """Whether a connector as ml-commons gives it back asks the same of the same service. Never with an API key, which
    it does not give back."""
    if "key" in wanted["credential"]:
        return False
    (asked,), given = wanted["actions"], found.get("actions") or [{}]
    same_call = all(given[0].get(key) == value for key, value in asked.items() if key != "action_type")
    limits = found.get("client_config") or {}
    return same_call and all(limits.get(key) == value for key, value in wanted["client_config"].items())


def trusted_pattern(endpoint: str) -> str:
    """A regular expression, for Java too, that one URL alone matches; mostly without backslashes, which JSON doubles.

    >>> trusted_pattern("http://10.0.0.7:8080/v1/rerank")
    '^http://10[.]0[.]0[.]7:8080/v1/rerank$'
    """
    return f"^{re.escape(endpoint)}$".replace(r"\.", "[.]").replace(r"\-", "-")


def rerank_endpoint(service_url: str) -> str:
    """The URL that the cluster calls of a service.

    >>> rerank_endpoint("http://sinkrank.internal:8080/")
    'http://sinkrank.internal:8080/v1/rerank'

    Raises:
        WrongParameter: no http or https URL, or one with credentials: those would lie in the cluster for all to read.
    """
    try:
        parts = urlsplit(service_url)
        is_url = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_url = False
    # The URL itself is left out of the messages: it may hold a password. `$` would begin a parameter of the connector.
    if not is_url or parts.query or parts.fragment or not regex.fullmatch(r"[!-#%-~]+", service_url):
        raise WrongParameter("the service's URL is no URL of a service; give it as http://HOST:PORT or https://HOST")
    if parts.username is not None or parts.password is not None:
        raise WrongParameter("the service's URL holds credentials, which a cluster would show; give it without them")
    return service_url.rstrip("/") + _RERANK_PATH


def check_pipeline_name(name: str) -> str:
    """The name, if it can be that of a pipeline.

    Raises:
        WrongParameter: otherwise; it becomes part of a path.
    """
    if not _NAME.fullmatch(name):
        raise WrongParameter(
            f"{name!r} cannot be a pipeline; use up to 128 lower-case letters, digits, '_', '-' and '.', with a letter "
            f"or digit first"
        )
    return name


def check_fields(fields: tuple[str, ...]) -> tuple[str, ...]:
    """The fields, if the processor can read them.

    Raises:
        WrongParameter: one is empty, or lies below another.
    """
    for name in fields:
        if not name.strip() or "." in name or "*" in name:
            raise WrongParameter(
                f"field {name!r} cannot be ranked by: OpenSearch's rerank processor reads top-level fields of _source "
                f"alone; name one of these"
            )
    return fields
