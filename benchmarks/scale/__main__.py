"""Measures how cost grows with the number of documents. Each step can be run and repeated by itself, and adds its
figures to `results.json`.

F=/tmp/scale                                                # folder of all files
python -m benchmarks.scale collect --folder $F              # 10^6 documents out of Debian packages
sinkrank embeddings train $F/aligned.jsonl --dim 100 --output $F/embeddings
TMPDIR=$F python -m benchmarks.scale nodes --folder $F &    # one node, until `stop`
python -m benchmarks.scale ingest --folder $F --index scale5 --documents 100000 --shards 3
python -m benchmarks.scale search --folder $F --index scale5
python -m benchmarks.scale recall --folder $F --index scale5
python -m benchmarks.scale variants --folder $F --index scale5
python -m benchmarks.scale spread --folder $F --index scale5 --nodes 3 --replicas 1
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
        print(json.dumps({key: value for key, value in result.items() if key != "samples"}, indent=1))


def _measure(step: str, arguments: argparse.Namespace, folder: Path, state: Path) -> dict[str, Any]:
    from benchmarks.scale import ingesting, searching, spreading, variants
    from benchmarks.scale.nodes import read_nodes

    running = read_nodes(state)
    nodes, engine = running["nodes"], running["engine"]
    embeddings_path = arguments.embeddings or folder / "embeddings"
    if step == "ingest":
        documents = folder / arguments.file
        return ingesting.ingest(
            documents, nodes, arguments.index, arguments.documents, embeddings_path, arguments.shards
        )
    if step == "spread":
        return spreading.spread_out(state, arguments.index, arguments.nodes, arguments.replicas)
    url = nodes[0]["url"]
    if step == "variants":
        vectors, asked = _vectors(arguments, folder, url, embeddings_path)
        return {"engine": engine, "variants": variants.compare(nodes, engine, vectors, asked)}
    queries = searching.read_queries(folder, url, arguments.index, embeddings_path, arguments.queries)
    if step == "search":
        return searching.search(nodes, arguments.index, embeddings_path, queries, arguments.rounds)
    return searching.recall(nodes, arguments.index, queries)


def _vectors(arguments: argparse.Namespace, folder: Path, url: str, embeddings_path: Path) -> tuple[Any, Any]:
    """The vectors of an index and of queries. They are read once and cached for other engines."""
    from benchmarks.scale import searching, variants

    paths = folder / f"vectors-{arguments.index}.npy", folder / f"asked-{arguments.index}.npy"
    if not paths[1].exists():
        queries = searching.read_queries(folder, url, arguments.index, embeddings_path, arguments.queries)
        np.save(paths[1], np.array([one.vector for one in queries]))
    return variants.load_or_read(paths[0], url, arguments.index, arguments.documents), np.load(paths[1])


def keep(path: Path, step: str, result: dict[str, Any]) -> None:
    """Adds the result of a step to the file."""
    results: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    results.append({"step": step, "at": time.strftime("%H:%M"), "machine": machine(), **result})
    path.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.scale", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    steps = parser.add_subparsers(dest="step", required=True)
    for name in ("collect", "nodes", "ingest", "search", "recall", "variants", "spread", "report", "stop"):
        step = steps.add_parser(name)
        step.add_argument("--folder", type=Path, required=True, help="folder of all files")
        step.add_argument(
            "--state", default="nodes.json", help="file in FOLDER with the addresses of the nodes (%(default)s)"
        )
        step.add_argument("--file", default="documents.jsonl", help="file in FOLDER to ingest (%(default)s)")
        step.add_argument("--index", default="scale")
        step.add_argument("--documents", type=int, default=1_000_000)
        step.add_argument("--embeddings", type=Path, help="default: FOLDER/embeddings")
        step.add_argument("--engine", default="opensearch-2.19.1", help="engine of the node (%(default)s)")
        step.add_argument("--heap", default="2g", help="heap of each node (%(default)s)")
        step.add_argument("--shards", type=int, default=3)
        step.add_argument("--replicas", type=int, default=1)
        step.add_argument("--nodes", type=int, default=3)
        step.add_argument("--queries", type=int, default=100)
        step.add_argument("--rounds", type=int, default=2)
    return parser.parse_args()


if __name__ == "__main__":
    main()
