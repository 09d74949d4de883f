"""Finds, creates and deletes connectors, model groups and models of ml-commons by name."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import opensearchpy
from opensearchpy import exceptions

from reranker.base.errors import BadInput, StoreUnavailable
from reranker.stores.engine.client import failure_reason
from reranker.stores.engine.pipeline_definition import MADE_BY

_ROOT = "/_plugins/_ml"
_CONNECTORS = f"{_ROOT}/connectors"
_GROUPS = f"{_ROOT}/model_groups"
_MODELS = f"{_ROOT}/models"

# An interrupted installation leaves one or two objects with a name; a cluster has some dozens of connectors.
_MAX_FOUND = 1_000

# Some nodes are enough, since the others forward their searches.
_DEPLOYED = ("DEPLOYED", "PARTIALLY_DEPLOYED")
_DEPLOY_LIMIT_S = 60.0
# ml-commons searches a connector's models in an index, which shows a deleted model until its next refresh, usually a
# second later.
_DELETE_LIMIT_S = 20.0
_POLL_S = 0.2


@dataclass(frozen=True, slots=True)
class MlObject:
    """A connector, model group or model in the cluster."""

    id: str
    source: Mapping[str, Any]


class MlCommons:
    """The calls of ml-commons for a search pipeline. Errors of opensearch-py pass through."""

    def __init__(
        self,
        client: opensearchpy.OpenSearch,
        timeout_s: float,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._client = client
        self._timeout_s = timeout_s
        self._clock = clock
        self._sleep = sleep

    def connectors(self, name: str) -> list[MlObject]:
        return self._ours(_CONNECTORS, name)

    def groups(self, name: str) -> list[MlObject]:
        return self._ours(_GROUPS, name)

    def models(self, name: str) -> list[MlObject]:
        return self._ours(_MODELS, name)

    def connectors_to(self, endpoint: str) -> list[MlObject]:
        """All connectors of the cluster that call this URL."""
        found = self._search(_CONNECTORS, {"match_all": {}})
        return [one for one in found if any(action.get("url") == endpoint for action in one.source.get("actions", ()))]

    def make_connector(self, body: Mapping[str, Any]) -> str:
        """Returns its id. An untrusted endpoint gives a RequestError."""
        return str(self._send("POST", f"{_CONNECTORS}/_create", body)["connector_id"])

    def make_group(self, name: str, description: str) -> str:
        body = {"name": name, "description": description}
        return str(self._send("POST", f"{_GROUPS}/_register", body)["model_group_id"])

    def make_model(self, name: str, description: str, group_id: str, connector_id: str) -> str:
        body = {
            "name": name,
            "description": description,
            "function_name": "remote",
            "model_group_id": group_id,
            "connector_id": connector_id,
        }
        return str(self._send("POST", f"{_MODELS}/_register", body)["model_id"])

    def deploy(self, model_id: str) -> None:
        """Deploys a model and waits until it is deployed.

        Raises:
            StoreUnavailable: it failed, or took a minute.
        """
        deadline = self._clock() + _DEPLOY_LIMIT_S
        if self._state(model_id) not in (*_DEPLOYED, "DEPLOYING"):
            self._send("POST", f"{_MODELS}/{model_id}/_deploy")
        while (state := self._state(model_id)) not in _DEPLOYED:
            if state == "DEPLOY_FAILED" or self._clock() > deadline:
                raise StoreUnavailable(
                    f"the cluster did not deploy the model {model_id} (state {state}); see its log, and whether a node "
                    f"may run it (plugins.ml_commons.only_run_on_ml_node)"
                )
            self._sleep(_POLL_S)

    def try_out(self, model_id: str) -> None:
        """Ranks one document with the model. A failure, as a search would have it, is a TransportError."""
        body = {"query_text": "sinkrank", "text_docs": ["sinkrank"]}
        self._send("POST", f"{_ROOT}/_predict/text_similarity/{model_id}", body)

    def delete_connector(self, connector_id: str) -> None:
        """Deletes a connector, after the cluster has noticed that its models are deleted.

        Raises:
            BadInput: a model still uses it after 20 seconds.
        """
        deadline = self._clock() + _DELETE_LIMIT_S
        while True:
            try:
                self._send("DELETE", f"{_CONNECTORS}/{connector_id}")
            except exceptions.ConflictError as error:
                if self._clock() > deadline:
                    raise BadInput(
                        f"the connector {connector_id} cannot be deleted ({failure_reason(error)}); delete what uses "
                        f"it, then run this again"
                    ) from error
                self._sleep(_POLL_S)
            else:
                return

    def delete_group(self, group_id: str) -> None:
        self._send("DELETE", f"{_GROUPS}/{group_id}")

    def delete_model(self, model_id: str) -> None:
        """Undeploys and deletes a model; it is no error if it is missing."""
        try:
            self._send("POST", f"{_MODELS}/{model_id}/_undeploy")
            self._send("DELETE", f"{_MODELS}/{model_id}")
        except exceptions.NotFoundError:
            pass

    def _ours(self, path: str, name: str) -> list[MlObject]:
        """Objects of that name, the oldest first.

        Raises:
            BadInput: Sinkrank did not make one of them.
        """
        found = self._search(path, {"term": {"name.keyword": name}})
        for one in found:
            if not str(one.source.get("description", "")).startswith(MADE_BY):
                raise BadInput(
                    f"the cluster has {name!r} already ({path.removeprefix(_ROOT)}/{one.id}), and Sinkrank did not "
                    f"make it; delete it first"
                )
        return sorted(found, key=lambda one: (one.source.get("created_time", 0), one.id))

    def _search(self, path: str, query: Mapping[str, Any]) -> list[MlObject]:
        answer = self._send("POST", f"{path}/_search", {"size": _MAX_FOUND, "query": query})
        return [MlObject(hit["_id"], hit["_source"]) for hit in answer["hits"]["hits"]]

    def _state(self, model_id: str) -> str:
        return str(self._send("GET", f"{_MODELS}/{model_id}").get("model_state"))

    def _send(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        params = {"request_timeout": self._timeout_s}
        try:
            return self._client.transport.perform_request(method, path, params=params, body=body)
        except exceptions.RequestError as error:
            if "no handler found" not in failure_reason(error):
                raise
            raise BadInput(
                "the cluster has no ml-commons (nothing answers at /_plugins/_ml); install OpenSearch's plugins "
                "opensearch-ml and opensearch-neural-search, or use the proxy, which needs neither"
            ) from error
