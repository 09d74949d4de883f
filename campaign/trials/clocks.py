"""The wall clock of the service and of ingest jumps, forwards and back."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from pathlib import Path
from random import Random

import urllib3

from campaign.tools.claims import claims_of
from campaign.tools.contents import check_contents
from campaign.tools.context import Context
from campaign.tools.indexed import FOREIGN, OURS, fill, ingest
from campaign.tools.material import documents, query, write_embeddings, write_jsonl
from campaign.tools.nodes import Engine, one_node
from campaign.tools.patched import CLOCK
from campaign.tools.processes import wait_until
from campaign.tools.service import Service, command, environment, serving
from reranker.stores import open_store

ASSERTS = (
    "The wall clock jumps by minutes to years, both ways, under a running service: it answers, no time in answers, "
    "logs or metrics is negative, and an index that is replaced is found anew within two minutes. A run that is killed "
    "while its clock is a day ahead locks nobody out for longer than two minutes."
)
LIMIT_S = 900.0
N_DOCUMENTS = 200
JUMPS = (600.0, -600.0, 86_400.0, -86_400.0, 3.2e8, -3.2e8, 1e9, 0.5, -3.0)
FOLLOW_S = 120.0
HANG_S = 180.0


def run(context: Context) -> None:
    embeddings = write_embeddings(context.folder / "embeddings").path
    with one_node(context.engine) as engine:
        rows = documents(N_DOCUMENTS, context.random("documents"))
        fill(context, engine, embeddings, rows)
        _jumps(context, engine, embeddings)
        for number in range(context.times(4, least=2)):
            _locked_ahead(context, engine if number % 2 else None, embeddings, number)


def _jumps(context: Context, engine: Engine, embeddings: Path) -> None:
    clock = context.folder / "clock"
    clock.write_text("0")
    settings = {CLOCK: str(clock), "SINKRANK_LOG_FORMAT": "json", "SINKRANK_LOG_LEVEL": "info"}
    random = context.random("jumps")
    with serving(context, engine.store, embeddings, settings=settings, module=("campaign.tools.patched",)) as service:
        for number in range(context.times(40, least=6)):
            shift = random.choice(JUMPS) * random.uniform(0.5, 1)
            clock.write_text(str(shift))
            context.add("jumps")
            for _ in range(5):
                _search(context, service, random, f"jump {number} to {shift:+.1f} s")
            if number % 3 == 0:
                _replace(context, engine, embeddings, service, number)
        _check_times(context, service)


def _search(context: Context, service: Service, random: Random, what: str) -> None:
    text = query(random)
    calls = (
        (f"/{FOREIGN}/_search", {"query": {"match": {"text": text}}}),
        ("/v1/search", {"query": text, "index": OURS, "language": "en"}),
        ("/v1/rerank", {"query": text, "documents": [query(random), query(random)], "language": "en"}),
    )
    for path, body in calls:
        answer = urllib3.request("POST", service.url + path, json=body, timeout=60, retries=False)
        context.check(answer.status == 200, f"{what}: POST {path}: {answer.status} {answer.data[:300]!r}")
        context.check(
            not negative_times(answer.data.decode()), f"{what}: POST {path}: {negative_times(answer.data.decode())}"
        )
    context.check(service.is_ready(), f"{what}: not ready")


def negative_times(text: str) -> list[str]:
    """The times below zero, in milliseconds or seconds, in JSON or metrics."""
    return re.findall(r'"(?:took|[a-z_]+_m?s)": ?-[0-9.]+', text) + re.findall(
        r"(?m)^\w*seconds\w*(?:\{[^}]*\})? -[0-9.e+]+$", text
    )


def _check_times(context: Context, service: Service) -> None:
    metrics = urllib3.request("GET", f"{service.url}/-/metrics", timeout=60).data.decode()
    context.check(not negative_times(metrics), f"metrics: {negative_times(metrics)[:3]}")
    lines = [json.loads(line) for line in service.log().splitlines() if line.startswith("{")]
    timed = [line for line in lines if "took_ms" in line]
    context.check(len(timed) > 0, "no request was logged")
    for line in timed:
        took = line["took_ms"]
        context.check(math.isfinite(took) and took >= 0, f"a logged time: {line}")
    context.add("log records with a time", len(timed))


def _replace(context: Context, engine: Engine, embeddings: Path, service: Service, number: int) -> None:
    """Drops the index and makes it with other documents. The service must find these and no others after a while."""
    store = open_store(engine.store)
    store.drop(OURS)
    store.close()
    rows = documents(N_DOCUMENTS, context.random("replaced", number), prefix=f"n{number}-")
    ingest(context, engine.store, embeddings, OURS, rows)
    body = {"query": rows[0]["text"], "index": OURS, "language": rows[0]["lang"], "size": 20}

    def finds_new() -> bool:
        answer = urllib3.request("POST", f"{service.url}/v1/search", json=body, timeout=60, retries=False)
        found = [hit["id"] for hit in answer.json()["hits"]] if answer.status == 200 else []
        return bool(found) and all(doc_id.startswith(f"n{number}-") for doc_id in found)

    context.check(wait_until(finds_new, FOLLOW_S, step_s=0.5), f"jump {number}: the replaced index is not found anew")
    context.add("indices replaced and found anew")


def _locked_ahead(context: Context, engine: Engine | None, embeddings: Path, number: int) -> None:
    """Kills a rebuild with a clock a day ahead while it has the lock. An ingest of another input must get the lock."""
    random, index = context.random("lock", number), f"clock-{number}"
    store = engine.store if engine is not None else str(context.folder / f"store-{number}")
    rows = documents(2000, random)
    ingest(context, store, embeddings, index, rows[:20])
    path, clock = write_jsonl(context.folder / "ahead.jsonl", rows), context.folder / "ahead"
    clock.write_text(str(random.uniform(3_600, 86_400)))
    given = ["ingest", str(path), "--rebuild", "--store", store, "--index", index, "--embeddings", str(embeddings)]
    process = subprocess.Popen(
        [sys.executable, "-m", "campaign.tools.patched", *given, "--home", str(context.folder / f"ahead-{number}")],
        env=environment({CLOCK: str(clock)}),
        cwd=context.folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    has_lock = wait_until(lambda: process.poll() is not None or bool(claims_of(index, store, engine)), HANG_S, 0.02)
    context.check(has_lock and process.poll() is None, f"lock {number}: the run never had the lock")
    process.kill()
    process.wait()
    context.add("runs killed with the lock")
    other = write_jsonl(context.folder / "other.jsonl", documents(50, random, prefix="other"))
    home = str(context.folder / "other-home")
    later = ["ingest", str(other), "--rebuild", "--store", store, "--index", index, "--embeddings", str(embeddings)]

    def gets_lock() -> bool:
        return command(*later, "--home", home, cwd=context.folder).returncode == 0

    context.check(wait_until(gets_lock, FOLLOW_S, step_s=5), f"lock {number}: another run is locked out for ever")
    wrong = check_contents(store, index, [json.loads(line) for line in other.read_text().splitlines()])
    context.check(not wrong, f"lock {number}: {'; '.join(wrong)}")
