"""Files of the embedded store and of the embeddings are damaged, and searched."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

from campaign.tools.context import Context
from campaign.tools.damaging import damage
from campaign.tools.indexed import ingest
from campaign.tools.material import documents, query, write_embeddings
from campaign.tools.probing import INDEX
from campaign.tools.processes import wait_until
from campaign.tools.service import command, environment, serving
from reranker.stores.embedded.file import FILE_NAME

ASSERTS = (
    "Bits, bytes, pages and ends of the files of the embedded store and of the embeddings are damaged. Each damage is "
    "told by a clear error, or by the service becoming not ready within a minute, or the answers are as before; none "
    "gives other answers without a sign, a traceback or a crash. `embeddings info --verify` finds each that touches "
    "the embeddings."
)
LIMIT_S = 1800.0
N_STORE, N_EMBEDDINGS = 200, 200
N_DOCUMENTS = 200
# 29 MB: more than is read whole at the start.
N_WORDS, DIM = 12_000, 300
NOT_READY_S = 60.0
# Starting the service for each damage that a search does not show would take the hour.
MOST_WATCHED = 10
HANG_S = 300.0


class Prober:
    """The process of `campaign.tools.probing`; started again when it has died."""

    def __init__(self, queries: list[list[str]]) -> None:
        self._queries = queries
        self._process: subprocess.Popen[str] | None = None

    def probe(self, store: Path, embeddings: Path) -> dict[str, Any]:
        """See `campaign.tools.probing.probe`; a crash is a traceback too."""
        if self._process is None or self._process.poll() is not None:
            command = [sys.executable, "-m", "campaign.tools.probing"]
            pipe = subprocess.PIPE
            self._process = subprocess.Popen(
                command, env=environment(), stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True
            )
        process = self._process
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("the process has no pipes")
        given = {"store": str(store), "embeddings": str(embeddings), "queries": self._queries}
        process.stdin.write(json.dumps(given) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
        if not line:
            return {"traceback": f"the process died with code {process.wait()}"}
        outcome: dict[str, Any] = json.loads(line)
        return outcome

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()


def run(context: Context) -> None:
    sound = context.folder / "sound"
    write_embeddings(sound / "embeddings", N_WORDS, DIM)
    ingest(
        context, str(sound / "store"), sound / "embeddings", INDEX, documents(N_DOCUMENTS, context.random("documents"))
    )
    random = context.random("queries")
    prober = Prober([[query(random, language), language] for language in ("en", "fr") * 6])
    try:
        wanted = prober.probe(sound / "store", sound / "embeddings")
        context.check("answers" in wanted, f"the sound store: {wanted}")
        again = prober.probe(sound / "store", sound / "embeddings")
        context.check(again == wanted, "the sound store gives other answers the second time")
        for number in range(context.times(N_STORE, least=5)):
            _damage_store(context, prober, sound, wanted, number)
        context.say("the store's damages are over")
        for number in range(context.times(N_EMBEDDINGS, least=5)):
            _damage_embeddings(context, prober, sound, wanted, number)
    finally:
        prober.close()


def _damage_store(context: Context, prober: Prober, sound: Path, wanted: dict[str, Any], number: int) -> None:
    random, copy = context.random("store", number), _copied(context, sound)
    how = damage(copy / "store" / FILE_NAME, random)
    _judge(context, prober, copy, wanted, f"store, damage {number}: {how}", "store")


def _damage_embeddings(context: Context, prober: Prober, sound: Path, wanted: dict[str, Any], number: int) -> None:
    random, copy = context.random("embeddings", number), _copied(context, sound)
    path = _one_file(copy / "embeddings", random)
    how = damage(path, random)
    what = f"embeddings, damage {number}: {how}"
    if number % 10 == 0:  # a process each
        done = command("embeddings", "info", "--embeddings", str(copy / "embeddings"), "--verify", cwd=context.folder)
        context.check(done.returncode == 1, f"{what}: info --verify ends with {done.returncode}")
        context.check("Traceback" not in done.stderr, f"{what}: info --verify: {done.stderr[-500:]}")
        context.add("damages of embeddings given to `info --verify`")
    _judge(context, prober, copy, wanted, what, "embeddings")


def _copied(context: Context, sound: Path) -> Path:
    copy = context.folder / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(sound, copy)
    return copy


def _one_file(folder: Path, random: Random) -> Path:
    """A file of the store; the large one as often as all others together."""
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.stat().st_size)
    largest = max(files, key=lambda path: path.stat().st_size)
    return largest if random.random() < 0.5 else random.choice(files)


def _judge(context: Context, prober: Prober, copy: Path, wanted: dict[str, Any], what: str, kind: str) -> None:
    """Told, without effect, or a failure. What shows no sign is given to the service, which may find it later."""
    outcome = prober.probe(copy / "store", copy / "embeddings")
    context.add(f"damages of the {kind}")
    context.check("traceback" not in outcome, f"{what}: {outcome.get('traceback')}")
    if "traceback" in outcome:
        context.add(f"{kind}: tracebacks")
    elif "error" in outcome:
        context.add(f"{kind}: told by an error")
    elif outcome == wanted:
        context.add(f"{kind}: answers as before")
    elif context.counted(f"{kind}: given to the service") < context.times(MOST_WATCHED, least=2):
        context.add(f"{kind}: given to the service")
        is_found = _becomes_unready(context, copy)
        context.check(is_found, f"{what}: other answers, and the service stays ready")
        context.add(f"{kind}: told by /-/ready", int(is_found))
    else:
        context.check(False, f"{what}: other answers without a sign (not given to the service)")


def _becomes_unready(context: Context, copy: Path) -> bool:
    """Whether the service refuses to start, or is not ready within a minute."""
    settings = {"SINKRANK_INDEX": INDEX}
    try:
        with serving(context, str(copy / "store"), copy / "embeddings", settings=settings) as service:
            return wait_until(lambda: not service.is_ready(), NOT_READY_S, step_s=1)
    except RuntimeError:
        return True
