"""Indexes the first documents of the collection with `sinkrank ingest`, and records the resources that it uses."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import urllib3

from benchmarks.scale import resources

_SAMPLE_S = 5.0

# The contents of Lucene's files by their endings.
FILES = {
    "vectors": ("vec", "veq", "vem", "vemf", "vemq"),
    "graph": ("vex",),
    "stored fields": ("fdt", "fdx", "fdm"),
    "doc values": ("dvd", "dvm"),
    "postings": ("doc", "pos", "pay", "tim", "tip", "tmd", "psm", "nvd", "nvm"),
    "term vectors": ("tvd", "tvx", "tvm"),
    "points": ("kdd", "kdi", "kdm"),
    "compound": ("cfs", "cfe"),
}


def ingest(
    documents: Path, nodes: Sequence[dict[str, Any]], index: str, n_documents: int, embeddings: Path, shards: int
) -> dict[str, Any]:
    """Runs the command, or continues a stopped run, and waits for the merges. Returns the figures of this run.

    Args:
        documents: a file; its documents are added to an existing index.

    Raises:
        SystemExit: the command fails.
    """
    url = nodes[0]["url"]
    store = ("--store", url.replace("http://", "opensearch://"))
    own = (sys.executable, "-m", "sinkrank", "ingest")
    settings = {"number_of_shards": shards, "number_of_replicas": 0}
    template = {"index_patterns": [f"{index}-*"], "priority": 300, "template": {"settings": settings}}
    answer = urllib3.request("PUT", f"{url}/_index_template/{index}", json=template, timeout=60)
    if answer.status != 200:
        raise SystemExit(f"the index template is refused: {answer.data.decode()}")
    home = documents.parent / "home"
    command = [*own, "files", str(documents), "--limit", str(n_documents), "--index", index, *store]
    command += ["--embeddings", str(embeddings), "--home", str(home), "--json"]
    n_before = n_indexed(url, index)
    before, started = resources.engine(nodes), time.monotonic()
    samples: list[dict[str, Any]] = []
    most = {"rss_mb": 0.0, "anonymous_mb": 0.0, "heap_mb": 0.0}
    ours: dict[str, float] = {"cpu_s": 0.0}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        while process.poll() is None:
            time.sleep(_SAMPLE_S if time.monotonic() - started > 60 else 1.0)
            now = resources.processes(resources.process_tree(process.pid))
            ours["cpu_s"] = max(ours["cpu_s"], now["cpu_s"])
            for key in ("rss_mb", "anonymous_mb"):
                most[key] = max(most[key], now[key])
            samples.append(_sample(nodes, index, started, before, ours))
            most["heap_mb"] = max(most["heap_mb"], samples[-1]["engine"]["heap_mb"])
        answer = process.stdout.read() if process.stdout else ""
    if process.returncode != 0:
        raise SystemExit(f"ingest ended with {process.returncode}: {answer[-500:]}")
    wall_s = time.monotonic() - started
    indexed = resources.engine(nodes)
    merging_s = resources.wait_for_merges(nodes, index)
    after = resources.engine(nodes, index)
    return {
        "documents": after["primaries"]["documents"],
        "added": after["primaries"]["documents"] - n_before,
        "shards": shards,
        "wall_s": round(wall_s, 1),
        "our_cpu_s": ours["cpu_s"],
        "engine_cpu_s": round(indexed["cpu_s"] - before["cpu_s"], 1),
        "merging_s": round(merging_s, 1),
        "engine_cpu_with_merges_s": round(after["cpu_s"] - before["cpu_s"], 1),
        "most": most,
        "after": after,
        "files": file_sizes(url, index),
        "machine": resources.machine_now(),
        "summary": json.loads(answer),
        "samples": samples,
    }


def n_indexed(url: str, index: str) -> int:
    """The number of documents of the index; 0 if it does not exist."""
    return int(resources.ask(url, f"/{index}/_count?ignore_unavailable=true")["count"])


def file_sizes(url: str, index: str) -> dict[str, int]:
    """Bytes of the primary shards by their contents. Small segments have all contents in one file (`compound`)."""
    answer = resources.ask(url, f"/{index}/_stats/segments?include_segment_file_sizes=true")
    sizes = dict.fromkeys((*FILES, "other"), 0)
    kinds = {extension: kind for kind, extensions in FILES.items() for extension in extensions}
    for extension, found in answer["_all"]["primaries"]["segments"]["file_sizes"].items():
        sizes[kinds.get(extension, "other")] += found["size_in_bytes"]
    return sizes


def _sample(
    nodes: Sequence[dict[str, Any]], index: str, started: float, before: dict[str, Any], ours: dict[str, float]
) -> dict[str, Any]:
    """The figures so far; the index may not exist yet."""
    try:
        engine = resources.engine(nodes, index)
    except SystemExit:
        engine = resources.engine(nodes)
    engine["cpu_s"] = round(engine["cpu_s"] - before["cpu_s"], 1)
    return {
        "at_s": round(time.monotonic() - started, 1),
        "our_cpu_s": ours["cpu_s"],
        "engine": engine,
        "machine": resources.machine_now(),
    }
