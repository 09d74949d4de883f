"""Times searches at the engine alone and through Sinkrank, each query asked once, and measures the recall of kNN."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from http import HTTPStatus
from pathlib import Path
from statistics import mean, median, quantiles
from typing import Any

import numpy as np
import regex
import urllib3
from numpy.typing import NDArray

from benchmarks.proxy import JSON, pool, serving
from benchmarks.scale import resources
from benchmarks.scale.kinds import DEPTH, Asked, Kind, Row, kinds
from reranker.embeddings import Embeddings
from reranker.search.searcher import Searcher
from reranker.stores import open_store
from reranker.stores.base.filters import Filters
from reranker.stores.engine.queries import knn_body
from tests.support.processes import process_tree

# Values of `ef`, the number of candidates that Lucene keeps while it searches the graph.
EF = (100, 200, 400, 800, 1600)


def titles(folder: Path) -> Iterator[Row]:
    """Titles of documents that are not in the index."""
    yield from map(json.loads, (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines())


def spans(documents: Path) -> Iterator[Row]:
    """Three words that stand beside each other in a document, of one document after the other, each but once."""
    seen = set()
    for start in range(0, 60, 3):
        with documents.open(encoding="utf-8") as lines:
            for row in map(json.loads, lines):
                text = " ".join(regex.findall(r"\p{L}{4,}", row["text"])[start : start + 3])
                if text.count(" ") == 2 and text not in seen:
                    seen.add(text)
                    yield {"text": text, "language": row["language"], "id": f"{row['id']}/{start}"}


def with_vectors(rows: Iterable[Row], url: str, index: str, embeddings_path: Path, n: int) -> list[Asked]:
    """The first `n` queries with at least two known words."""
    embeddings = Embeddings.open(embeddings_path)
    found: list[Asked] = []
    with closing(open_store(url, timeout_s=120)) as store:
        reranker = Searcher(store, embeddings).open(index).reranker
        for row in rows:
            if row["language"] in embeddings.languages:
                weighted = reranker.query_with_unknown_words(row["text"], row["language"]).weighted
                vector = embeddings.nbow(weighted) if len(weighted) > 1 else None
                if vector is not None:
                    found.append(Asked(row, vector))
            if len(found) >= n:
                break
    return found


def spread(times: Sequence[float]) -> dict[str, float]:
    """Median and 95th percentile of ms."""
    return {"median_ms": round(median(times), 2), "p95_ms": round(quantiles(times, n=20)[18], 2), "n": len(times)}


def search(
    nodes: Sequence[dict[str, Any]], index: str, embeddings_path: Path, queries: Sequence[Asked], first: Sequence[Asked]
) -> dict[str, Any]:
    """Asks each query once of each side, for each kind of search: times, CPU times, and what the proxy said.

    Args:
        first: other queries, which connections and compilers warm up with.
    """
    url = nodes[0]["url"]
    own = resources.ask(url, f"/{index}/_search", {"size": 0, "aggs": {"l": {"terms": {"field": "lang", "size": 50}}}})
    languages = [bucket["key"] for bucket in own["aggregations"]["l"]["buckets"]]
    result: dict[str, Any] = {"queries": len(queries), "before": _state(nodes, index), "kinds": {}}
    pids = [node["pid"] for node in nodes]
    by_service: dict[str, dict[str, Kind]] = {}
    for name, kind in kinds(index, languages).items():
        by_service.setdefault(kind.service, {})[name] = kind
    for some in by_service.values():
        with serving(url.replace("http://", "opensearch://"), embeddings_path, n_processes=0) as server:
            service = process_tree(server.pid)
            for name, kind in some.items():
                _both_sides(kind, first, pool(url), server.http, pids, service)
                result["kinds"][name] = _both_sides(kind, queries, pool(url), server.http, pids, service)
                print(json.dumps({name: result["kinds"][name]}), flush=True)
    result["after"] = _state(nodes, index)
    return result


def _both_sides(
    kind: Kind,
    queries: Sequence[Asked],
    engine: urllib3.HTTPConnectionPool,
    ours: urllib3.HTTPConnectionPool,
    engine_pids: Sequence[int],
    service_pids: Sequence[int],
) -> dict[str, Any]:
    """The figures of one kind. Sides take turns, and in who is first: the second finds what the first has read."""
    times: dict[str, list[float]] = {"engine": [], "ours": []}
    used = dict.fromkeys(("engine alone", "engine", "service"), 0.0)
    outcomes, own_ms, agree = Counter[str](), [], 0
    for number, one in enumerate(queries):
        tops = {}
        for side in ("engine", "ours") if number % 2 else ("ours", "engine"):
            path, body = (kind.engine if side == "engine" else kind.ours)(one)
            before = resources.cpu_ms(engine_pids), resources.cpu_ms(service_pids)
            started = time.perf_counter()
            answer = (engine if side == "engine" else ours).urlopen("POST", path, body, JSON)
            times[side].append(1e3 * (time.perf_counter() - started))
            if answer.status != HTTPStatus.OK:
                raise SystemExit(f"{path} was answered {answer.status}, {dict(answer.headers)}: {answer.data[:300]!r}")
            used["engine alone" if side == "engine" else "engine"] += resources.cpu_ms(engine_pids) - before[0]
            found = json.loads(answer.data)
            tops[side] = _first_hit(found)
            if side == "ours":
                used["service"] += resources.cpu_ms(service_pids) - before[1]
                outcomes[outcome_of(answer.headers)] += 1
                own_ms += _own_ms(answer.headers, times[side][-1])
        agree += tops["engine"] == tops["ours"]
    medians = {side: median(values) for side, values in times.items()}
    return {
        **{side: spread(values) for side, values in times.items()},
        "times_the_engine": round(medians["ours"] / medians["engine"], 2),
        "own_ms": spread(own_ms) if len(own_ms) > 1 else None,
        "cpu_ms": {who: round(ms / len(queries), 2) for who, ms in used.items()},
        "first_hit_kept": round(agree / len(queries), 3),
        "outcomes": dict(outcomes),
    }


def outcome_of(headers: Mapping[str, str]) -> str:
    """`X-Rerank-Status` and its reason; a search of our own is `applied`."""
    status, reason = headers.get("X-Rerank-Status", "applied"), headers.get("X-Rerank-Reason")
    return f"{status}, {reason}" if reason else status


def _own_ms(headers: Mapping[str, str], took_ms: float) -> list[float]:
    """The time of a search of the proxy without that of the engine's searches in it."""
    found = regex.search(r"engine;dur=([\d.]+)", headers.get("Server-Timing", ""))
    return [took_ms - float(found.group(1))] if found else []


def _first_hit(answer: Any) -> str | None:
    """The id of the first hit of the engine (of several searches the first), or of `/v1/search`."""
    if "responses" in answer:
        answer = answer["responses"][0]
    hits = answer.get("hits", [])
    if isinstance(hits, dict):
        hits = hits["hits"]
    return (hits[0].get("_id") or hits[0].get("id")) if hits else None


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
    """For each `ef` the share of the nearest documents that is found, of searches whose first hit is the nearest, and
    the times of a search.

    Args:
        nearest: ids of the nearest documents of each vector.
        find: the ids that a search of a vector with this `ef` finds, and its ms.
    """
    rows = []
    for ef in efs:
        for _ in range(2):  # the first round warms up
            used, shares, firsts, times = EngineTime(nodes), [], [], []
            for vector, expected in zip(vectors, nearest, strict=True):
                found, took = find(vector, ef)
                times.append(took)
                shares.append(len(set(found) & set(expected)) / len(expected))
                firsts.append(found[:1] == list(expected[:1]))
        cpu_ms = used.ms_a_search(len(times))
        row = {"ef": ef, "recall": round(mean(shares), 4), "first_hit": round(mean(firsts), 4)}
        rows.append({**row, **spread(times), "cpu_ms": cpu_ms})
    return rows


class EngineTime:
    """Measures the CPU time of the nodes since it was made."""

    def __init__(self, nodes: Sequence[dict[str, Any]]) -> None:
        self._pids = [node["pid"] for node in nodes]
        self._before = resources.cpu_ms(self._pids)

    def ms_a_search(self, n_searches: int) -> float:
        return round((resources.cpu_ms(self._pids) - self._before) / n_searches, 2)


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


def _state(nodes: Sequence[dict[str, Any]], index: str) -> dict[str, Any]:
    return {"engine": resources.engine(nodes, index), "machine": resources.machine_now()}
