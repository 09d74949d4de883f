"""Compares the proxy with the engine behind it: the same requests to both in turn, and under load.

Run it with `python -m benchmarks.proxy`. It uses only this machine. Our own index contains the beginnings of real
pages, so that candidates are short. Two more indices, which are not ours, have documents of 1 and 10 kB. All are
removed at the end. A second proxy always fetches whole windows (`benchmarks.whole_windows`), for comparison.

Searches of indices that are not ours are timed in two ways: with queries that are asked once each, so that most
documents of a window are new to the proxy, and with queries that come again.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import cycle, islice
from pathlib import Path
from statistics import median, quantiles
from typing import Any
from urllib.parse import urlsplit

import regex
import urllib3

from benchmarks.report import machine
from benchmarks.scale import resources
from benchmarks.timing import in_turn
from ingest.files import Source
from ingest.pipeline import ingest
from reranker.embeddings import Embeddings
from reranker.stores import open_store
from reranker.text.documents import Document
from sinkrank.demo.pages import write_jsonl

INDEX = "sinkrank-benchmark-proxy"
# Indices that are not ours, by the length of their documents: name, length, number of documents.
OTHERS = {"1 kB": ("benchmark-others-1", 1_000, 60_000), "10 kB": ("benchmark-others-10", 10_000, 10_000)}
# Of queries that are asked once, those that are not timed: connections and compilers warm up meanwhile.
N_NOT_TIMED = 50
WINDOW, PAGE = 100, 10
CLIENTS = (1, 8, 32)
N_WORDS = 40
JSON = {"Content-Type": "application/json"}
_ROOT = Path(__file__).resolve().parents[1]
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True, slots=True)
class Request:
    """A request to either side.

    Attributes:
        status: expected `X-Rerank-Status` of the proxy.
        window: body with which the proxy asks the engine for the window, if the window is larger than a page.
    """

    method: str
    path: str
    body: bytes | None
    status: str | None
    window: bytes | None = None

    def for_window(self) -> Request:
        return replace(self, body=self.window)

    def send(self, http: urllib3.HTTPConnectionPool, is_proxy: bool) -> None:
        answer = http.urlopen(self.method, self.path, self.body, {"Content-Type": "application/json"})
        if answer.status != 200:
            raise RuntimeError(f"{self.method} {self.path} was answered {answer.status}: {answer.data[:300]!r}")
        if is_proxy and answer.headers.get("X-Rerank-Status") != self.status:
            raise RuntimeError(f"{self.path} was {dict(answer.headers)}, and is to be {self.status}")


def requests_by_kind(queries: Sequence[str], ids: Sequence[str]) -> dict[str, list[Request]]:
    """The timed requests: searches with the fields of a results page, searches with the whole `_source`, and requests
    that are passed on."""

    def body(text: str, source: Any, **more: Any) -> bytes:
        fields = ["text.en", "title.en"]
        query = {"multi_match": {"query": text, "fields": fields}}
        return json.dumps({"query": query, "size": PAGE, "_source": source, **more}).encode()

    def search(text: str, source: Any) -> Request:
        window = body(text, source, size=WINDOW, seq_no_primary_term=True)
        return Request("POST", path, body(text, source), "applied", window)

    displayed = ["title", "url"]
    path = f"/{INDEX}/_search"
    return {
        "search, title and url": [search(text, displayed) for text in queries],
        "search, whole _source": [search(text, True) for text in queries],
        "search passed on": [
            Request("POST", path, body(text, displayed, sort=["_doc"]), "skipped") for text in queries
        ],
        "document passed on": [Request("GET", f"/{INDEX}/_doc/{name}", None, None) for name in ids],
    }


def foreign_requests(engine: urllib3.HTTPConnectionPool, queries: Sequence[Sequence[str]]) -> dict[str, list[Request]]:
    """Searches in the indices that are not ours, each with its queries, of those that find a whole window."""
    kinds = {}
    for (size, (index, _, _)), texts in zip(OTHERS.items(), queries, strict=True):
        path = f"/{index}/_search"
        found = []
        for text in texts:
            body = {"query": {"multi_match": {"query": text, "fields": ["text", "title"]}}, "size": PAGE}
            counted = engine.urlopen("POST", path, json.dumps({**body, "size": 0}).encode(), JSON).json()
            if counted["hits"]["total"]["value"] >= WINDOW:
                window = json.dumps({**body, "size": WINDOW, "seq_no_primary_term": True}).encode()
                found.append(Request("POST", path, json.dumps(body).encode(), "applied", window))
        kinds[f"search, not ours, {size}"] = found
    return kinds


def queries_once(documents: Sequence[Document], embeddings: Embeddings, n: int) -> list[str]:
    """Different queries of one to three words that stand beside each other in some document, one of them known."""
    chance = random.Random(1848)  # noqa: S311 - no secret
    found: dict[str, None] = {}
    while len(found) < n:
        words = regex.findall(r"\p{L}{4,}", chance.choice(documents).text)
        n_words = chance.randint(1, 3)
        if len(words) >= n_words:
            at = chance.randrange(len(words) - n_words + 1)
            query = " ".join(words[at : at + n_words]).lower()
            if len(embeddings.bag(query, "en")):
                found[query] = None
    return list(found)


def compare_once(
    kinds: Mapping[str, Sequence[Request]], engine: urllib3.HTTPConnectionPool, proxy: Server, rounds: int
) -> list[dict[str, Any]]:
    """Each request once to each side, and the engine's time for the windows of other requests."""
    rows = []
    for name, requests in kinds.items():
        timed, others = requests[: N_NOT_TIMED + rounds], requests[N_NOT_TIMED + rounds :]
        row: dict[str, Any] = {"requests": f"{name}, asked once", "rounds": rounds}
        row["proxy"] = _beside_engine(timed, engine, proxy, len(timed) - N_NOT_TIMED, N_NOT_TIMED)
        row["window_median_ms"] = _window_ms(others, engine, min(rounds, len(others)))
        rows.append(row)
    return rows


def compare(
    kinds: dict[str, list[Request]],
    engine: urllib3.HTTPConnectionPool,
    proxies: Mapping[str, Server],
    rounds: int,
) -> list[dict[str, Any]]:
    """Each kind of request, one at a time: each proxy in turn with the engine, and the engine's time for the window.

    Two sides take turns at a time: a third would push both out of the processor's caches.
    """
    rows = []
    for name, requests in kinds.items():
        row: dict[str, Any] = {"requests": name, "rounds": rounds}
        row |= {side: _beside_engine(requests, engine, proxy, rounds) for side, proxy in proxies.items()}
        if requests[0].window is not None:
            row["window_median_ms"] = _window_ms(requests, engine, rounds)
        rows.append(row)
    return rows


def _window_ms(requests: Sequence[Request], engine: urllib3.HTTPConnectionPool, rounds: int) -> float:
    """Median of the engine's time for a window."""
    window = _sender([request.for_window() for request in requests], engine, False)
    return round(median(in_turn({"window": window}, rounds)["window"].wall_ms), 2)


def _beside_engine(
    requests: Sequence[Request],
    engine: urllib3.HTTPConnectionPool,
    proxy: Server,
    rounds: int,
    n_not_timed: int | None = None,
) -> dict[str, float]:
    """Medians of both sides in ms, and their ratio. `cpu_ms` is the proxy's CPU time per request.

    Args:
        n_not_timed: requests before the timing; by default all, so that each document is cached.
    """
    runs = {"engine": _sender(requests, engine, False), "proxy": _sender(requests, proxy.http, True)}
    # Warm up connections, caches and the engine's compiler.
    in_turn(runs, max(30, len(requests)) if n_not_timed is None else n_not_timed)
    before = proxy.cpu_s()
    times = in_turn(runs, rounds)
    cpu_s = proxy.cpu_s() - before
    of_engine, of_proxy = (times[side].wall_ms for side in runs)
    found = {
        "engine_median_ms": median(of_engine),
        "median_ms": median(of_proxy),
        "to_engine": median(of_proxy) / median(of_engine),
        "cpu_ms": cpu_s / rounds * 1e3,
        "engine_p99_ms": _p99(of_engine),
        "p99_ms": _p99(of_proxy),
    }
    return {name: round(value, 2) for name, value in found.items()}


def _sender(requests: Sequence[Request], http: urllib3.HTTPConnectionPool, is_proxy: bool) -> Callable[[], object]:
    """Sends the next request."""
    endless = cycle(requests)
    return lambda: next(endless).send(http, is_proxy)


def load(
    requests: Sequence[Request], http: urllib3.HTTPConnectionPool, is_proxy: bool, n_clients: int, seconds: float
) -> dict[str, Any]:
    """Requests per second of this many clients. Each sends its next request when the last one is answered."""
    times: list[float] = []
    lock = threading.Lock()
    end = time.perf_counter() + seconds

    def client(first: int) -> None:
        own: list[float] = []
        for request in islice(cycle(requests), first, None):
            started = time.perf_counter()
            if started >= end:
                break
            request.send(http, is_proxy)
            own.append((time.perf_counter() - started) * 1000)
        with lock:
            times.extend(own)

    with ThreadPoolExecutor(n_clients) as threads:
        list(threads.map(client, range(n_clients)))
    return {
        "clients": n_clients,
        "per_second": round(len(times) / seconds, 1),
        "median_ms": round(median(times), 1),
        "p99_ms": round(_p99(times), 1),
    }


def make_index(store_address: str, embeddings: Embeddings, documents: Sequence[Document], index: str = INDEX) -> None:
    """Makes an index of our own."""
    with tempfile.TemporaryDirectory() as folder, closing(open_store(store_address)) as store:
        if index in store.indices():
            store.drop(index)
        path = Path(folder, "documents.jsonl")
        rows = ({"id": each.doc_id, "lang": each.language, **_source(each, each.text)} for each in documents)
        write_jsonl(path, rows)
        made = ingest([Source(path, str(path), "jsonl")], store, index, embeddings)
        if not made.is_whole:
            raise RuntimeError(f"not all documents came in: {made}")


def make_others(engine: str, documents: Sequence[Document]) -> None:
    """Makes the indices that are not ours, with one shard. Each document has a title, and a text of that length from
    words of all documents.

    Args:
        engine: its address, `http://host:port`.
    """
    words = " ".join(document.text for document in documents).split()
    chance = random.Random(2018)  # noqa: S311 - no secret
    for index, n_chars, n_documents in OTHERS.values():
        resources.ask(engine, f"/{index}?ignore_unavailable=true", method="DELETE")
        resources.ask(engine, f"/{index}", {"settings": {"number_of_shards": 1, "number_of_replicas": 0}}, "PUT")
        sources = []
        for number in range(n_documents):
            document = documents[number % len(documents)]
            at = chance.randrange(max(1, len(words) - n_chars // 3))
            text = f"{document.text} {' '.join(words[at : at + n_chars // 3])}"[:n_chars]
            sources.append((str(number), _source(document, text)))
        resources.write(engine, index, sources)


def _source(document: Document, text: str) -> dict[str, str]:
    return {"title": document.title, "url": document.url, "text": text}


def read_documents(path: Path, n: int) -> list[Document]:
    """The beginnings of the first English pages."""
    found: list[Document] = []
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            page = json.loads(line)
            if page["language"] != "en" or not page.get("title"):
                continue
            text = " ".join(page["text"].split()[:N_WORDS])
            found.append(Document(str(len(found)), text, "en", title=page["title"], url=page.get("url", "")))
            if len(found) == n:
                break
    return found


@dataclass(frozen=True, slots=True)
class Server:
    """A proxy in a separate process."""

    http: urllib3.HTTPConnectionPool
    pid: int

    def cpu_s(self) -> float:
        """CPU time (s) of all its threads so far (Linux: the clock of a process by its id)."""
        return time.clock_gettime((~self.pid << 3) | 2)


# All searches are re-ranked, those of many clients on a busy machine too: the engine's order in their place would be
# another amount of work.
WITHOUT_LIMITS = {"SINKRANK_PROXY_BUDGET_MS": "60000", "SINKRANK_WORKERS": str(max(CLIENTS))}


@contextmanager
def serving(
    engine: str,
    embeddings: Path,
    module: str = "sinkrank",
    n_processes: int = 1,
    code: Path | None = None,
    settings: Mapping[str, str] = WITHOUT_LIMITS,
) -> Iterator[Server]:
    """Runs `sinkrank serve` in a separate process.

    Args:
        module: module to run, with the command line of `sinkrank`.
        n_processes: as the setting `processes`.
        code: checkout to run; this one by default.
        settings: environment variables.
    """
    with tempfile.TemporaryDirectory() as home:
        command = [sys.executable, "-m", module, "serve", "--port", "0", "--store", engine, "--home", home]
        command += ["--embeddings", str(embeddings.absolute())]
        environment = {**os.environ, "COLUMNS": "200", **settings, "SINKRANK_PROCESSES": str(n_processes)}
        environment["PYTHONPATH"] = str((code or _ROOT).absolute())
        with subprocess.Popen(command, cwd=home, env=environment, stderr=subprocess.PIPE, text=True) as process:
            try:
                yield Server(pool(_served_address(process)), process.pid)
            finally:
                process.terminate()


def _served_address(process: subprocess.Popen[str]) -> str:
    """The address that the service names; what it says from then on is read and forgotten, or it would wait for us."""
    lines = process.stderr or iter(())
    for line in lines:
        found = regex.search(r"serves (http://\S+)", line)
        if found:
            threading.Thread(target=_forget, args=(lines,), daemon=True).start()
            return str(found.group(1))
    raise RuntimeError("the service ended before it served")


def _forget(lines: Iterable[str]) -> None:
    with suppress(ValueError):  # closed when the service has ended
        for _ in lines:
            pass


@contextmanager
def node(address: str | None, name: str) -> Iterator[str]:
    """The engine's address; without one, a node of the test suite is started."""
    if address is not None:
        yield address
        return
    from tests.support.engines.nodes import start_node

    with start_node(name) as started:
        yield started.url.replace("http://", "elasticsearch://" if "elasticsearch" in name else "opensearch://")


def http_address(store: str) -> str:
    """`http://host:port` of a store's address."""
    return f"http://{store.partition('://')[2]}"


def _p99(times: Sequence[float]) -> float:
    return quantiles(times, n=100)[98] if len(times) > 1 else times[0]


def pool(url: str) -> urllib3.HTTPConnectionPool:
    """Opens connections to a server on this machine only."""
    parts = urlsplit(url)
    if parts.hostname not in _LOOPBACK:
        raise SystemExit(f"{parts.hostname} is not this machine; the benchmark speaks to {', '.join(_LOOPBACK)} alone")
    return urllib3.HTTPConnectionPool(
        parts.hostname, parts.port or 9200, maxsize=max(CLIENTS), retries=False, timeout=60
    )


def parser_of(description: str | None) -> argparse.ArgumentParser:
    """Adds the options that all measurements of a served index have."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--store", help="address of a node on this machine; by default a node of the test suite is started"
    )
    parser.add_argument("--engine", default="opensearch-2.19.1", help="engine to start (%(default)s)")
    parser.add_argument("--embeddings", type=Path, default=Path(".sinkrank/embeddings"))
    parser.add_argument(
        "--documents", type=Path, default=Path(".sinkrank/libreoffice.jsonl"), help="JSONL file of pages"
    )
    parser.add_argument("--n-documents", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=200, help="requests of each kind to each side (%(default)s)")
    parser.add_argument("--json", type=Path, help="write the results here too")
    return parser


def _arguments() -> argparse.Namespace:
    parser = parser_of(__doc__)
    parser.add_argument(
        "--seconds",
        type=float,
        default=5.0,
        help="length of the load for each number of clients; 0 for none (%(default)s)",
    )
    return parser.parse_args()


def main() -> None:
    arguments = _arguments()
    documents = read_documents(arguments.documents, arguments.n_documents)
    queries = [document.title for document in documents[:: max(1, len(documents) // 100)]]
    kinds = requests_by_kind(queries, [document.doc_id for document in documents[:100]])
    results: dict[str, Any] = {"machine": machine(), "documents": len(documents), "window": WINDOW, "page": PAGE}
    with ExitStack() as stack:
        address = stack.enter_context(node(arguments.store, arguments.engine))
        engine = pool(address)
        embeddings = Embeddings.open(arguments.embeddings)
        make_index(address, embeddings, documents)
        make_others(http_address(address), documents)
        try:
            modules = {"proxy": "sinkrank", "whole": "benchmarks.whole_windows"}
            proxies = {
                side: stack.enter_context(serving(address, arguments.embeddings, module))
                for side, module in modules.items()
            }
            # No query comes again in the next index, where its encoding would be cached.
            once = queries_once(documents, embeddings, len(OTHERS) * 4 * (arguments.rounds + N_NOT_TIMED))
            found = foreign_requests(engine, [once[place :: len(OTHERS)] for place in range(len(OTHERS))])
            results["asked_once"] = compare_once(found, engine, proxies["proxy"], arguments.rounds)
            kinds |= foreign_requests(engine, [queries] * len(OTHERS))
            results["in_turn"] = compare(kinds, engine, proxies, arguments.rounds)
            for row in [*results["asked_once"], *results["in_turn"]]:
                print(json.dumps(row))
            results["load"] = []
            for name in ("search, title and url", "document passed on") if arguments.seconds else ():
                for n_clients in CLIENTS:
                    for side, http in (("engine", engine), *((one, proxies[one].http) for one in proxies)):
                        row = load(kinds[name], http, side != "engine", n_clients, arguments.seconds)
                        results["load"].append({"requests": name, "side": side, **row})
                        print(json.dumps(results["load"][-1]))
        finally:
            with closing(open_store(address)) as store:
                store.drop(INDEX)
            for index, *_ in OTHERS.values():
                engine.urlopen("DELETE", f"/{index}")
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
