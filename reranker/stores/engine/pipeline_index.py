"""Reads the fields of an index for a search pipeline; reads and sets its default pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import opensearchpy

from reranker.base.errors import BadInput, NotOurIndex
from reranker.stores.base.description import IndexDescription
from reranker.stores.engine.pipeline_definition import STORED_BAG_FIELDS

_DEFAULT_PIPELINE = "index.search.default_pipeline"


@dataclass(frozen=True, slots=True)
class PipelineIndex:
    """An index that a pipeline is for.

    Attributes:
        name: its own name, also if it was requested by an alias.
        is_ours: whether Sinkrank made it.
        field_types: types of the top-level fields; None for a field with sub-fields.
        default_pipeline: None if there is none.
    """

    name: str
    is_ours: bool
    field_types: Mapping[str, str | None]
    default_pipeline: str | None

    def fields(self, wanted: tuple[str, ...]) -> tuple[str, ...]:
        """The fields to rank by: the stored bags of an index that Sinkrank made, which need no tokenising; otherwise
        the wanted fields, or all text fields.

        Raises:
            BadInput: there is no such field, or no text field.
        """
        if self.is_ours:
            if wanted:
                raise BadInput(f"index {self.name!r} is ranked by its stored bags of words; leave out --field")
            return STORED_BAG_FIELDS
        known = ", ".join(self.field_types) or "none"
        for name in wanted:
            if name not in self.field_types:
                raise BadInput(f"index {self.name!r} has no field {name!r} at the top level (it has {known})")
        texts = tuple(name for name, kind in self.field_types.items() if kind == "text")
        if not wanted and not texts:
            raise BadInput(
                f"index {self.name!r} has no text field at the top level (it has {known}); name the fields to rank by "
                f"with --field"
            )
        return wanted or texts

    def check_default(self, pipeline: str) -> None:
        """
        Raises:
            BadInput: the index has another default pipeline.
        """
        if self.default_pipeline not in (None, "_none", pipeline):
            raise BadInput(
                f"index {self.name!r} has the default search pipeline {self.default_pipeline!r} already; install "
                f"without --default and name the pipeline in searches, or set {_DEFAULT_PIPELINE} to null first"
            )


class PipelineIndices:
    """The indices of a cluster, for pipelines. Errors of opensearch-py pass through."""

    def __init__(self, client: opensearchpy.OpenSearch, timeout_s: float) -> None:
        self._client = client
        self._timeout_s = timeout_s

    def read(self, index: str) -> PipelineIndex:
        """
        Raises:
            BadInput: the name is an alias of several indices.
        """
        params = {"flat_settings": "true", "filter_path": "*.settings,*.mappings._meta,*.mappings.properties"}
        answer = self._client.indices.get(index=index, params=params)
        if len(answer) != 1:
            raise BadInput(
                f"{index!r} stands for {len(answer)} indices ({', '.join(sorted(answer))}); name one of them"
            )
        ((own_name, found),) = answer.items()
        mappings = found.get("mappings", {})
        types = {name: field.get("type") for name, field in mappings.get("properties", {}).items()}
        try:
            IndexDescription.from_meta(mappings.get("_meta"), index)
            is_ours = True
        except NotOurIndex:
            is_ours = False
        return PipelineIndex(own_name, is_ours, types, found["settings"].get(_DEFAULT_PIPELINE))

    def with_default(self, pipeline: str) -> tuple[str, ...]:
        """The indices, also hidden ones, with this default pipeline."""
        params = {"flat_settings": "true", "expand_wildcards": "all"}
        found = self._client.indices.get_settings(index="_all", name=_DEFAULT_PIPELINE, params=params)
        return tuple(index for index, one in found.items() if one["settings"][_DEFAULT_PIPELINE] == pipeline)

    def set_default(self, index: str, pipeline: str | None) -> None:
        body = {_DEFAULT_PIPELINE: pipeline}
        self._client.indices.put_settings(index=index, body=body, params={"request_timeout": self._timeout_s})
