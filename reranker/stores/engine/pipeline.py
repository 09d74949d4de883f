"""Installs an OpenSearch search pipeline that re-ranks with the service, and removes it.

Both find existing objects by name, so the next run completes an interrupted one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from opensearchpy import exceptions

from reranker.base.errors import BadInput, StoreUnavailable
from reranker.stores.engine.client import (
    connect,
    detect_distribution,
    engine_errors,
    failure_reason,
)
from reranker.stores.engine.cluster_settings import PRIVATE_ADDRESSES, TRUSTED_ENDPOINTS, ClusterSettings
from reranker.stores.engine.ml import MlCommons, MlObject
from reranker.stores.engine.pipeline_definition import (
    MADE_BY,
    InstalledPipeline,
    PipelineDefinition,
    PipelineRequest,
    RemovedPipeline,
    check_fields,
    is_same_connector,
    pipeline_name,
    rerank_endpoint,
    trusted_pattern,
)
from reranker.stores.engine.pipeline_index import PipelineIndex, PipelineIndices
from reranker.upstream.access import EngineAccess
from reranker.upstream.addresses import EngineAddress
from reranker.upstream.nodes import Upstream

_PROCESSOR = "rerank"

# Registering and deploying wait for the whole cluster.
_LEAST_TIMEOUT_S = 60.0


class EnginePipelines:
    """Search pipelines of one OpenSearch cluster.

    Raises, in all methods:
        StoreUnavailable: the cluster cannot be reached, forbids a step or fails.
        BadInput: it is not OpenSearch, lacks ml-commons or neural-search, or has another object of that name.
    """

    def __init__(
        self,
        address: EngineAddress,
        access: EngineAccess = EngineAccess(),
        *,
        timeout_s: float = 30.0,
    ) -> None:
        self._address = address.shown
        self._timeout_s = max(_LEAST_TIMEOUT_S, timeout_s)
        self._client = connect(Upstream(address, access, timeout_s))
        self._ml = MlCommons(self._client, self._timeout_s)
        self._settings = ClusterSettings(self._client)
        self._indices = PipelineIndices(self._client, self._timeout_s)

    def close(self) -> None:
        self._client.close()

    def install(self, request: PipelineRequest) -> InstalledPipeline:
        """Creates what is missing, replaces what differs, and tests it before searches use it.

        Raises:
            WrongParameter: the name of the index, a field or the URL is not valid.
            NotFound: there is no such index.
        """
        name = pipeline_name(request.index)
        endpoint, fields = rerank_endpoint(request.service_url), check_fields(request.fields)
        with engine_errors(self._address, request.index):
            self._check_engine()
            index = self._indices.read(request.index)
            if request.is_default:
                index.check_default(name)
            return self._install(PipelineDefinition(request, endpoint, index.fields(fields), index.is_ours), index)

    def remove(self, index: str) -> RemovedPipeline:
        """Removes everything that `install` created for an index. It is no error if nothing is there."""
        name = pipeline_name(index)
        # With a name, a 404 does not count as an address without an engine.
        with engine_errors(self._address, name):
            has_pipeline = self._is_installed(name)
            connectors, models, groups = self._ml.connectors(name), self._ml.models(name), self._ml.groups(name)
            # In this order searches work after each step.
            default_of = self._indices.with_default(name)
            for one in default_of:
                self._indices.set_default(one, None)
            if has_pipeline:
                self._call("DELETE", f"/_search/pipeline/{name}")
            untrusted = self._distrust(connectors)
            self._delete(models, groups, connectors)
            return RemovedPipeline(
                name=name,
                was_default_of=default_of,
                pipelines=int(has_pipeline),
                models=len(models),
                model_groups=len(groups),
                connectors=len(connectors),
                untrusted=untrusted,
                private_addresses_allowed=self._settings.allows_private_addresses(),
            )

    def _install(self, wanted: PipelineDefinition, index: PipelineIndex) -> InstalledPipeline:
        request = wanted.request
        self._is_installed(wanted.name)
        changed: dict[str, Any] = {}
        connector_id = self._connector(wanted, request.allow_endpoint, changed)
        model_id = self._model(wanted, connector_id)
        self._ml.deploy(model_id)
        self._try_out(model_id, wanted.endpoint, request.allow_endpoint, changed)
        self._call("PUT", f"/_search/pipeline/{wanted.name}", wanted.pipeline(model_id))
        if request.is_default:
            self._indices.set_default(index.name, wanted.name)
        # Objects of an earlier definition, or of an interrupted run.
        self._delete(
            [one for one in self._ml.models(wanted.name) if one.id != model_id],
            [],
            [one for one in self._ml.connectors(wanted.name) if one.id != connector_id],
        )
        return InstalledPipeline(
            name=wanted.name,
            index=request.index,
            endpoint=wanted.endpoint,
            fields=wanted.fields,
            connector_id=connector_id,
            model_id=model_id,
            is_default=request.is_default or index.default_pipeline == wanted.name,
            changed_settings=changed,
        )

    def _check_engine(self) -> None:
        if detect_distribution(self._client) != "opensearch":
            raise BadInput(f"{self._address} is Elasticsearch, which has no search pipelines; use the proxy")
        path = "/_nodes/search_pipelines?filter_path=nodes.*.search_pipelines.response_processors.type"
        nodes = self._call("GET", path).get("nodes", {})
        kinds = [
            {processor["type"] for processor in node["search_pipelines"]["response_processors"]}
            for node in nodes.values()
        ]
        if not kinds or not all(_PROCESSOR in types for types in kinds):
            raise BadInput(
                f"{self._address} has a node without the rerank processor; install OpenSearch's plugins opensearch-ml "
                f"and opensearch-neural-search on each, or use the proxy, which needs neither"
            )

    def _is_installed(self, name: str) -> bool:
        """Whether there is a pipeline of this name.

        Raises:
            BadInput: Sinkrank did not make it.
        """
        try:
            found = self._call("GET", f"/_search/pipeline/{name}")
        except exceptions.NotFoundError:
            return False
        # A cluster without any pipeline answers 200.
        if name not in found:
            return False
        if not str(found[name].get("description", "")).startswith(MADE_BY):
            raise BadInput(f"the cluster has a search pipeline {name!r} that Sinkrank did not make; delete it first")
        return True

    def _connector(self, wanted: PipelineDefinition, allow_endpoint: bool, changed: dict[str, Any]) -> str:
        body = wanted.connector()
        for one in self._ml.connectors(wanted.name):
            if is_same_connector(body, one.source):
                return one.id
        try:
            return self._ml.make_connector(body)
        except exceptions.RequestError as error:
            if "trusted connector endpoint" not in failure_reason(error):
                raise
            pattern = trusted_pattern(wanted.endpoint)
            if not allow_endpoint:
                raise BadInput(
                    f"the cluster may not call {wanted.endpoint}: no pattern of {TRUSTED_ENDPOINTS} matches it. Add "
                    f"'{pattern}' to that list (and, for a private address, set {PRIVATE_ADDRESSES} to true), or let "
                    f"--allow-endpoint do so"
                ) from error
        changed[TRUSTED_ENDPOINTS] = self._settings.trust(pattern)
        return self._ml.make_connector(body)

    def _model(self, wanted: PipelineDefinition, connector_id: str) -> str:
        for one in self._ml.models(wanted.name):
            if one.source.get("connector_id") == connector_id:
                return one.id
        groups = self._ml.groups(wanted.name)
        group_id = groups[0].id if groups else self._ml.make_group(wanted.name, wanted.description)
        return self._ml.make_model(wanted.name, wanted.description, group_id, connector_id)

    def _try_out(self, model_id: str, endpoint: str, allow_endpoint: bool, changed: dict[str, Any]) -> None:
        with _asking_the_service(endpoint):
            try:
                return self._ml.try_out(model_id)
            except exceptions.TransportError as error:
                if "private ip" not in failure_reason(error):
                    raise
                if not allow_endpoint:
                    raise BadInput(
                        f"the cluster may not call {endpoint}, whose address is a private one: set {PRIVATE_ADDRESSES} "
                        f"to true, or let --allow-endpoint do so"
                    ) from error
            self._settings.allow_private_addresses()
            changed[PRIVATE_ADDRESSES] = True
            self._ml.try_out(model_id)

    def _distrust(self, connectors: Sequence[MlObject]) -> tuple[str, ...]:
        """Removes the patterns of connectors from the trusted list, unless another connector calls the same URL."""
        ids = {one.id for one in connectors}
        endpoints = {str(action.get("url")) for one in connectors for action in one.source.get("actions", ())}
        left = [url for url in sorted(endpoints) if all(one.id in ids for one in self._ml.connectors_to(url))]
        return self._settings.distrust([trusted_pattern(url) for url in left])

    def _delete(self, models: Sequence[MlObject], groups: Sequence[MlObject], connectors: Sequence[MlObject]) -> None:
        for model in models:
            self._ml.delete_model(model.id)
        for group in groups:
            self._ml.delete_group(group.id)
        for connector in connectors:
            self._ml.delete_connector(connector.id)

    def _call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        params = {"request_timeout": self._timeout_s}
        return self._client.transport.perform_request(method, path, params=params, body=body)


@contextmanager
def _asking_the_service(endpoint: str) -> Iterator[None]:
    """Distinguishes a service that does not answer the cluster from a cluster that does not answer us."""
    try:
        yield
    except (exceptions.ConnectionError, exceptions.AuthenticationException, exceptions.AuthorizationException):
        raise
    except exceptions.TransportError as error:
        raise StoreUnavailable(
            f"the cluster cannot rank by {endpoint} ({failure_reason(error)}); start the service with `sinkrank "
            f"serve`, on an address that the cluster reaches, with the store that has the index"
        ) from error
