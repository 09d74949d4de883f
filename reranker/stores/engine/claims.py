"""Lets one run at a time make versions of an engine's index, by a claim that expires unless the run renews it.

The claim is a document in the index of the idf tables. A run takes or renews it only if nobody has changed it since the
run read it (`if_seq_no`). So if two runs try at once, one of them gets it.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

import opensearchpy
from opensearchpy import exceptions

from reranker.stores.base.names import claim_seconds, claimed_by_another
from reranker.stores.engine.client import multi_get, unchanged
from reranker.stores.engine.idf import IDF_INDEX


def take_claim(client: opensearchpy.OpenSearch, index: str, owner: str, seconds: float) -> None:
    """See `reranker.stores.base.protocol.WritableStore.claim`."""
    found = _read(client, index)
    claim = found.get("_source", {})
    remaining = claim_seconds(claim.get("claimed_until", 0.0), time.time())
    if claim.get("owner") not in (None, owner) and remaining:
        raise claimed_by_another(index, remaining)
    body = {"owner": owner, "claimed_until": time.time() + seconds}
    try:
        client.index(index=IDF_INDEX, id=_claim_id(index), body=body, params=unchanged(found))
    except exceptions.ConflictError:
        raise claimed_by_another(index, seconds) from None


def release_claim(client: opensearchpy.OpenSearch, index: str, owner: str) -> None:
    """See `reranker.stores.base.protocol.WritableStore.release`."""
    found = _read(client, index)
    if found.get("_source", {}).get("owner") != owner:
        return
    with suppress(exceptions.ConflictError):  # another process has renewed it or taken it over
        client.delete(index=IDF_INDEX, id=_claim_id(index), params=unchanged(found))


def _read(client: opensearchpy.OpenSearch, index: str) -> dict[str, Any]:
    try:
        (found,) = multi_get(client, IDF_INDEX, [_claim_id(index)])
    except exceptions.NotFoundError:
        return {}
    return found


def _claim_id(index: str) -> str:
    return f"{index}:claim"
