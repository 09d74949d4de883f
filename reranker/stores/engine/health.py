"""Finds out why an index of an engine takes no documents: which primary shards are on no node, and why."""

from __future__ import annotations

from typing import Any

import opensearchpy
from opensearchpy import exceptions

from reranker.base.errors import StoreUnavailable

# The engines' error for a document whose shard is on no node.
_NO_SHARD = "unavailable_shards_exception"

# Of the engine's explanation, which may be long.
_MAX_REASON_LENGTH = 300


def red_index_error(
    client: opensearchpy.OpenSearch, address: str, index: str, error: exceptions.TransportError
) -> StoreUnavailable | None:
    """Returns the error of a failed write if the index's health is red; None if it is not, or the user may not ask."""
    if _NO_SHARD not in str(error.error):
        return None
    try:
        health = client.cluster.health(index=index, params={"level": "shards"})
        shards: dict[str, Any] = health["indices"][index]["shards"]
        lost = sorted(int(number) for number, shard in shards.items() if not shard["primary_active"])
        if health["status"] != "red" or not lost:
            return None
        reason = _reason(client, index, lost[0])
    except (exceptions.OpenSearchException, LookupError, TypeError, ValueError):
        return None
    return StoreUnavailable(
        f"the health of index {index!r} at {address} is red: no node holds the primary of {len(lost)} of its "
        f"{len(shards)} shards{reason}; bring the node back that held it, or change the setting that keeps it away "
        f"(`GET _cluster/allocation/explain` says which), and give the same command again: it goes on where it was"
    )


def _reason(client: opensearchpy.OpenSearch, index: str, shard: int) -> str:
    """Says in brackets why a shard is on no node; empty if the user may not ask."""
    body = {"index": index, "shard": shard, "primary": True}
    try:
        found = client.cluster.allocation_explain(body=body)
    except exceptions.TransportError:
        return ""
    refusals = [
        decider["explanation"]
        for node in found.get("node_allocation_decisions", ())
        for decider in node.get("deciders", ())
        if decider.get("decision") == "NO"
    ]
    why = next(iter(refusals), found.get("allocate_explanation") or found.get("explanation") or "")
    return f" (shard {shard}: {str(why)[:_MAX_REASON_LENGTH]})" if why else ""
