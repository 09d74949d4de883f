"""Keeps the versions of an engine's index behind an alias with the index's name, and moves the alias in one step."""

from __future__ import annotations

from typing import Any

import opensearchpy

from reranker.base.errors import BadInput, NotFound
from reranker.stores.base.names import RUN, VERSION_OF, IndexVersion, index_of_version

_META = "*.mappings._meta.sinkrank"


def index_names(client: opensearchpy.OpenSearch) -> list[str]:
    """Returns the sorted names by which searches find our indices."""
    found = client.indices.get_mapping(params={"filter_path": _META})
    parents = {name: _parent(one) for name, one in found.items()}
    serving = {name for names in _aliases(client).values() for name in names}
    with_versions = {parent for parent in parents.values() if parent is not None}
    return sorted({name for name, parent in parents.items() if parent is None} | (with_versions & serving))


def versions_of(client: opensearchpy.OpenSearch, index: str) -> list[IndexVersion]:
    """Returns the versions of an index, oldest first."""
    found = client.indices.get_mapping(params={"filter_path": _META})
    aliases = _aliases(client)
    return [
        IndexVersion(name, index in aliases.get(name, ()), _section(found[name]).get(RUN))
        for name in sorted(found)
        if _parent(found[name]) == index
    ]


def forget_run(client: opensearchpy.OpenSearch, version: str, timeout_s: float) -> None:
    """Forgets the run that makes a version."""
    meta = client.indices.get_mapping(index=version)[version]["mappings"]["_meta"]
    if meta["sinkrank"].pop(RUN, None) is not None:
        client.indices.put_mapping(index=version, body={"_meta": meta}, request_timeout=timeout_s)


def move_alias(client: opensearchpy.OpenSearch, index: str, version: str, timeout_s: float) -> None:
    """Makes the index's name an alias of this version alone.

    Raises:
        NotFound: there is no such version.
    """
    versions = versions_of(client, index)
    names = [one.name for one in versions]
    if version not in names:
        raise NotFound(f"index {index!r} has no version {version!r}; it has {', '.join(names) or 'none'}")
    actions: list[dict[str, Any]] = [
        {"remove": {"index": one.name, "alias": index}} for one in versions if one.is_serving and one.name != version
    ]
    actions.append({"add": {"index": version, "alias": index}})
    client.indices.update_aliases(body={"actions": actions}, request_timeout=timeout_s)


def check_name_is_free(client: opensearchpy.OpenSearch, index: str) -> None:
    """
    Raises:
        BadInput: an index has the name itself, or the name is an alias of another index than a version of this one.
    """
    parent = index_of_version(index)
    if parent is not None and index in {version.name for version in versions_of(client, parent)}:
        raise BadInput(f"{index!r} is a version of the index {parent!r}; use --index {parent}")
    ours = {version.name for version in versions_of(client, index)}
    others = sorted(
        name for name, aliases in _aliases(client).items() if name == index or (index in aliases and name not in ours)
    )
    if index in others:
        raise BadInput(
            f"{index!r} is an index without versions, which another program made, so it cannot be rebuilt; take "
            f"another name, or delete it"
        )
    if others:
        raise BadInput(
            f"{index!r} is an alias for {', '.join(others)}, which Sinkrank did not make as its version; take "
            f"another name, or remove the alias"
        )


def _aliases(client: opensearchpy.OpenSearch) -> dict[str, tuple[str, ...]]:
    """The aliases of each index."""
    found = client.transport.perform_request("GET", "/_alias")
    return {name: tuple(one.get("aliases", ())) for name, one in found.items()}


def _parent(found: dict[str, Any]) -> str | None:
    """Returns the index of which an index is a version."""
    return _section(found).get(VERSION_OF)


def _section(found: dict[str, Any]) -> dict[str, Any]:
    return found["mappings"]["_meta"]["sinkrank"]  # type: ignore[no-any-return]
