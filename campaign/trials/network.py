"""Connections that break, wait and are slow on both sides of the service, and host names that change their address."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from random import Random

import urllib3

from campaign.tools.answers import ids
from campaign.tools.context import Context
from campaign.tools.indexed import FOREIGN, OURS, fill
from campaign.tools.material import documents, query, write_embeddings
from campaign.tools.nodes import Engine, one_node, store_address
from campaign.tools.patched import HOSTS
from campaign.tools.processes import n_descriptors, wait_until
from campaign.tools.relay import Fault, Relay, relaying
from campaign.tools.service import Service, serving

ASSERTS = (
    "The engine's answers are reset, cut, dripped and held back: the caller gets the whole answer, 502, 503 or 504, or "
    "sees that the connection broke, never a part taken for the whole. Half-open connections, slow-loris and clients "
    "that do not read do not keep others from being served within 10 s, and leave no descriptor. A host name that "
    "comes to mean another address is followed within a minute."
)
LIMIT_S = 900.0
N_DOCUMENTS = 300
N_LARGE, LARGE_BYTES = 200, 40_000
N_BAD_CLIENTS = 60
# The engine keeps answers that are not read yet, and refuses all searches when they fill its memory (371 MB).
MOST_LARGE = 20
# The limits per client must not affect the other clients, which use 127.0.0.1.
BAD_ADDRESS = "127.0.0.3"
OTHERS_S = 10.0
_GATEWAY = (502, 503, 504)


def run(context: Context) -> None:
    embeddings = write_embeddings(context.folder / "embeddings").path
    with one_node(context.engine) as engine:
        fill(context, engine, embeddings, documents(N_DOCUMENTS, context.random("documents")))
        _fill_large(engine)
        with relaying(engine.node.http_port) as relay:
            store = store_address(engine.node, relay.port)
            settings = {"SINKRANK_PROXY_TIMEOUT_S": "20", "SINKRANK_STORE_TIMEOUT_S": "5"}
            with serving(context, store, embeddings, settings=settings) as service:
                _engine_faults(context, engine, relay, service)
                context.say("faults of the engine's side are over")
                _bad_clients(context, service)
                context.say("faults of clients are over")
        _names(context, engine, embeddings)


def _fill_large(engine: Engine) -> None:
    """Makes an index whose whole answer has 8 MB."""
    text = "x" * LARGE_BYTES
    engine.request("PUT", "/large", {"mappings": {"properties": {"blob": {"type": "object", "enabled": False}}}})
    for first in range(0, N_LARGE, 50):
        lines = [
            f'{{"index": {{"_id": "{number}"}}}}\n{{"blob": {{"a": "{text}"}}}}\n'
            for number in range(first, first + 50)
        ]
        engine.request("POST", "/large/_bulk?refresh=true", "".join(lines))


def _engine_faults(context: Context, engine: Engine, relay: Relay, service: Service) -> None:
    for number in range(context.times(60, least=6)):
        random = context.random("fault", number)
        kind = ("reset", "close", "drip", "hold", "refuse")[number % 5]
        relay.fault = Fault(kind, seconds=0.01, n_bytes=random.choice((0, 10, 100, 300, 1000, 3000)))
        calls = [_call(random) for _ in range(4)]
        if kind == "hold":
            release = threading.Timer(random.uniform(0.5, 4), _pass, [relay])
            release.start()
        with ThreadPoolExecutor(4) as threads:
            outcomes = list(threads.map(lambda call: _ask(service.url, *call), calls))
        relay.fault = Fault()
        for call, outcome in zip(calls, outcomes, strict=True):
            _check_outcome(context, engine, call, outcome, f"{kind} {number}")
        served = wait_until(partial(_serves_both, service, context.random("after", number)), 60)
        context.check(served, f"{kind} {number}: searches do not come back within a minute")
        context.add(f"answers met by {kind}", len(calls))


def _pass(relay: Relay) -> None:
    relay.fault = Fault()


Call = tuple[str, dict[str, object]]


def _call(random: Random) -> Call:
    """A search that the proxy re-ranks, one that it passes on, or one of our own."""
    text = query(random)
    return random.choice(
        (
            (f"/{FOREIGN}/_search", {"query": {"match": {"text": text}}, "size": 50}),
            (f"/{FOREIGN}/_search", {"query": {"match_all": {}}, "sort": ["year"], "size": 100}),
            ("/v1/search", {"query": text, "index": OURS, "language": "en", "size": 10}),
        )
    )


def _ask(url: str, path: str, body: dict[str, object], timeout_s: float = 60.0) -> tuple[int, bytes]:
    """The status and the whole body; 0 if the connection broke visibly, -1 if nothing came within the timeout."""
    try:
        answer = urllib3.request("POST", url + path, json=body, timeout=timeout_s, retries=False)
    except urllib3.exceptions.TimeoutError:
        return -1, b""
    except urllib3.exceptions.HTTPError:
        return 0, b""
    return answer.status, answer.data


def _check_outcome(context: Context, engine: Engine, call: Call, outcome: tuple[int, bytes], what: str) -> None:
    path, body = call
    status, content = outcome
    exchange = f"{what}: POST {path} {json.dumps(body)[:200]}: {status} {content[:200]!r}"
    if status != 200:
        context.add("answered by 502, 503 or 504" if status in _GATEWAY else "seen as a broken connection")
        context.check(status in (0, 422, *_GATEWAY), exchange)
        return
    context.add("answered whole")
    try:
        found = json.loads(content)
    except ValueError:
        context.check(False, f"{exchange}: not JSON")
        return
    if path != "/v1/search":
        wide = {**body, "size": 1000} if "sort" not in body else body
        _, direct = engine.request("POST", path, wide)
        n_expected = min(int(str(body["size"])), len(ids(direct)))
        context.check(len(ids(found)) == n_expected, f"{exchange}: {len(ids(found))} hits, not {n_expected}")
        context.check(ids(found) <= ids(direct), f"{exchange}: other hits than the engine's")


def _bad_clients(context: Context, service: Service) -> None:
    wait_until(lambda: service.is_ready(), 60)
    n_clients = context.times(N_BAD_CLIENTS, least=12)
    before = n_descriptors(service.pid)
    kinds: dict[str, Callable[[Service, int], ExitStack]] = {
        "half-open connections": _half_open,
        "slow-loris": _slow_loris,
        "clients that do not read": _not_reading,
    }
    for name, connect in kinds.items():
        with connect(service, n_clients):
            for number in range(5):
                _check_others(context, service, context.random(name, number), f"beside {n_clients} {name}")
        gone = wait_until(lambda: n_descriptors(service.pid) <= before + 10, 90)
        context.check(gone, f"{name}: {n_descriptors(service.pid)} descriptors, {before} before")
        context.add(f"{name} at once", n_clients)


def _check_others(context: Context, service: Service, random: Random, what: str) -> None:
    """Checks that other clients are served."""
    context.check(service.is_live(OTHERS_S), f"{what}: /-/live does not answer")
    call, end = _call(random), time.monotonic() + 60
    status, content = _ask(service.url, *call, timeout_s=OTHERS_S)
    while b"circuit_breaking_exception" in content and time.monotonic() < end:
        # The engine counts memory that is not freed yet, and refuses all searches until it is.
        context.add("searches sent again that the engine refused for its own memory")
        time.sleep(0.5)
        status, content = _ask(service.url, *call, timeout_s=OTHERS_S)
    context.check(status in (200, 422), f"{what}: a search was answered {status} {content[:300]!r}")


def _half_open(service: Service, n_clients: int) -> ExitStack:
    """Opens connections that have sent half of a request."""
    stack = ExitStack()
    for number in range(n_clients):
        sent = (b"", b"GET / HT", b"POST /x/_search HTTP/1.1\r\nContent-Length: 9\r\n\r\n{")[number % 3]
        _connect(stack, service, sent)
    return stack


def _connect(stack: ExitStack, service: Service, sent: bytes, receive_bytes: int = 65_536) -> socket.socket:
    """A connection that has sent these bytes; the service may have closed it."""
    connection = stack.enter_context(socket.socket())
    connection.settimeout(30)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    connection.bind((BAD_ADDRESS, 0))
    with suppress(OSError):
        connection.connect(("127.0.0.1", service.port))
        connection.sendall(sent)
    return connection


def _slow_loris(service: Service, n_clients: int) -> ExitStack:
    """Opens connections that slowly send single bytes of a header."""
    stack, ended = ExitStack(), threading.Event()
    connections = [_connect(stack, service, b"GET / HTTP/1.1\r\nX-Slow: ") for _ in range(n_clients)]

    def drip() -> None:
        while not ended.wait(0.2):
            for connection in connections:
                with suppress(OSError):
                    connection.sendall(b"a")

    thread = threading.Thread(target=drip, daemon=True)
    thread.start()
    stack.callback(thread.join)
    stack.callback(ended.set)
    return stack


def _not_reading(service: Service, n_clients: int) -> ExitStack:
    """Opens clients that request 8 MB each and do not read the answer."""
    stack = ExitStack()
    for _ in range(min(n_clients, MOST_LARGE)):
        sent = f"GET /large/_search?size={N_LARGE} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
        _connect(stack, service, sent, receive_bytes=4096)
    return stack


def _names(context: Context, engine: Engine, embeddings: Path) -> None:
    """Changes the address of the engine's host name: one address, then none, then another. The first is shut down."""
    hosts = context.folder / "hosts"
    with ExitStack() as later, ExitStack() as first:
        one = first.enter_context(relaying(engine.node.http_port, "127.0.0.1"))
        other = later.enter_context(relaying(engine.node.http_port, "127.0.0.2", one.port))
        _point(hosts, "127.0.0.1")
        store = f"{engine.node.distribution}://engine.test:{one.port}"
        patched = {HOSTS: str(hosts)}
        with serving(
            context, store, embeddings, name="names", settings=patched, module=("campaign.tools.patched",)
        ) as service:
            for phase, address in (("the first address", "127.0.0.1"), ("another address", "127.0.0.2")):
                _point(hosts, address)
                for number in range(3):
                    served = wait_until(partial(_serves_both, service, context.random(phase, number)), 60)
                    context.check(served, f"{phase}: searches are not answered within a minute")
                if phase == "the first address":
                    _point(hosts, "no-such-host.invalid")
                    first.close()
                    status, _ = _ask(service.url, *_call(context.random("nowhere")))
                    context.check(status in _GATEWAY, f"without an address: {status}")
        context.check(other.n_connections > 0, "nothing went to the other address")
        context.figures["connections to the second address of a name"] = other.n_connections


def _serves_both(service: Service, random: Random) -> bool:
    text = query(random)  # of known words, so 200 is the only good answer
    foreign, _ = _ask(service.url, f"/{FOREIGN}/_search", {"query": {"match": {"text": text}}})
    ours, _ = _ask(service.url, "/v1/search", {"query": text, "index": OURS, "language": "en"})
    return foreign == 200 and ours == 200


def _point(hosts: Path, address: str) -> None:
    new = hosts.with_suffix(".new")
    new.write_text(f"engine.test {address}\n")
    new.replace(hosts)
