"""Sends fuzzed requests to the service in front of a real node."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import urllib3

from campaign.tools.answers import compare
from campaign.tools.context import Context
from campaign.tools.described import fuzz_described
from campaign.tools.indexed import OURS, fill
from campaign.tools.material import documents, write_embeddings
from campaign.tools.nodes import Engine, one_node
from campaign.tools.queries import INDEX, MAPPING, WINDOW, Request, make_request
from campaign.tools.raw import make_bytes, send_bytes, status_of
from campaign.tools.service import Service, serving

ASSERTS = (
    "10,000 requests: our own routes as OpenAPI describes them (schemathesis), mutated searches, and raw bytes. None "
    "is answered by a 5xx that the engine does not give. A search that is not re-ranked (`X-Rerank-Status` other than "
    "`applied`) is answered as by the engine itself; one that is has the same hits, totals and aggregations."
)
LIMIT_S = 2400.0
N_SEARCHES, N_DESCRIBED, N_RAW = 6000, 3000, 1000
N_DOCUMENTS = 80  # fewer than the window, so that all hits are in it
N_THREADS = 4
# RFC 9110: not implemented, HTTP version not supported. Both are about errors in the request.
_PROPER_5XX = (501, 505)
SETTINGS = {
    "SINKRANK_PROXY_TRANSLATE": "never",  # a translated search finds more than the engine
    "SINKRANK_DEPTH": str(WINDOW),
    "SINKRANK_PROXY_BUDGET_MS": "60000",
    "SINKRANK_WORKERS": "64",
    "SINKRANK_INDEX": OURS,
}


def run(context: Context) -> None:
    embeddings = write_embeddings(context.folder / "embeddings").path
    with one_node(context.engine) as engine:
        fill(context, engine, embeddings, documents(N_DOCUMENTS, context.random("documents")), MAPPING)
        with serving(context, engine.store, embeddings, settings=SETTINGS) as service:
            _searches(context, engine, service)
            context.say(f"{context.counted('searches')} searches")
            fuzz_described(context, service.url, context.times(N_DESCRIBED))
            context.say(f"{context.counted('requests by the description')} requests by the description")
            _raw(context, service, engine)
            context.say(f"{context.counted('raw requests')} raw requests")
            context.check(service.is_ready(), "the service is not ready after all that")


def _searches(context: Context, engine: Engine, service: Service) -> None:
    with ThreadPoolExecutor(N_THREADS) as threads, urllib3.PoolManager(maxsize=N_THREADS, retries=False) as http:

        def ask(number: int) -> None:
            request = make_request(context.random("search", number))
            _compare(context, http, engine.url, service.url, request, number)

        list(threads.map(ask, range(context.times(N_SEARCHES))))


def _compare(
    context: Context, http: urllib3.PoolManager, engine: str, service: str, request: Request, number: int
) -> None:
    """Sends a search to both and compares the answers."""
    what = f"search {number}: {request}"
    context.add("searches")
    try:
        ours = request.send(http, service)
    except urllib3.exceptions.HTTPError as error:
        context.check(False, f"{what}: no answer: {error!r}")
        return
    direct = request.for_engine().send(http, engine)
    status = ours.headers.get("X-Rerank-Status", "none")
    context.add(f"searches: {status}")
    is_ours = ours.status >= 500 and ours.status != direct.status
    context.check(not is_ours, f"{what}: {ours.status}, and by the engine {direct.status}: {ours.data[:300]!r}")
    if ours.status != direct.status:
        context.check(is_ours, f"{what}: {ours.status}, by the engine {direct.status}: {ours.data[:300]!r}")
    elif ours.status < 500:
        hits = request.for_window() if status == "applied" else None
        window = hits.send(http, engine) if hits else None
        wrong = compare(ours, direct, window)
        context.check(not wrong, f"{what} ({status} {ours.headers.get('X-Rerank-Reason')}): {wrong}")


def _raw(context: Context, service: Service, engine: Engine) -> None:
    def answered(port: int, content: bytes) -> bytes:
        with suppress(OSError):  # either side may close the connection
            return send_bytes(port, content)
        return b""

    def ask(number: int) -> None:
        content = make_bytes(context.random("raw", number), INDEX)
        answer = answered(service.port, content)
        status = status_of(answer)
        context.add("raw requests")
        context.add(f"raw requests: {'closed' if status is None else f'{status // 100}xx'}")
        is_well = status is None or status < 500 or status in _PROPER_5XX
        # The engine closes the connection for some bodies. A gateway can only report that.
        is_well = is_well or (status == 502 and status_of(answered(engine.node.http_port, content)) in (None, 502))
        context.check(is_well, f"raw request {number}: {status}: {content[:200]!r} … {answer[:300]!r}")

    with ThreadPoolExecutor(N_THREADS) as threads:
        list(threads.map(ask, range(context.times(N_RAW))))
    context.check(service.is_live(), "the service is not live after the raw requests")
