"""Indexes the first documents of the collection with `sinkrank ingest`, and records the resources that it uses."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.scale import resources
from tests.support.processes import process_tree

_SAMPLE_S = 5.0
# The lock of a killed run is kept for a minute.
_LOCK_S = 65.0

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
    documents: Path,
    nodes: Sequence[dict[str, Any]],
    index: str,
    n_documents: int,
    embeddings: Path,
    shards: int,
    kill_at: int = 0,
) -> dict[str, Any]:
    """Runs the command, and waits for the merges. Returns the figures of all runs together.

    Args:
        documents: a file; its documents are added to an existing index.
        kill_at: number of documents that are written when the run is killed (SIGKILL) and started again; 0: never.

    Raises:
        SystemExit: the command fails, or the index does not hold each document once.
    """
    url = nodes[0]["url"]
    store = ("--store", url.replace("http://", "opensearch://"))
    own = (sys.executable, "-m", "sinkrank", "ingest")
    settings = {"number_of_shards": shards, "number_of_replicas": 0}
    template = {"index_patterns": [f"{index}-0*"], "priority": 300, "template": {"settings": settings}}
    resources.ask(url, f"/_index_template/{index}", template, "PUT")
    home = documents.parent / "home"
    command = [*own, "files", str(documents), "--limit", str(n_documents), "--index", index, *store]
    command += ["--embeddings", str(embeddings), "--home", str(home), "--json"]
    n_before = n_indexed(url, index)
    before = resources.engine(nodes)
    runs = []
    if kill_at:
        runs.append(_run(command, nodes, index, before, kill_at))
        time.sleep(_LOCK_S)
    runs.append(_run(command, nodes, index, before, 0))
    indexed = resources.engine(nodes)
    merging_s = resources.wait_for_merges(nodes, index)
    after = resources.engine(nodes, index)
    return {
        "documents": after["primaries"]["documents"],
        "added": after["primaries"]["documents"] - n_before,
        "shards": shards,
        "wall_s": round(sum(run["wall_s"] for run in runs), 1),
        "our_cpu_s": round(sum(run["our_cpu_s"] for run in runs), 1),
        "engine_cpu_s": round(indexed["cpu_s"] - before["cpu_s"], 1),
        "merging_s": round(merging_s, 1),
        "engine_cpu_with_merges_s": round(after["cpu_s"] - before["cpu_s"], 1),
        "most": {key: max(run["most"][key] for run in runs) for key in runs[0]["most"]},
        "each": check_ids(documents, n_documents, url, index),
        "after": after,
        "files": file_sizes(url, index),
        "machine": resources.machine_now(),
        "runs": runs,
    }


def _run(
    command: Sequence[str], nodes: Sequence[dict[str, Any]], index: str, before: dict[str, Any], kill_at: int
) -> dict[str, Any]:
    """The figures of one run of the command, which is killed when so many documents are written."""
    started = time.monotonic()
    samples: list[dict[str, Any]] = []
    most = {"rss_mb": 0.0, "anonymous_mb": 0.0, "heap_mb": 0.0}
    ours: dict[str, float] = {"cpu_s": 0.0}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        while process.poll() is None:
            time.sleep(_SAMPLE_S if time.monotonic() - started > 60 else 1.0)
            now = resources.processes(process_tree(process.pid))
            ours["cpu_s"] = max(ours["cpu_s"], now["cpu_s"])
            for key in ("rss_mb", "anonymous_mb"):
                most[key] = max(most[key], now[key])
            samples.append(_sample(nodes, index, started, before, ours))
            most["heap_mb"] = max(most["heap_mb"], samples[-1]["engine"]["heap_mb"])
            if kill_at and samples[-1]["written"] >= kill_at:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        answer = process.stdout.read() if process.stdout else ""
    if process.returncode not in (0, -signal.SIGKILL):
        raise SystemExit(f"ingest ended with {process.returncode}: {answer[-500:]}")
    return {
        "wall_s": round(time.monotonic() - started, 1),
        "our_cpu_s": ours["cpu_s"],
        "most": most,
        "ended": process.returncode,
        "written": n_written(nodes[0]["url"], index),
        "summary": json.loads(answer) if process.returncode == 0 else None,
        "samples": samples,
    }


def n_written(url: str, index: str) -> int:
    """Documents that were written to the versions of the index since the node started, before a search sees them."""
    answer = resources.ask(url, f"/{index}-0*/_stats/indexing?ignore_unavailable=true")
    return int(answer["_all"]["primaries"].get("indexing", {}).get("index_total", 0))


def check_ids(documents: Path, n_documents: int, url: str, index: str) -> dict[str, int]:
    """Counts the index's documents by their ids, and compares these with the file's.

    Raises:
        SystemExit: some are missing, there twice, or not in the file.
    """
    with documents.open(encoding="utf-8") as lines:
        wanted = {json.loads(line)["id"] for line in islice(lines, n_documents)}
    body = {"size": 10_000, "_source": False, "docvalue_fields": ["doc_id"], "sort": ["_doc"]}
    found: Counter[str] = Counter()
    answer = resources.ask(url, f"/{index}/_search?scroll=5m", body, "POST")
    while hits := answer["hits"]["hits"]:
        found.update(hit["fields"]["doc_id"][0] for hit in hits)
        answer = resources.ask(url, "/_search/scroll", {"scroll": "5m", "scroll_id": answer["_scroll_id"]}, "POST")
    counts = {
        "documents": found.total(),
        "missing": len(wanted - found.keys()),
        "twice": sum(n > 1 for n in found.values()),
        "others": len(found.keys() - wanted),
    }
    if counts["missing"] or counts["twice"] or counts["others"]:
        raise SystemExit(f"the index does not hold each document once: {counts}")
    return counts


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
        "written": n_written(nodes[0]["url"], index),
        "engine": engine,
        "machine": resources.machine_now(),
    }
