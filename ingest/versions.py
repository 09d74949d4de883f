"""Rolls an index back to an earlier version."""

from __future__ import annotations

from reranker.base.errors import NotFound
from reranker.stores.base.protocol import Store


def roll_back(store: Store, index: str, version: str | None = None) -> str:
    """Switches to the version before the serving one, or to the named one. Returns its name.

    Raises:
        NotFound: there is no such version, or none before the serving one.
    """
    if version is None:
        serving = next((one.name for one in store.versions(index) if one.is_serving), "")
        version = max((one.name for one in store.versions(index) if one.name < serving), default=None)
    if version is None:
        store.describe(index)  # raises if there is no such index
        raise NotFound(f"index {index!r} has no version before the serving one; a rebuild makes one")
    store.promote(index, version)
    return version
