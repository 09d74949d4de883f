"""Keeps the versions of an engine's index behind an alias with the index's name, and moves the alias in one step."""

from __future__ import annotations

from typing import Any

import opensearchpy
from opensearchpy import exceptions

from reranker.base.errors import BadInput, NotFound
from reranker.stores.base.names import VERSION_OF, IndexVersion, unversioned_name, version_name
from reranker.stores.engine.idf import EngineIdf

_META = "*.mappings._meta.sinkrank"
_BLOCK = "index.blocks.write"


class EngineVersions:
    """The versions of one engine's indices."""

    def __init__(self, client: opensearchpy.OpenSearch, idf: EngineIdf, timeout_s: float) -> None:
        self._client = client
        self._idf = idf
        self._timeout_s = timeout_s

    def indices(self) -> list[str]:
        """Returns the sorted names by which searches find our indices."""
        found = self._client.indices.get_mapping(params={"filter_path": _META})
        parents = {name: _parent(one) for name, one in found.items()}
        serving = {name for names in self._aliases().values() for name in names}
        with_versions = {parent for parent in parents.values() if parent is not None}
        return sorted({name for name, parent in parents.items() if parent is None} | (with_versions & serving))

    def of(self, index: str) -> list[IndexVersion]:
        """Returns the versions of an index, oldest first."""
        found = self._client.indices.get_mapping(params={"filter_path": _META})
        aliases = self._aliases()
        return [
            IndexVersion(name, index in aliases.get(name, ()))
            for name in sorted(found)
            if _parent(found[name]) == index
        ]

    def next_name(self, index: str) -> str:
        """The name of the next version."""
        return version_name(index, [version.name for version in self.of(index)])

    def promote(self, index: str, version: str) -> None:
        """Moves the alias to this version. An index without versions becomes one: it is cloned (its files are linked,
        not copied), and the step that adds the alias deletes the original.

        Raises:
            NotFound: there is no such version.
        """
        versions = self.of(index)
        if version not in (one.name for one in versions):
            raise NotFound(f"index {index!r} has no version {version!r}; `sinkrank ingest versions` shows those it has")
        actions: list[dict[str, Any]] = [
            {"remove": {"index": one.name, "alias": index}}
            for one in versions
            if one.is_serving and one.name != version
        ]
        if self._is_concrete(index):
            self._clone(index)
            actions.append({"remove_index": {"index": index}})
        actions.append({"add": {"index": version, "alias": index}})
        self._client.indices.update_aliases(body={"actions": actions}, request_timeout=self._timeout_s)
        self._idf.forget(index)

    def check_name_is_free_for_versions(self, index: str) -> None:
        """
        Raises:
            BadInput: the name is an alias of another index, not of a version of this one.
        """
        ours = {version.name for version in self.of(index)}
        others = sorted(name for name, aliases in self._aliases().items() if index in aliases and name not in ours)
        if others:
            raise BadInput(
                f"{index!r} is an alias for {', '.join(others)}, which Sinkrank did not make as its version; take "
                f"another name, or remove the alias"
            )

    def _aliases(self) -> dict[str, tuple[str, ...]]:
        """The aliases of each index."""
        found = self._client.transport.perform_request("GET", "/_alias")
        return {name: tuple(one.get("aliases", ())) for name, one in found.items()}

    def _is_concrete(self, index: str) -> bool:
        try:
            return index in self._client.indices.get_settings(
                index=index, params={"filter_path": "*.settings.index.uuid"}
            )
        except exceptions.NotFoundError:
            return False

    def _clone(self, index: str) -> None:
        """Makes version 0 of an index without versions, which takes no documents meanwhile."""
        name = unversioned_name(index)
        self._client.indices.put_settings(index=index, body={_BLOCK: True}, request_timeout=self._timeout_s)
        try:
            self._client.indices.clone(
                index=index,
                target=name,
                body={"settings": {_BLOCK: None}},
                params={"wait_for_active_shards": 1},
                request_timeout=self._timeout_s,
            )
            meta = self._client.indices.get_mapping(index=name)[name]["mappings"]["_meta"]
            meta["sinkrank"][VERSION_OF] = index
            self._client.indices.put_mapping(index=name, body={"_meta": meta}, request_timeout=self._timeout_s)
            self._idf.save(name, self._idf.load(index))
            self._idf.save_sample(name, self._idf.load_sample(index))
        except BaseException:
            self._client.indices.put_settings(index=index, body={_BLOCK: None}, request_timeout=self._timeout_s)
            raise


def _parent(found: dict[str, Any]) -> str | None:
    """Returns the index of which an index is a version."""
    return found["mappings"]["_meta"]["sinkrank"].get(VERSION_OF)  # type: ignore[no-any-return]
