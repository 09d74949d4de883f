"""A cluster of three nodes loses one during searches and one during an ingest."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

from campaign.tools.contents import check_contents
from campaign.tools.context import Context
from campaign.tools.indexed import FOREIGN, OURS, fill
from campaign.tools.load import Load, loading, mixed_calls
from campaign.tools.material import documents, write_embeddings, write_jsonl
from campaign.tools.nodes import Engine, n_nodes, three_nodes
from campaign.tools.processes import wait_until
from campaign.tools.service import command, environment, serving

ASSERTS = (
    "Three nodes with replicas. One is killed while clients search and write through the proxy (`store` names "
    "all): searches go on, every confirmed write is kept. One is killed during `sinkrank ingest`: continued, the index "
    "holds exactly the input."
)
LIMIT_S = 900.0
N_DOCUMENTS = 300
N_INGESTED = 6000
N_CLIENTS = 6
# Writes to the lost shards wait until the other nodes have elected a manager and promoted replicas.
AWAY_S = 20.0
HANG_S = 400.0
# One of this many requests may fail: those at the node, and writes to its shards until replicas are promoted.
MOST_FAILING = 5
_WELL = ("200", "201", "404")


def run(context: Context) -> None:
    embeddings = write_embeddings(context.folder / "embeddings").path
    with three_nodes(context.engine) as engines:
        replicas = {"settings": {"number_of_shards": 2, "number_of_replicas": 2}}
        fill(context, engines[0], embeddings, documents(N_DOCUMENTS, context.random("documents")), replicas)
        engines[0].request("PUT", f"/{OURS}/_settings", {"index.number_of_replicas": 2})
        _wait_until_green(engines[0])
        for number in range(context.times(3)):
            _lose_during_search(context, engines, embeddings, number)
            _lose_during_ingest(context, engines, embeddings, number)


def _address(engines: list[Engine]) -> str:
    """The value of `store` with all nodes."""
    first, *others = (engine.store for engine in engines)
    return ",".join([first, *(other.partition("://")[2] for other in others)])


def _wait_until_green(engine: Engine) -> None:
    path = "/_cluster/health?wait_for_status=green&timeout=5s"
    if not wait_until(lambda: engine.request("GET", path)[0] == 200, 120):
        raise RuntimeError("the cluster does not become green")


def _lose_during_search(context: Context, engines: list[Engine], embeddings: Path, number: int) -> None:
    """Kills a node under load, then starts it again."""
    lost, *others = _shuffled(context, engines, "search", number)
    draw = mixed_calls(FOREIGN, OURS)
    randoms = [context.random("client", number, client) for client in range(N_CLIENTS)]
    with (
        serving(context, _address(engines), embeddings, name=f"serve-{number}") as service,
        loading(lambda: service.url, draw, randoms) as load,
    ):
        load.phase = "calm"
        time.sleep(max(3.0, AWAY_S * context.scale))
        load.phase = "a node is killed"
        lost.kill()
        time.sleep(max(8.0, AWAY_S * context.scale))
        load.phase = "two nodes"
        time.sleep(max(3.0, AWAY_S * context.scale))
        context.check(service.is_ready(), "the service is not ready with two of three nodes")
    lost.start()
    context.check(wait_until(lambda: n_nodes(others[0]) == 3, 180, step_s=0.5), "the killed node does not come back")
    _wait_until_green(others[0])
    _check(context, load, others[0], number)


def _check(context: Context, load: Load, engine: Engine, number: int) -> None:
    for phase in ("calm", "two nodes"):
        for name in (phase, f"{phase}, no engine needed"):
            bad = load.bad(name, _WELL.__contains__)
            context.check(not bad, f"round {number}, {name}: {'; '.join(bad)}")
    failed = load.bad("a node is killed", (*_WELL, "502", "503", "504").__contains__)
    context.check(not failed, f"round {number}, as a node is killed: {'; '.join(failed)}")
    n_all = sum(n for (phase, _), n in load.statuses.items() if phase == "a node is killed")
    context.add("requests while a node goes away", n_all)
    n_failed = load.n("a node is killed", "502", "503", "504")
    context.add("of these 502, 503 or 504", n_failed)
    context.check(n_failed * MOST_FAILING <= n_all, f"round {number}: {n_failed} of {n_all} requests fail")
    engine.request("POST", f"/{FOREIGN}/_refresh")
    _, found = engine.request("POST", f"/{FOREIGN}/_mget?_source=false", {"ids": sorted(load.written) or ["none"]})
    missing = [one["_id"] for one in found["docs"] if load.written and not one.get("found")]
    context.check(not missing, f"round {number}: {len(missing)} confirmed writes are lost: {missing[:3]}")
    context.add("confirmed writes found again", len(load.written) - len(missing))


def _lose_during_ingest(context: Context, engines: list[Engine], embeddings: Path, number: int) -> None:
    """Kills any node, while `store` names all of them."""
    random = context.random("ingest", number)
    lost, survivor, _ = _shuffled(context, engines, "ingest", number)
    index, rows = f"lost-{number}", documents(N_INGESTED, random)
    path = write_jsonl(context.folder / f"{index}.jsonl", rows)
    given = ["ingest", str(path), "--store", _address(engines), "--index", index, "--embeddings", str(embeddings)]
    given += ["--home", str(context.folder / "home"), "--workers", "1"]
    process = subprocess.Popen(
        [sys.executable, "-m", "sinkrank", *given],
        env=environment(),
        cwd=context.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    least = N_INGESTED * random.uniform(0, 0.5)
    wait_until(
        lambda: process.poll() is not None or (_is_green(survivor, index) and _count(survivor, index) > least), 120
    )
    context.add("nodes killed during ingest", int(process.poll() is None))
    lost.kill()
    try:
        _, stderr = process.communicate(timeout=HANG_S)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        _, stderr = process.communicate()
        context.check(False, f"ingest {number} hangs when a node is lost")
    context.check(b"Traceback" not in stderr, f"ingest {number}: {stderr[-1000:].decode(errors='replace')}")
    context.add("ingests that went on by themselves", int(process.returncode == 0))
    if process.returncode:
        done = command(*given, cwd=context.folder)
        context.check(done.returncode == 0, f"ingest {number} continued: code {done.returncode}: {done.stderr[-500:]}")
    lost.start()
    context.check(wait_until(lambda: n_nodes(survivor) == 3, 180, step_s=0.5), "the killed node does not come back")
    wrong = check_contents(survivor.store, index, rows)
    context.check(not wrong, f"ingest {number}: {'; '.join(wrong)}")
    context.add("documents compared", len(rows))
    _wait_until_green(survivor)


def _is_green(engine: Engine, index: str) -> bool:
    """Whether another node has all documents of the index, since without replicas no cluster survives a lost node."""
    status, health = engine.request("GET", f"/_cluster/health/{index}")
    return status == 200 and health["status"] == "green"


def _count(engine: Engine, index: str) -> int:
    engine.request("POST", f"/{index}/_refresh")
    status, answer = engine.request("GET", f"/{index}/_count")
    return int(answer["count"]) if status == 200 else 0


def _shuffled(context: Context, engines: list[Engine], *names: object) -> list[Engine]:
    return context.random("order", *names).sample(engines, len(engines))
