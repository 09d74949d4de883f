"""Finds out which settings of a new index the engine's index templates decide."""

from __future__ import annotations

from typing import Any

import opensearchpy
from opensearchpy import exceptions

# For an index that we make, a template decides the first, and the version before it the second.
_LEFT_TO_TEMPLATES = ("number_of_shards", "number_of_replicas", "auto_expand_replicas")
_KEPT_IN_NEW_VERSIONS = ("default_pipeline", "final_pipeline")
# The number of copies is fixed or a range; whoever sets the number wants no range.
_REPLICAS = ("number_of_replicas", "auto_expand_replicas")


def adapted(
    client: opensearchpy.OpenSearch, name: str, definition: dict[str, Any], version_of: str | None
) -> dict[str, Any]:
    """Returns the definition of a new index without the settings that the engine's templates decide, and with the
    ingest pipelines of the version before."""
    settings = definition["settings"]["index"]
    decided = _settings_of_templates(client, name)
    for option in _LEFT_TO_TEMPLATES:
        if option in decided or (option in _REPLICAS and not decided.keys().isdisjoint(_REPLICAS)):
            settings.pop(option, None)
    pipelines = {} if version_of is None else _pipelines(client, version_of)
    return {**definition, "settings": {"index": {**settings, **pipelines}}}


def _settings_of_templates(client: opensearchpy.OpenSearch, name: str) -> dict[str, Any]:
    try:
        answer = client.transport.perform_request("POST", f"/_index_template/_simulate_index/{name}")
    except exceptions.TransportError as error:
        if error.status_code in (400, 403, 404, 405):
            return {}  # the user lacks the right, or the service has no templates
        raise
    found = answer.get("template", {}).get("settings", {}).get("index", {})
    return dict(found) if isinstance(found, dict) else {}


def _pipelines(client: opensearchpy.OpenSearch, version_of: str) -> dict[str, Any]:
    try:
        found = client.indices.get_settings(index=version_of)
    except exceptions.NotFoundError:
        return {}
    before: dict[str, Any] = next((one["settings"]["index"] for one in found.values()), {})
    return {option: before[option] for option in _KEPT_IN_NEW_VERSIONS if option in before}
