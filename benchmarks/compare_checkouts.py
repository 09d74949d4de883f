"""Measures the CPU time of searches through the proxy of several checkouts, in turn.

Run it with `python -m benchmarks.compare_checkouts BEFORE AFTER`. Each checkout serves in a process of its own. The
engine is recorded (`recorded_engine`), so all CPU time of these processes is the proxy's.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from itertools import islice
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from benchmarks.proxy import (
    INDEX,
    PAGE,
    Request,
    Server,
    http_address,
    make_index,
    node,
    parser_of,
    read_documents,
    requests_by_kind,
    serving,
)
from benchmarks.recorded_engine import recorded
from benchmarks.report import machine
from reranker.embeddings import Embeddings
from reranker.stores import open_store

BATCH = 20
N_QUERIES = 200
QUERY_WORDS = 8


def compare(kinds: dict[str, list[Request]], codes: Sequence[Server], n: int) -> Iterator[dict[str, Any]]:
    """CPU µs of one request of each kind, by each version of the code: medians over batches in turn."""
    for name, requests in kinds.items():
        for code in codes:
            for request in requests:  # recorded, and the caches filled
                request.send(code.http, True)
        used: list[list[float]] = [[] for _ in codes]
        for first in range(0, n, BATCH):
            batch = [requests[(first + k) % len(requests)] for k in range(BATCH)]
            for code, own in zip(codes, used, strict=True):
                began = code.cpu_s()
                for request in batch:
                    request.send(code.http, True)
                own.append(1e6 * (code.cpu_s() - began) / len(batch))
        rows = [{"median": round(median(own)), "quarter": round(quantiles(own, n=4)[0])} for own in used]
        yield {"requests": name, "cpu_us": rows}


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("code", type=Path, nargs="+", help="checkouts to compare")
    parser.add_argument("--requests", type=int, default=400, help="number of requests of each kind (%(default)s)")
    arguments = parser.parse_args()
    documents = read_documents(arguments.documents, arguments.n_documents)
    step = max(1, len(documents) // N_QUERIES)
    # Longer than titles, because feedback and neighbours need four words.
    queries = [" ".join(islice(document.text.split(), QUERY_WORDS)) for document in documents[::step]][:N_QUERIES]
    kinds = requests_by_kind(queries, [document.doc_id for document in documents[:100]])
    results: dict[str, Any] = {"machine": machine(), "documents": len(documents), "page": PAGE, "rows": []}
    with ExitStack() as stack:
        real = stack.enter_context(node(arguments.store, arguments.engine))
        make_index(real, Embeddings.open(arguments.embeddings), documents)
        try:
            recorder = stack.enter_context(recorded(http_address(real)))
            engine = f"{real.partition('://')[0]}://{recorder}"
            codes = [stack.enter_context(serving(engine, arguments.embeddings, code=code)) for code in arguments.code]
            for row in compare(kinds, codes, arguments.requests):
                results["rows"].append(row)
                print(json.dumps(row, indent=1))
        finally:
            with closing(open_store(real)) as store:
                store.drop(INDEX)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
