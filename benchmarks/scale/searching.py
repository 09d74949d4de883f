"""Times searches of an index at the engine, in the service and through the proxy, and measures the recall of kNN."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from statistics import mean, median, quantiles
from typing import Any, NamedTuple

import numpy as np
import urllib3
from numpy.typing import NDArray

from benchmarks.proxy import pool, serving
from benchmarks.scale import resources
from reranker.embeddings import Embeddings
from reranker.search.searcher import Searcher
from reranker.stores import open_store
from reranker.stores.base.filters import Filters
from reranker.stores.engine.queries import knn_body

DEPTH, PAGE = 100, 10
# Values of `ef`, the number of candidates that Lucene keeps while it searches the graph.
EF = (100, 200, 400, 800, 1600)
Row = Mapping[str, str]


class Asked(NamedTuple):
    """A query, and the vector that kNN searches for it."""

    row: Row
    vector: NDArray[np.float32]


def read_queries(folder: Path, url: str, index: str, embeddings_path: Path, n: int) -> list[Asked]:
    """The first titles, of documents that are not in the index, with at least two known words."""
    embeddings = Embeddings.open(embeddings_path)
    lines = (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    found: list[Asked] = []
    with closing(open_store(url, timeout_s=120)) as store:
        reranker = Searcher(store, embeddings).open(index).reranker
        for row in map(json.loads, lines):
            if row["language"] in embeddings.languages and len(found) < n:
                weighted = reranker.query_with_unknown_words(row["text"], row["language"]).weighted
                vector = embeddings.nbow(weighted) if len(weighted) > 1 else None
                if vector is not None:
                    found.append(Asked(row, vector))
    return found


def spread(times: Sequence[float]) -> dict[str, float]:
    """Median and 95th percentile of ms."""
    return {"median_ms": round(median(times), 2), "p95_ms": round(quantiles(times, n=20)[18], 2), "n": len(times)}


def timed(
    runs: Mapping[str, Callable[[Row], object]],
    queries: Sequence[Row],
    rounds: int,
    watched: Mapping[str, Sequence[int]],
) -> dict[str, Any]:
    """Runs all queries on one side, then on the next, in several rounds. The first round is a warm-up.

    Args:
        watched: processes whose CPU time is measured, by name; `us` is this process.

    Returns:
        For each side, wall ms of a search, and CPU ms of a search by the name of the processes.
    """
    times: dict[str, list[float]] = {name: [] for name in runs}
    used: dict[str, dict[str, float]] = {name: dict.fromkeys((*watched, "us"), 0.0) for name in runs}
    for number in range(rounds + 1):
        for name, run in runs.items():
            before = _cpu_s(watched)
            for query in queries:
                started = time.perf_counter()
                run(query)
                if number:
                    times[name].append(1e3 * (time.perf_counter() - started))
            if number:
                after = _cpu_s(watched)
                for who in after:
                    used[name][who] += 1e3 * (after[who] - before[who]) / (rounds * len(queries))
    return {
        name: {**spread(values), "cpu_ms": {who: round(ms, 2) for who, ms in used[name].items()}}
        for name, values in times.items()
    }


def _cpu_s(watched: Mapping[str, Sequence[int]]) -> dict[str, float]:
    found = {who: resources.processes(pids)["cpu_s"] for who, pids in watched.items()}
    return {**found, "us": time.process_time()}


def search(
    nodes: Sequence[dict[str, Any]], index: str, embeddings_path: Path, queries: Sequence[Asked], rounds: int
) -> dict[str, Any]:
    """Times of the first stages, `/v1/search`, searches through the proxy, and the engine's own searches."""
    url = nodes[0]["url"]
    rows = [query.row for query in queries]
    vectors = {query.row["id"]: query.vector for query in queries}
    pids = [node["pid"] for node in nodes]
    result: dict[str, Any] = {"queries": len(queries), "before": _state(nodes, index)}
    with closing(open_store(url, timeout_s=120)) as store:
        reader = store.open(index)
        result["first_stage"] = timed(
            {
                "knn": lambda row: reader.knn(vectors[row["id"]], DEPTH, Filters()),
                "bm25": lambda row: reader.bm25(row["text"], DEPTH, Filters()),
                "bm25, one language": lambda row: reader.bm25(row["text"], DEPTH, Filters.parse([row["language"]])),
            },
            rows,
            rounds,
            {"engine": pids},
        )
    with serving(url.replace("http://", "opensearch://"), embeddings_path) as server:
        ours, engine = server.http, pool(url)
        _ours(ours, index, rows[0], filtered=False)
        service = resources.process_tree(server.pid)
        result["whole"] = timed(
            {
                "v1, all languages": lambda row: _ours(ours, index, row, filtered=False),
                "v1, one language": lambda row: _ours(ours, index, row, filtered=True),
                "v1, one language, knn": lambda row: _ours(ours, index, row, filtered=True, first_stage="knn"),
                "proxy": lambda row: _engine(ours, index, row, "applied"),
                "engine": lambda row: _engine(engine, index, row, None),
            },
            rows,
            rounds,
            {"engine": pids, "service": service},
        )
        result["stages_all_languages"] = _stages(ours, index, rows, filtered=False)
        result["stages_one_language"] = _stages(ours, index, rows, filtered=True)
        result["service"] = resources.processes(service)
    result["after"] = _state(nodes, index)
    return result


def recall(nodes: Sequence[dict[str, Any]], index: str, queries: Sequence[Asked]) -> dict[str, Any]:
    """The share of the hundred nearest vectors (found by comparing all) that kNN finds, by `ef`, and both times."""
    url = nodes[0]["url"]
    vectors = [query.vector for query in queries]
    exact, exact_ms = [], []
    used = EngineTime(nodes)
    for vector in vectors:
        body, took = asked(url, index, _exact_body(vector))
        exact.append(body)
        exact_ms.append(took)
    exactly = {**spread(exact_ms), "cpu_ms": used.ms_a_search(len(vectors))}
    rows = by_ef(nodes, EF, vectors, exact, lambda vector, ef: asked(url, index, _knn_body(vector, ef)))
    return {"queries": len(vectors), "exact": exactly, "by_ef": rows, **_state(nodes, index)}


def by_ef(
    nodes: Sequence[dict[str, Any]],
    efs: Sequence[int],
    vectors: Sequence[NDArray[Any]],
    nearest: Sequence[Sequence[str]],
    find: Callable[[NDArray[Any], int], tuple[list[str], float]],
) -> list[dict[str, Any]]:
    """For each `ef` the share of the nearest documents that is found, and the times of a search.

    Args:
        nearest: ids of the nearest documents of each vector.
        find: the ids that a search of a vector with this `ef` finds, and its ms.
    """
    rows = []
    for ef in efs:
        for _ in range(2):  # the first round warms up
            used, shares, times = EngineTime(nodes), [], []
            for vector, expected in zip(vectors, nearest, strict=True):
                found, took = find(vector, ef)
                times.append(took)
                shares.append(len(set(found) & set(expected)) / len(expected))
        cpu_ms = used.ms_a_search(len(times))
        rows.append({"ef": ef, "recall": round(mean(shares), 4), **spread(times), "cpu_ms": cpu_ms})
    return rows


class EngineTime:
    """Measures the CPU time of the nodes since it was made."""

    def __init__(self, nodes: Sequence[dict[str, Any]]) -> None:
        self._pids = [node["pid"] for node in nodes]
        self._before = self._cpu_s()

    def ms_a_search(self, n_searches: int) -> float:
        return round(1e3 * (self._cpu_s() - self._before) / n_searches, 2)

    def _cpu_s(self) -> float:
        return resources.processes(self._pids)["cpu_s"]


def _exact_body(vector: Any) -> dict[str, Any]:
    script = {
        "source": "knn_score",
        "lang": "knn",
        "params": {"field": "nbow", "query_value": vector.tolist(), "space_type": "cosinesimil"},
    }
    query = {"script_score": {"query": {"exists": {"field": "nbow"}}, "script": script}}
    return {"size": DEPTH, "_source": False, "query": query, "track_total_hits": False}


def _knn_body(vector: Any, ef: int) -> dict[str, Any]:
    body = knn_body("opensearch", np.asarray(vector, dtype=np.float32), DEPTH, Filters())
    body["query"]["knn"]["nbow"]["method_parameters"]["ef_search"] = ef
    return {**body, "_source": False}


def asked(url: str, index: str, body: object) -> tuple[list[str], float]:
    """The ids that a search finds, and its ms."""
    started = time.perf_counter()
    answer = resources.ask(url, f"/{index}/_search", body, "POST")
    took = 1e3 * (time.perf_counter() - started)
    return [hit["_id"] for hit in answer["hits"]["hits"]], took


def _ours(
    http: urllib3.HTTPConnectionPool, index: str, row: Row, filtered: bool, first_stage: str = "auto"
) -> dict[str, Any]:
    body: dict[str, Any] = {"query": row["text"], "index": index, "language": row["language"]}
    body["first_stage"] = first_stage
    if filtered:
        body["languages"] = [row["language"]]
    return _sent(http, "/v1/search", body | {"depth": DEPTH, "size": PAGE}, None)


def _engine(http: urllib3.HTTPConnectionPool, index: str, row: Row, status: str | None) -> dict[str, Any]:
    """An ordinary search in the field of the language."""
    fields = [f"text.{row['language']}", f"title.{row['language']}"]
    query = {"multi_match": {"query": row["text"], "fields": fields}}
    return _sent(http, f"/{index}/_search", {"query": query, "size": PAGE, "_source": ["title", "lang"]}, status)


def _sent(http: urllib3.HTTPConnectionPool, path: str, body: object, status: str | None) -> dict[str, Any]:
    answer = http.urlopen("POST", path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    if answer.status != 200 or (status and answer.headers.get("X-Rerank-Status") not in (status, "skipped")):
        raise SystemExit(f"{path} was answered {answer.status}, {dict(answer.headers)}: {answer.data[:300]!r}")
    found: dict[str, Any] = json.loads(answer.data)
    return found


def _stages(
    http: urllib3.HTTPConnectionPool, index: str, queries: Sequence[Row], filtered: bool
) -> dict[str, dict[str, float]]:
    """The times that the service reports for its stages."""
    taken = [_ours(http, index, row, filtered)["took_ms"] for row in queries]
    return {stage: spread([one[stage] for one in taken]) for stage in taken[0]}


def _state(nodes: Sequence[dict[str, Any]], index: str) -> dict[str, Any]:
    return {"engine": resources.engine(nodes, index), "machine": resources.machine_now()}
