"""Indexes the vectors alone, in each way that an engine can store them, and compares size, time and recall.

The vectors are those of an index of the collection; exact neighbours are found by NumPy.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.scale import resources
from benchmarks.scale.searching import DEPTH, asked, by_ef

EF = (100, 200, 400, 800)
_BULK, _PAGE = 1_000, 2_000


def opensearch_field(dim: int, m: int = 16, encoder: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    parameters: dict[str, Any] = {"m": m, "ef_construction": 128}
    if encoder is not None:
        parameters["encoder"] = encoder
    method = {"name": "hnsw", "engine": "lucene", "space_type": "cosinesimil", "parameters": parameters}
    return {"type": "knn_vector", "dimension": dim, "method": method, **more}


def elasticsearch_field(dim: int, kind: str) -> dict[str, Any]:
    options = {"type": kind, "m": 16, "ef_construction": 128}
    return {"type": "dense_vector", "dims": dim, "index": True, "similarity": "cosine", "index_options": options}


def variants(engine: str, dim: int) -> dict[str, dict[str, Any]]:
    """The fields that are tried, by name; `byte` gets whole numbers from -127 to 127."""
    if engine.startswith("elasticsearch"):
        return {kind: elasticsearch_field(dim, kind) for kind in ("hnsw", "int8_hnsw", "int4_hnsw", "bbq_hnsw")}
    return {
        "float, m 16": opensearch_field(dim),
        "float, m 8": opensearch_field(dim, m=8),
        "float, m 32": opensearch_field(dim, m=32),
        "sq, 7 bits": opensearch_field(dim, encoder={"name": "sq", "parameters": {"bits": 7}}),
        "byte": opensearch_field(dim, data_type="byte"),
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
    nodes: Sequence[dict[str, Any]], engine: str, vectors: NDArray[np.float32], queries: NDArray[np.float32]
) -> list[dict[str, Any]]:
    """One index after the other, removed again; in each the vectors as the engine's own merges leave them."""
    nearest = np.argsort(-(queries @ vectors.T), axis=1, kind="stable")[:, :DEPTH]
    rows = []
    for name, field in variants(engine, vectors.shape[1]).items():
        try:
            rows.append(_measured(nodes, engine, name, field, vectors, queries, nearest))
        except SystemExit as error:
            rows.append({"variant": name, "refused": str(error)[:300]})
        print(json.dumps(rows[-1]), flush=True)
    return rows


def _measured(
    nodes: Sequence[dict[str, Any]],
    engine: str,
    name: str,
    field: dict[str, Any],
    vectors: NDArray[np.float32],
    queries: NDArray[np.float32],
    nearest: NDArray[np.int64],
) -> dict[str, Any]:
    url, index = nodes[0]["url"], "scale-variant"
    is_byte = field.get("data_type") == "byte"
    settings: dict[str, Any] = {"number_of_shards": 1, "number_of_replicas": 0}
    if engine.startswith("opensearch"):
        settings["knn"] = True
    resources.ask(url, f"/{index}?ignore_unavailable=true", method="DELETE")
    mappings = {"properties": {"v": field}, "_source": {"enabled": False}}
    resources.ask(url, f"/{index}", {"settings": {"index": settings}, "mappings": mappings}, "PUT")
    before, started = resources.engine(nodes)["cpu_s"], time.monotonic()
    for body in _bulks(_numbers(vectors, is_byte)):
        answer = resources.http.request(
            "POST", f"{url}/{index}/_bulk", body=body, headers={"Content-Type": "application/x-ndjson"}
        )
        if answer.status != 200 or json.loads(answer.data)["errors"]:
            raise SystemExit(f"bulk: {answer.data[:300]!r}")
    resources.ask(url, f"/{index}/_refresh", method="POST")
    resources.wait_for_merges(nodes, index)
    resources.ask(url, f"/{index}/_flush", method="POST")
    wall_s, cpu_s = time.monotonic() - started, resources.engine(nodes)["cpu_s"] - before
    state = resources.engine(nodes, index)["primaries"]
    rows = by_ef(
        nodes,
        EF,
        _numbers(queries, is_byte),
        nearest.astype(str).tolist(),
        lambda vector, ef: asked(url, index, _body(engine, vector, ef)),
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


def _bulks(vectors: NDArray[Any]) -> Iterator[bytes]:
    for start in range(0, len(vectors), _BULK):
        lines = []
        for number, vector in enumerate(vectors[start : start + _BULK].tolist(), start=start):
            lines.append(json.dumps({"index": {"_id": str(number)}}))
            lines.append(json.dumps({"v": vector}))
        yield ("\n".join(lines) + "\n").encode()


def _body(engine: str, vector: NDArray[Any], ef: int) -> dict[str, Any]:
    common = {"size": DEPTH, "_source": False, "track_total_hits": False}
    if engine.startswith("elasticsearch"):
        knn = {"field": "v", "query_vector": vector.tolist(), "k": DEPTH, "num_candidates": ef}
        return common | {"knn": knn}
    knn = {"vector": vector.tolist(), "k": DEPTH, "method_parameters": {"ef_search": ef}}
    return common | {"query": {"knn": {"v": knn}}}


def load_or_read(path: Path, url: str, index: str, n: int) -> NDArray[np.float32]:
    """The vectors of a file, which is written when there is none."""
    if not path.exists():
        np.save(path, read_vectors(url, index, n))
    found: NDArray[np.float32] = np.load(path)
    return found
