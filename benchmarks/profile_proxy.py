"""Measures the proxy's CPU time by stage of a search, or for several versions of the code in turn.

Run it with `python -m benchmarks.profile_proxy`. The engine is recorded (`recorded_engine`), so all CPU time of the
server's process is the proxy's. `--code FOLDER FOLDER` compares checkouts instead: each serves in its own process, and
requests go to them in turn.
"""

from __future__ import annotations

import functools
import importlib
import json
import multiprocessing
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from itertools import islice
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import urllib3

from benchmarks.proxy import (
    INDEX,
    PAGE,
    Request,
    Server,
    make_index,
    node,
    parser_of,
    pool,
    read_documents,
    requests_by_kind,
    serving,
)
from benchmarks.recorded_engine import recorded
from benchmarks.report import machine
from reranker.embeddings import Embeddings
from reranker.service.settings import Settings
from reranker.stores import open_store

BATCH = 20
N_QUERIES = 200
QUERY_WORDS = 8
# Searches are re-ranked on a busy machine too. The engine's order instead would be less work.
_BUDGET_MS = 60_000

# The functions of each stage, `module:name`. Time in a function of another stage counts for that stage only.
STAGES = {
    "HTTP server": ["sinkrank.serving.channels:Channel.service"],
    "front, `proxy.py`": ["reranker.api.engine_front:EngineFront.__call__"],
    "logs, metrics, limits": [
        "reranker.api.watching:Watch.begin",
        "reranker.api.watching:Watch.answered",
        "reranker.api.watching:Watch.end",
        "reranker.api.allowed_hosts:AllowedHosts.check",
    ],
    "read the request": ["reranker.upstream.incoming:Incoming.read", "reranker.proxy.proxy:read_request"],
    "ask the engine": [
        "reranker.upstream.nodes:Upstream.send",
        "reranker.upstream.nodes:Passing._next",
        "reranker.upstream.calls:EngineCalls._data",
    ],
    "read its JSON": ["reranker.proxy.fetch:read_answer"],
    "bags": ["reranker.proxy.hit_texts:HitTexts.collect"],
    "re-rank: the rest": ["reranker.proxy.rank:WindowRanker.order"],
    "re-rank: weights, hubness": ["reranker.ranking.candidate_cache:CandidateCache.problem"],
    "re-rank: corrections": ["reranker.ranking.reranker:find_corrections"],
    "re-rank: transport in Python": ["reranker.ranking.ordering:Ordering._solve"],
    "re-rank: feedback, neighbours": [
        "reranker.ranking.ordering:moved_query",
        "reranker.ranking.ordering:neighbour_scores",
    ],
    "re-rank: compiled": [
        "reranker.native.transport:distinct_terms",
        "reranker.native.transport:fill_bag_means",
        "reranker.native.transport:fill_cost_table",
        "reranker.native.transport:mean_nearest_products",
        "reranker.native.transport:one_less_cosines",
        "reranker.native.transport:scale_documents",
        "reranker.native.transport:solve_whole",
        "reranker.ranking.feedback:moved_words",
        "reranker.ranking.neighbours:neighbour_means",
    ],
    "fetch the page": ["reranker.proxy.proxy:fetch_pages"],
    "write the answer": ["reranker.proxy.proxy:write_answer"],
    "compress": ["reranker.proxy.proxy:own_reply"],
}
MAIN_THREAD = "HTTP server: connections"
REST = "threads, interpreter lock"


class Stages:
    """The CPU time of each stage, of all threads. A stage within another stops the outer clock."""

    def __init__(self) -> None:
        self._of_thread = threading.local()
        self._totals: list[Counter[str]] = []

    def probed(self, stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def timed(*args: Any, **kwargs: Any) -> Any:
            self._enter(stage)
            try:
                return function(*args, **kwargs)
            finally:
                self._leave()

        return timed

    def seconds(self) -> Counter[str]:
        return sum(self._totals, Counter())

    def reset(self) -> None:
        for totals in self._totals:
            totals.clear()

    def install(self) -> None:
        """Probes the functions of `STAGES`."""
        for stage, names in STAGES.items():
            for name in names:
                owner, attribute = owner_of(name)
                setattr(owner, attribute, self.probed(stage, getattr(owner, attribute)))

    def _enter(self, stage: str) -> None:
        own = self._of_thread
        if not hasattr(own, "stack"):
            own.stack, own.totals, own.since = [], Counter(), 0.0
            self._totals.append(own.totals)
        now = time.thread_time()
        if own.stack:
            own.totals[own.stack[-1]] += now - own.since
        own.stack.append(stage)
        own.since = now

    def _leave(self) -> None:
        own = self._of_thread
        now = time.thread_time()
        own.totals[own.stack.pop()] += now - own.since
        own.since = now


def owner_of(name: str) -> tuple[Any, str]:
    """The module or class that contains `module:name`, and the name of the attribute."""
    module, _, path = name.partition(":")
    owner: Any = importlib.import_module(module)
    *outer, attribute = path.split(".")
    for part in outer:
        owner = getattr(owner, part)
    return owner, attribute


def serve_probed(settings: Settings, parent: Connection) -> None:
    """Serves in this process. Sends its port. Then, for each message, sends the CPU seconds of the stages and of the
    process since the last message."""
    from reranker.api.app import create_app, start
    from sinkrank.serving.server import bind, serve_until_stopped, spare_collector

    stages = Stages()
    stages.install()
    with closing(open_store(settings.store_address)) as store, bind("127.0.0.1", 0) as listener:
        app = create_app(settings, store, Embeddings.open(settings.embeddings_path))
        spare_collector()
        main = time.pthread_getcpuclockid(threading.main_thread().ident or 0)

        def talk() -> None:
            parent.send(listener.getsockname()[1])
            began, main_began = time.process_time(), time.clock_gettime(main)
            while parent.recv():
                used, main_used = time.process_time(), time.clock_gettime(main)
                parent.send(({**stages.seconds(), MAIN_THREAD: main_used - main_began}, used - began))
                stages.reset()
                began, main_began = time.process_time(), time.clock_gettime(main)

        talking = threading.Thread(target=talk, daemon=True)
        serve_until_stopped(app, settings, listener, lambda: start(app), on_ready=talking.start)


@contextmanager
def probed_server(engine: str, embeddings: Path) -> Iterator[tuple[str, Connection]]:
    """Runs a probed server in a separate process; its address, and the connection to the process."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    with tempfile.TemporaryDirectory() as home:
        settings = Settings(home=Path(home), store=engine, embeddings=embeddings, proxy_budget_ms=_BUDGET_MS)
        process = context.Process(target=serve_probed, args=(settings, theirs), daemon=True)
        process.start()
        theirs.close()
        try:
            yield f"http://127.0.0.1:{ours.recv()}", ours
        finally:
            process.terminate()
            process.join()


def by_stage(
    kinds: dict[str, list[Request]], http: urllib3.HTTPConnectionPool, server: Connection, n: int
) -> Iterator[dict[str, Any]]:
    """CPU µs of each stage for one request of each kind."""
    for name, requests in kinds.items():
        for request in requests:  # recorded, and the caches filled
            request.send(http, True)
        batches = []
        for batch in _batches(requests, n):
            server.send(True)
            server.recv()
            for request in batch:
                request.send(http, True)
            server.send(True)
            stages, total = server.recv()
            stages[REST] = total - sum(stages.values())
            batches.append({stage: 1e6 * seconds / len(batch) for stage, seconds in {**stages, "all": total}.items()})
        order = [MAIN_THREAD, *STAGES, REST, "all"]
        found = {stage: median(batch.get(stage, 0.0) for batch in batches) for stage in order}
        yield {"requests": name, "cpu_us": {stage: round(us) for stage, us in found.items() if us >= 1}}


def compare(kinds: dict[str, list[Request]], codes: Sequence[Server], n: int) -> Iterator[dict[str, Any]]:
    """CPU µs of one request of each kind, by each version of the code: medians over batches in turn."""
    for name, requests in kinds.items():
        for code in codes:
            for request in requests:
                request.send(code.http, True)
        used: list[list[float]] = [[] for _ in codes]
        for batch in _batches(requests, n):
            for code, own in zip(codes, used, strict=True):
                began = code.cpu_s()
                for request in batch:
                    request.send(code.http, True)
                own.append(1e6 * (code.cpu_s() - began) / len(batch))
        rows = [{"median": round(median(own)), "quarter": round(quantiles(own, n=4)[0])} for own in used]
        yield {"requests": name, "cpu_us": rows}


def _batches(requests: Sequence[Request], n: int) -> Iterator[list[Request]]:
    for first in range(0, n, BATCH):
        yield [requests[(first + k) % len(requests)] for k in range(BATCH)]


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--code", type=Path, nargs="+", help="checkouts to compare")
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
            scheme, _, host = real.partition("://")
            engine = f"{scheme}://{stack.enter_context(recorded(f'http://{host}'))}"
            if arguments.code:
                codes = [
                    stack.enter_context(serving(engine, arguments.embeddings, code=code)) for code in arguments.code
                ]
                rows = compare(kinds, codes, arguments.requests)
            else:
                address, server = stack.enter_context(probed_server(engine, arguments.embeddings))
                rows = by_stage(kinds, pool(address), server, arguments.requests)
            for row in rows:
                results["rows"].append(row)
                print(json.dumps(row, indent=1))
        finally:
            with closing(open_store(real)) as store:
                store.drop(INDEX)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
