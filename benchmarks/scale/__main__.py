"""Measures how cost grows with the number of documents. Each step can be run and repeated by itself, and adds its
figures to `results.json`.

F=/tmp/scale                                                # folder of all files
python -m benchmarks.scale collect --folder $F              # 10^6 documents out of Debian packages
sinkrank embeddings train $F/aligned.jsonl --dim 100 --output $F/embeddings
TMPDIR=$F python -m benchmarks.scale nodes --folder $F &    # one node, until `stop`
python -m benchmarks.scale ingest --folder $F --index scale6 --documents 1000000 --kill-at 400000
python -m benchmarks.scale ordinary --folder $F --index scale6 --documents 1000000   # the same for other programs
python -m benchmarks.scale search --folder $F --index scale6
python -m benchmarks.scale recall --folder $F --index scale6
python -m benchmarks.scale variants --folder $F --index scale6 --documents 100000
python -m benchmarks.scale load --folder $F --index scale6 --clients 1,8,32,128 --seconds 300
python -m benchmarks.scale spread --folder $F --index scale6 --nodes 3 --replicas 1
python -m benchmarks.scale load --folder $F --index scale6 --clients 32 --seconds 300 --kill
python -m benchmarks.scale stop --folder $F
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import machine

# Searches of each kind before the timed ones: connections and compilers warm up meanwhile.
N_NOT_TIMED = 50
_STEPS = (
    *("collect", "nodes", "ingest", "ordinary", "search", "recall"),
    *("variants", "load", "spread", "report", "stop"),
)


def main() -> None:
    arguments = _arguments()
    folder: Path = arguments.folder
    state = folder / arguments.state
    step = arguments.step
    if step == "collect":
        from benchmarks.scale.collect import collect

        print(json.dumps(collect(folder, arguments.documents), indent=1, ensure_ascii=False))
    elif step == "nodes":
        from benchmarks.scale.nodes import run_nodes

        run_nodes(state, arguments.engine, arguments.heap)
    elif step == "report":
        from benchmarks.scale.report import report

        print(report(folder / "results.json"))
    elif step == "stop":
        state.unlink(missing_ok=True)
    else:
        result = _measure(step, arguments, folder, state)
        keep(folder / "results.json", step, {"index": arguments.index, **result})
        print(json.dumps({key: value for key, value in result.items() if key != "runs"}, indent=1))


def _measure(step: str, arguments: argparse.Namespace, folder: Path, state: Path) -> dict[str, Any]:
    from benchmarks.scale import ingesting, loading, ordinary, searching, spreading, variants
    from benchmarks.scale.kinds import Asked, plain_name
    from benchmarks.scale.nodes import read_nodes

    nodes, index = read_nodes(state)["nodes"], arguments.index
    embeddings_path = arguments.embeddings or folder / "embeddings"
    documents, url = folder / arguments.file, nodes[0]["url"]
    if step == "ingest":
        return ingesting.ingest(
            documents, nodes, index, arguments.documents, embeddings_path, arguments.shards, arguments.kill_at
        )
    if step == "ordinary":
        return ordinary.index_plainly(documents, nodes, plain_name(index), arguments.documents)
    if step == "spread":
        pattern = f"{index},{plain_name(index)}"
        return spreading.spread_out(state, pattern, arguments.nodes, arguments.replicas)
    if step == "load":
        clients = [int(n) for n in arguments.clients.split(",")]
        asked = (Asked(row, np.empty(0, np.float32)) for row in searching.spans(documents))
        rows = loading.load(nodes, index, embeddings_path, asked, clients, arguments.seconds, arguments.kill)
        return {"nodes": len(nodes), "load": rows}
    queries = searching.with_vectors(searching.titles(folder), url, index, embeddings_path, arguments.queries)
    if step == "search":
        warming = searching.with_vectors(searching.spans(documents), url, index, embeddings_path, N_NOT_TIMED)
        return searching.search(nodes, index, embeddings_path, queries, warming)
    if step == "recall":
        return searching.recall(nodes, index, queries)
    vectors = variants.read_vectors(url, index, arguments.documents)
    return {"variants": variants.compare(nodes, vectors, np.array([one.vector for one in queries]))}


def keep(path: Path, step: str, result: dict[str, Any]) -> None:
    """Adds the result of a step to the file."""
    results: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    results.append({"step": step, "at": time.strftime("%H:%M"), "machine": machine(), **result})
    path.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.scale", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("step", choices=_STEPS)
    parser.add_argument("--folder", type=Path, required=True, help="folder of all files")
    parser.add_argument(
        "--state", default="nodes.json", help="file in FOLDER with the addresses of the nodes (%(default)s)"
    )
    parser.add_argument("--file", default="documents.jsonl", help="file in FOLDER to ingest (%(default)s)")
    parser.add_argument("--index", default="scale")
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--embeddings", type=Path, help="default: FOLDER/embeddings")
    parser.add_argument("--engine", default="opensearch-2.19.1", help="engine of the node (%(default)s)")
    parser.add_argument("--heap", default="2g", help="heap of each node (%(default)s)")
    parser.add_argument("--shards", type=int, default=1)
    parser.add_argument("--kill-at", type=int, default=0, help="documents after which ingest is killed once")
    parser.add_argument("--replicas", type=int, default=1)
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--clients", default="1,8,32,128", help="numbers of clients of the load (%(default)s)")
    parser.add_argument("--seconds", type=float, default=300.0, help="length of each load (%(default)s)")
    parser.add_argument("--kill", action="store_true", help="kill a node after half of the load")
    return parser.parse_args()


if __name__ == "__main__":
    main()
