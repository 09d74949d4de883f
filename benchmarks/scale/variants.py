"""Indexes the vectors alone, in each way that OpenSearch can store them, and compares size, time and recall.

The vectors are those of an index of the collection; exact neighbours are found by NumPy.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.scale import resources
from benchmarks.scale.kinds import DEPTH
from benchmarks.scale.searching import asked, by_ef

EF = (100, 200, 400, 800)
_PAGE = 2_000


def _field(dim: int, m: int = 16, encoder: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    parameters: dict[str, Any] = {"m": m, "ef_construction": 128}
    if encoder is not None:
        parameters["encoder"] = encoder
    method = {"name": "hnsw", "engine": "lucene", "space_type": "cosinesimil", "parameters": parameters}
    return {"type": "knn_vector", "dimension": dim, "method": method, **more}


def variants(dim: int) -> dict[str, dict[str, Any]]:
    """The fields that are tried, by name; `byte` gets whole numbers from -127 to 127."""
    return {
        "float, m 16": _field(dim),
        "float, m 8": _field(dim, m=8),
        "float, m 32": _field(dim, m=32),
        "sq, 7 bits": _field(dim, encoder={"name": "sq", "parameters": {"bits": 7}}),
        "byte": _field(dim, data_type="byte"),
    }


def read_vectors(url: str, index: str, n: int) -> NDArray[np.float32]:
    """The vectors of `n` documents of an index at most."""
    found: list[list[float]] = []
    body = {"size": _PAGE, "_source": ["nbow"], "sort": [{"_doc": "asc"}], "query": {"exists": {"field": "nbow"}}}
    answer = resources.ask(url, f"/{index}/_search?scroll=5m", body, "POST")
    while len(found) < n and (hits := answer["hits"]["hits"]):
        found += [hit["_source"]["nbow"] for hit in hits]
        scroll = {"scroll": "5m", "scroll_id": answer["_scroll_id"]}
        answer = resources.ask(url, "/_search/scroll", scroll, "POST")
    return np.array(found[:n], dtype=np.float32)


def compare(
    nodes: Sequence[dict[str, Any]], vectors: NDArray[np.float32], queries: NDArray[np.float32]
) -> list[dict[str, Any]]:
    """One index after the other, removed again; in each the vectors as the engine's own merges leave them."""
    nearest = np.argsort(-(queries @ vectors.T), axis=1, kind="stable")[:, :DEPTH]
    rows = [_rounded(vectors, queries, nearest)]
    for name, field in variants(vectors.shape[1]).items():
        try:
            rows.append(_measured(nodes, name, field, vectors, queries, nearest))
        except SystemExit as error:
            rows.append({"variant": name, "refused": str(error)[:300]})
        print(json.dumps(rows[-1]), flush=True)
    return rows


def _rounded(vectors: NDArray[np.float32], queries: NDArray[np.float32], nearest: NDArray[np.int64]) -> dict[str, Any]:
    """The share of the nearest that stay so where vectors have half precision; simulated, all are compared."""
    halves = vectors.astype(np.float16).astype(np.float32)
    found = np.argsort(-(queries @ halves.T), axis=1, kind="stable")[:, :DEPTH]
    shares = [len(set(one) & set(other)) / DEPTH for one, other in zip(found.tolist(), nearest.tolist(), strict=True)]
    return {"variant": "half precision, simulated, exact search", "recall": round(float(np.mean(shares)), 4)}


def _measured(
    nodes: Sequence[dict[str, Any]],
    name: str,
    field: dict[str, Any],
    vectors: NDArray[np.float32],
    queries: NDArray[np.float32],
    nearest: NDArray[np.int64],
) -> dict[str, Any]:
    url, index = nodes[0]["url"], "scale-variant"
    is_byte = field.get("data_type") == "byte"
    settings: dict[str, Any] = {"number_of_shards": 1, "number_of_replicas": 0, "knn": True}
    resources.ask(url, f"/{index}?ignore_unavailable=true", method="DELETE")
    mappings = {"properties": {"v": field}, "_source": {"enabled": False}}
    resources.ask(url, f"/{index}", {"settings": {"index": settings}, "mappings": mappings}, "PUT")
    before, started = resources.engine(nodes)["cpu_s"], time.monotonic()
    numbers = enumerate(_numbers(vectors, is_byte))
    resources.write(url, index, ((str(number), {"v": vector.tolist()}) for number, vector in numbers))
    resources.wait_for_merges(nodes, index)
    resources.ask(url, f"/{index}/_flush", method="POST")
    wall_s, cpu_s = time.monotonic() - started, resources.engine(nodes)["cpu_s"] - before
    state = resources.engine(nodes, index)["primaries"]
    rows = by_ef(
        nodes,
        EF,
        list(_numbers(queries, is_byte)),
        nearest.astype(str).tolist(),
        lambda vector, ef: asked(url, index, _body(vector, ef)),
    )
    resources.ask(url, f"/{index}", method="DELETE")
    return {
        "variant": name,
        "vectors": len(vectors),
        "dim": vectors.shape[1],
        "bytes_a_vector": round(state["bytes"] / len(vectors)),
        "segments": state["segments"],
        "wall_s": round(wall_s, 1),
        "engine_cpu_s": round(cpu_s, 1),
        "by_ef": rows,
        "machine": resources.machine_now(),
    }


def _numbers(vectors: NDArray[np.float32], is_byte: bool) -> NDArray[Any]:
    """Unit vectors, or bytes that span what the largest number of all needs."""
    if not is_byte:
        return vectors
    scale = 127 / 0.6  # few numbers of a vector of length 1 are larger; these are cut
    whole: NDArray[np.int8] = np.clip(np.rint(vectors * scale), -127, 127).astype(np.int8)
    return whole


def _body(vector: NDArray[Any], ef: int) -> dict[str, Any]:
    common = {"size": DEPTH, "_source": False, "track_total_hits": False}
    knn = {"vector": vector.tolist(), "k": DEPTH, "method_parameters": {"ef_search": ef}}
    return common | {"query": {"knn": {"v": knn}}}
