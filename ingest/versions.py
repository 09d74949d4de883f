"""The versions of an index: which one serves, which ones are deleted, and the way back to an earlier one."""

from __future__ import annotations

from collections.abc import Collection

from reranker.base.errors import NotFound
from reranker.stores.base.protocol import WritableStore


def serving_version(store: WritableStore, index: str) -> str | None:
    """The version that searches of the index use; None if there is none."""
    return next((version.name for version in store.versions(index) if version.is_serving), None)


def unfinished_version(store: WritableStore, index: str, run: str) -> str | None:
    """The version that a run makes; None if there is none, or if it is complete."""
    return next((version.name for version in store.versions(index) if version.run == run), None)


def drop_versions_except(store: WritableStore, index: str, spared: Collection[str]) -> None:
    """Deletes all other versions: older ones, and those of failed rebuilds."""
    for version in store.versions(index):
        if version.name not in spared:
            store.drop(version.name)


def roll_back(store: WritableStore, index: str, version: str | None = None) -> str:
    """Switches to the version before the serving one, or to the named one. Returns its name.

    Raises:
        NotFound: there is no such version, or none before the serving one.
    """
    if version is None:
        serving = serving_version(store, index) or ""
        version = max((one.name for one in store.versions(index) if one.name < serving), default=None)
    if version is None:
        store.open(index)  # raises if there is no such index
        raise NotFound(f"index {index!r} has no version before the serving one; a rebuild makes one")
    store.promote(index, version)
    return version
