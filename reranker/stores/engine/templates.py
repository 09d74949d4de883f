"""Installs index templates, so that an index that others make (a lifecycle policy, an operator) has our mapping. Finds
out which settings of a new index the engine's templates decide."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import opensearchpy
from opensearchpy import exceptions

from reranker.base.errors import NotFound
from reranker.stores.base.names import check_index_name

# Above the engines' own templates (100 to 200); an operator can choose a higher one.
_PRIORITY = 300

# For an index that we make, a template decides the first, and the version before it the second.
_LEFT_TO_TEMPLATES = ("number_of_shards", "number_of_replicas", "auto_expand_replicas")
_KEPT_IN_NEW_VERSIONS = ("default_pipeline", "final_pipeline")
# The number of copies is fixed or a range; whoever sets the number wants no range.
_REPLICAS = ("number_of_replicas", "auto_expand_replicas")


def template_name(index: str) -> str:
    return f"sinkrank-{check_index_name(index)}"


def template_body(index: str, definition: Mapping[str, Any], settings: Mapping[str, str]) -> dict[str, Any]:
    """Builds a composable template for an index and all with its name and a hyphen in front (`pages-000002`).

    Args:
        definition: of an index, from `mappings.index_definition`.
        settings: index settings to add or replace, such as `number_of_shards` or `lifecycle.name`.
    """
    given = {name.removeprefix("index."): value for name, value in settings.items()}
    ours = dict(definition["settings"]["index"])
    if "number_of_replicas" in given:
        ours.pop("auto_expand_replicas", None)
    return {
        "index_patterns": [index, f"{index}-*"],
        "priority": _PRIORITY,
        "template": {"settings": {"index": {**ours, **given}}, "mappings": definition["mappings"]},
        "_meta": {"sinkrank": {"index": index}},
    }


class EngineTemplates:
    """The index templates of one engine."""

    def __init__(self, client: opensearchpy.OpenSearch) -> None:
        self._client = client

    def install(self, index: str, body: Mapping[str, Any]) -> str:
        """Installs or replaces a template and returns its name."""
        name = template_name(index)
        self._client.indices.put_index_template(name=name, body=body)
        return name

    def remove(self, index: str) -> str:
        """Deletes the template and returns its name.

        Raises:
            NotFound: there is none.
        """
        name = template_name(index)
        try:
            self._client.indices.delete_index_template(name=name)
        except exceptions.NotFoundError:
            raise NotFound(f"there is no template {name!r}; `sinkrank ingest template` installs one") from None
        return name

    def adapted(self, name: str, definition: dict[str, Any], version_of: str | None) -> dict[str, Any]:
        """Returns the definition of a new index without the settings that the engine's templates decide, and with the
        ingest pipelines of the version before."""
        settings = definition["settings"]["index"]
        decided = self._settings_of_templates(name)
        for option in _LEFT_TO_TEMPLATES:
            if option in decided or (option in _REPLICAS and not decided.keys().isdisjoint(_REPLICAS)):
                settings.pop(option, None)
        return {**definition, "settings": {"index": {**settings, **self._kept(version_of)}}}

    def _settings_of_templates(self, name: str) -> dict[str, Any]:
        try:
            answer = self._client.transport.perform_request("POST", f"/_index_template/_simulate_index/{name}")
        except exceptions.TransportError as error:
            if error.status_code in (400, 403, 404, 405):
                return {}  # the user lacks the right, or the service has no templates
            raise
        found = answer.get("template", {}).get("settings", {}).get("index", {})
        return dict(found) if isinstance(found, dict) else {}

    def _kept(self, version_of: str | None) -> dict[str, Any]:
        if version_of is None:
            return {}
        try:
            found = self._client.indices.get_settings(index=version_of)
        except exceptions.NotFoundError:
            return {}
        before: dict[str, Any] = next((one["settings"]["index"] for one in found.values()), {})
        return {option: before[option] for option in _KEPT_IN_NEW_VERSIONS if option in before}
