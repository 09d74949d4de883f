"""Runs the service under mixed load while its engine is stopped, slowed, filled and restarted."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import urllib3

from campaign.tools.context import Context
from campaign.tools.flatness import growth
from campaign.tools.indexed import FOREIGN, OURS, fill
from campaign.tools.load import Load, loading, mixed_calls
from campaign.tools.material import documents, write_embeddings
from campaign.tools.nodes import Engine, one_node, store_address
from campaign.tools.processes import n_descriptors, n_threads, resident_bytes, wait_until
from campaign.tools.relay import Fault, Relay, relaying
from campaign.tools.service import Service, serving

ASSERTS = (
    "Mixed load from 12 clients while the engine is stopped, slowed, full and restarted, in turn. Without a "
    "fault there is no 5xx; during one only 502, 503 and 504, and none on routes that need no engine; `/-/live`"
    " always answers within 5 s; the service is ready and searches again within two minutes of each fault; no "
    "document whose write was confirmed is lost; memory and descriptors do not grow over the second half."
)
LOAD_S = 1200.0
LIMIT_S = LOAD_S + 600.0
N_CLIENTS = 12
N_DOCUMENTS = 500
LIVE_S = 5.0
RECOVERY_S = 120.0
# A shorter run would measure the growth of caches and pools after the start.
FIT_S = 300.0
MOST_GROWTH_BYTES, MOST_GROWTH_DESCRIPTORS = 48 * 2**20, 20
_WELL = ("200", "201", "404")
_UNAVAILABLE = (*_WELL, "403", "429", "502", "503", "504")


def run(context: Context) -> None:
    embeddings = write_embeddings(context.folder / "embeddings").path
    with one_node(context.engine) as engine, relaying(engine.node.http_port) as relay:
        fill(context, engine, embeddings, documents(N_DOCUMENTS, context.random("documents")))
        store = store_address(engine.node, relay.port)
        with serving(context, store, embeddings) as service, _watching(context, service) as watched:
            randoms = [context.random("client", number) for number in range(N_CLIENTS)]
            with loading(lambda: service.url, mixed_calls(FOREIGN, OURS), randoms) as load:
                _cycles(context, engine, relay, service, load)
            _check_answers(context, load)
            _check_written(context, engine, load)
            _check_watched(context, watched)


Happening = Callable[[Engine, Relay, float], None]


def _stopped(engine: Engine, relay: Relay, seconds: float) -> None:
    engine.freeze()
    time.sleep(seconds)
    engine.thaw()


def _slowed(engine: Engine, relay: Relay, seconds: float) -> None:
    relay.fault = Fault("delay", seconds=0.3)
    time.sleep(seconds)
    relay.fault = Fault()


def _full(engine: Engine, relay: Relay, seconds: float) -> None:
    engine.set_blocked(True)
    time.sleep(seconds)
    engine.set_blocked(False)


def _restarted(engine: Engine, relay: Relay, seconds: float) -> None:
    engine.restart()


FAULTS: dict[str, Happening] = {"stopped": _stopped, "slowed": _slowed, "full": _full, "restarted": _restarted}


def _cycles(context: Context, engine: Engine, relay: Relay, service: Service, load: Load) -> None:
    """Runs phases until the time is over: calm, a fault, recovery, calm, the next fault. Each fault comes at least
    once."""
    lasts = LOAD_S * context.scale
    each = min(15.0, max(3.0, lasts / (3 * len(FAULTS))))
    started, longest = time.monotonic(), 0.0
    _wait_until_well(context, service, load, "at the start")
    while True:
        for name, happens in FAULTS.items():
            load.phase = "calm"
            time.sleep(each)
            load.phase = name
            happens(engine, relay, each)
            longest = max(longest, _wait_until_well(context, service, load, f"after {name}"))
            context.add("faults")
        context.say(f"{context.counted('faults')} faults, {sum(load.statuses.values())} requests")
        if time.monotonic() - started >= lasts:
            break
    load.phase = "calm"
    time.sleep(each)
    context.figures["longest recovery, s"] = round(longest, 1)


def _wait_until_well(context: Context, service: Service, load: Load, when: str) -> float:
    """Seconds until the service is ready and both kinds of searches work."""
    load.phase = "recovery"
    started = time.monotonic()

    def is_well() -> bool:
        with suppress(urllib3.exceptions.HTTPError):
            body = {"query": {"match": {"text": "x"}}}
            found = urllib3.request("POST", f"{service.url}/{FOREIGN}/_search", json=body, timeout=30, retries=False)
            ours = {"query": "x", "index": OURS, "size": 1, "method": "none", "first_stage": "bm25", "language": "en"}
            own = urllib3.request("POST", f"{service.url}/v1/search", json=ours, timeout=30, retries=False)
            return found.status == 200 and own.status < 500 and service.is_ready()
        return False

    context.check(wait_until(is_well, RECOVERY_S, step_s=0.3), f"no recovery within {RECOVERY_S:g} s {when}")
    return time.monotonic() - started


Watched = dict[str, list[tuple[float, float]]]


@contextmanager
def _watching(context: Context, service: Service) -> Iterator[Watched]:
    """Samples memory, descriptors and threads of the process, and the time of `/-/live`."""
    samples: Watched = {"memory": [], "descriptors": [], "threads": [], "live": []}
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(0.5):
            now = time.monotonic()
            is_live = service.is_live(timeout_s=LIVE_S)
            took = time.monotonic() - now
            context.check(is_live, f"/-/live did not answer 200 within {LIVE_S:g} s (asked for {took:.1f} s)")
            samples["live"].append((now, took))
            with suppress(OSError):  # it has ended
                samples["memory"].append((now, resident_bytes(service.pid)))
                samples["descriptors"].append((now, n_descriptors(service.pid)))
                samples["threads"].append((now, n_threads(service.pid)))

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield samples
    finally:
        ended.set()
        thread.join()


def _check_answers(context: Context, load: Load) -> None:
    """Checks that a fault affects only the routes that need the engine."""
    for phase in ("calm", "slowed", *FAULTS, "recovery", "between"):
        allowed = _WELL if phase in ("calm", "slowed") else _UNAVAILABLE
        bad = load.bad(phase, allowed.__contains__)
        context.check(not bad, f"answers while {phase}: {'; '.join(bad)}")
        local = load.bad(f"{phase}, no engine needed", _WELL.__contains__)
        context.check(not local, f"answers while {phase} that need no engine: {'; '.join(local)}")
    context.figures["requests"] = sum(load.statuses.values())
    for phase in ("calm", *FAULTS):
        n_all = sum(n for (name, _), n in load.statuses.items() if name == phase)
        n_5xx = load.n(phase, "502", "503", "504")
        context.figures[f"requests while {phase}"] = f"{n_all:,}, of which {n_5xx:,} 502, 503 or 504"


def _check_written(context: Context, engine: Engine, load: Load) -> None:
    ids = sorted(load.written)
    missing: list[str] = []
    for first in range(0, len(ids), 500):
        _, found = engine.request("POST", f"/{FOREIGN}/_mget?_source=false", {"ids": ids[first : first + 500]})
        missing += [one["_id"] for one in found["docs"] if not one.get("found")]
    context.check(not missing, f"{len(missing)} of {len(ids)} confirmed documents are lost: {missing[:3]}")
    context.figures["documents written and found again"] = len(ids) - len(missing)


def _check_watched(context: Context, watched: Watched) -> None:
    took = sorted(seconds for _, seconds in watched["live"])
    context.figures["`/-/live`, median and longest, s"] = f"{took[len(took) // 2]:.3f}, {took[-1]:.3f}"
    memory, descriptors = growth(watched["memory"]), growth(watched["descriptors"])
    context.figures["memory at the end, MiB"] = round(watched["memory"][-1][1] / 2**20)
    context.figures["memory, growth over the second half, MiB"] = round(memory / 2**20, 1)
    context.figures["descriptors at the end"] = int(watched["descriptors"][-1][1])
    context.figures["descriptors, growth over the second half"] = round(descriptors, 1)
    context.figures["most threads"] = int(max(n for _, n in watched["threads"]))
    if watched["memory"][-1][0] - watched["memory"][0][0] >= FIT_S:
        context.check(memory <= MOST_GROWTH_BYTES, f"memory grew by {memory / 2**20:.0f} MiB over the second half")
        context.check(descriptors <= MOST_GROWTH_DESCRIPTORS, f"descriptors grew by {descriptors:.0f}")
