"""Kills `sinkrank ingest` at random moments and starts it again until it is done."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from campaign.tools.claims import claims_of
from campaign.tools.contents import check_contents
from campaign.tools.context import Context
from campaign.tools.material import documents, write_embeddings, write_jsonl
from campaign.tools.nodes import Engine, one_node
from campaign.tools.processes import left_in_shared_memory, shared_names, wait_until
from campaign.tools.service import environment
from reranker.stores import open_store
from tests.support.processes import process_tree

ASSERTS = (
    "`sinkrank ingest` is killed 200 times (SIGTERM, SIGINT, SIGKILL; the process alone or its group; embedded store "
    "and engine; first ingest and rebuild) and continued. The index then holds exactly the input; no process, "
    "temporary file, semaphore or claim is left; a signal that can be handled ends the run."
)
LIMIT_S = 3600.0
N_KILLS = 200
KILLS_A_RUN = 5
# Enough for some seconds of work.
N_DOCUMENTS = 4000
N_BROKEN = 3
# A run that takes longer hangs.
HANG_S = 120.0
# Share of the kills in the first 40 % of a run, when processes start and words are counted.
STARTING = 0.4
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGKILL)


@dataclass(frozen=True)
class Job:
    """One input into one index."""

    index: str
    store: str
    folder: Path
    embeddings: Path
    rows: Sequence[Mapping[str, Any]]
    is_rebuild: bool
    n_workers: int

    @property
    def command(self) -> list[str]:
        given = [sys.executable, "-m", "sinkrank", "ingest", str(self.folder / "in.jsonl"), "--index", self.index]
        given += ["--store", self.store, "--embeddings", str(self.embeddings), "--home", str(self.folder / "home")]
        given += ["--rejects", str(self.folder / "rejects.jsonl"), "--workers", str(self.n_workers)]
        return [*given, "--rebuild"] if self.is_rebuild else given

    @property
    def temporary(self) -> Path:
        return self.folder / "tmp"


def run(context: Context) -> None:
    embeddings = write_embeddings(context.folder / "embeddings").path
    n_kills = context.times(N_KILLS, least=2)
    with one_node(context.engine) as engine:
        lasts = {kind: _measure(context, kind, engine, embeddings) for kind in ("engine", "embedded")}
        for number in itertools.count():
            if context.counted("kills") >= n_kills:
                break
            random = context.random(number)
            kind = ("engine", "embedded")[number % 2]
            job = _prepare(
                context, number, engine.store if kind == "engine" else "", embeddings, random, number % 4 >= 2
            )
            for kill in range(KILLS_A_RUN):
                _kill_once(context, job, random, lasts[kind], f"run {number}, kill {kill}")
            _finish(context, job, f"run {number}")
            _check_leftovers(context, job, engine if kind == "engine" else None, f"run {number} ({kind})")
            context.say(f"run {number}: {context.counted('kills')} kills")


def _measure(context: Context, kind: str, engine: Engine, embeddings: Path) -> float:
    """Measures the seconds that a run of this size takes on this machine now."""
    store = engine.store if kind == "engine" else ""
    job = _prepare(context, f"whole-{kind}", store, embeddings, context.random("whole", kind), is_rebuild=False)
    started = time.monotonic()
    _finish(context, job, f"a run that is not killed ({kind})")
    took = time.monotonic() - started
    context.figures[f"seconds of a run that is not killed ({kind})"] = round(took, 1)
    return took


def _prepare(
    context: Context, number: int | str, store: str, embeddings: Path, random: Random, is_rebuild: bool
) -> Job:
    """Writes the input. For a rebuild an older input is ingested first."""
    folder = context.folder / f"run-{number}"
    (folder / "tmp").mkdir(parents=True)
    rows = documents(N_DOCUMENTS, random, prefix=f"r{number}-")
    job = Job(
        f"kills-{number}", store or str(folder / "store"), folder, embeddings, rows, is_rebuild, random.choice((1, 2))
    )
    if is_rebuild:
        write_jsonl(folder / "in.jsonl", documents(50, random, prefix="old"))
        done = _start(job, rebuild=False)
        done.communicate(timeout=HANG_S)
        context.check(done.returncode == 0, f"run {number}: the first ingest ended with {done.returncode}")
    write_jsonl(folder / "in.jsonl", rows)
    lines = (folder / "in.jsonl").read_text().splitlines(keepends=True)
    for place in sorted(random.sample(range(len(lines)), N_BROKEN), reverse=True):
        lines.insert(place, '{"id": broken\n')
    (folder / "in.jsonl").write_text("".join(lines))
    return job


def _start(job: Job, rebuild: bool | None = None) -> subprocess.Popen[bytes]:
    is_rebuild = job.is_rebuild if rebuild is None else rebuild
    command = job.command if is_rebuild else [part for part in job.command if part != "--rebuild"]
    return subprocess.Popen(
        command,
        env=environment({"TMPDIR": str(job.temporary)}),
        cwd=job.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def _kill_once(context: Context, job: Job, random: Random, lasts_s: float, place: str) -> None:
    """Starts a run, kills it at a random moment, and checks that it ends and leaves no process."""
    chosen, to_group = random.choice(SIGNALS), random.random() < 0.5
    moment = lasts_s * (random.uniform(0, 0.4) if random.random() < STARTING else random.uniform(0.4, 1))
    what = f"{place}: {chosen.name} to the {'group' if to_group else 'process'} after {moment:.2f} s"
    process = _start(job)
    time.sleep(moment)
    family = process_tree(process.pid)
    shared = shared_names(family)
    if process.poll() is not None:
        context.add("runs that ended before their kill")
    else:
        (os.killpg if to_group else os.kill)(process.pid, chosen)
        context.add("kills")
        context.add(f"kills by {chosen.name}")
    _, stderr = _ended(context, process, what)
    gone = wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in family), HANG_S)
    context.check(gone, f"{what}: its workers still run")
    left = left_in_shared_memory(shared)
    context.check(not left, f"{what}: left in shared memory: {left}")
    text = stderr.decode(errors="replace")
    context.check(not has_traceback(text), f"{what}: a traceback: {text[text.find('Traceback') :][:800]}")


def has_traceback(text: str) -> bool:
    """Whether there is a traceback, except the one that Python prints if it is interrupted before it has found the
    module to run."""
    return "Traceback" in text and not ("_get_module_details" in text and text.rstrip().endswith("KeyboardInterrupt"))


def _ended(context: Context, process: subprocess.Popen[bytes], what: str) -> tuple[bytes, bytes]:
    try:
        return process.communicate(timeout=HANG_S)
    except subprocess.TimeoutExpired:
        context.check(False, f"{what}: the run hangs")
        os.killpg(process.pid, signal.SIGKILL)
        return process.communicate()


def _finish(context: Context, job: Job, place: str) -> None:
    """Continues the run to its end and compares the index with the input."""
    process = _start(job)
    stdout, stderr = _ended(context, process, f"{place}: the last run")
    text = stderr.decode(errors="replace")
    context.check(process.returncode == 1, f"{place}: code {process.returncode}, not 1 for the rejects: {text[-500:]}")
    wrong = check_contents(job.store, job.index, job.rows)
    context.check(not wrong, f"{place}: {'; '.join(wrong)}")
    context.add("documents compared", len(job.rows))
    context.add("runs continued to their end")
    context.add("of these with documents that were there", int(b"were there already" in stdout))
    rejects = (job.folder / "rejects.jsonl").read_text().splitlines()
    context.check(len(rejects) == N_BROKEN, f"{place}: {len(rejects)} rejects, not {N_BROKEN}")
    context.check(
        all("broken" in json.loads(line)["raw"] for line in rejects), f"{place}: wrong rejects: {rejects[:1]}"
    )


def _check_leftovers(context: Context, job: Job, engine: Engine | None, place: str) -> None:
    temporary = sorted(path.name for path in job.temporary.iterdir())
    context.check(not temporary, f"{place}: temporary files left: {temporary}")
    claims = claims_of(job.index, job.store, engine)
    context.check(not claims, f"{place}: claims left: {claims}")
    with closing(open_store(job.store)) as store:
        context.check(not any(one.run for one in store.versions(job.index)), f"{place}: a version is not complete")
        versions = [one.name for one in store.versions(job.index)]
        context.check(len(versions) <= 2, f"{place}: versions left: {versions}")
        context.check(job.is_rebuild or len(versions) <= 1, f"{place}: versions left: {versions}")
        if engine is not None:
            status, listed = engine.request("GET", f"/_cat/indices/{job.index}*?format=json&expand_wildcards=all")
            names = sorted(one["index"] for one in listed) if status == 200 else []
            context.check(names == sorted(versions) or names == [job.index], f"{place}: indices left: {names}")
            store.drop(job.index)
