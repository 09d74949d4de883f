"""Files of the embedded store and of the embeddings are damaged, and searched."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from campaign.tools.context import Context
from campaign.tools.indexed import ingest
from campaign.tools.material import documents, write_embeddings
from campaign.tools.processes import wait_until
from campaign.tools.service import command, serving
from reranker.base.errors import SinkrankError
from reranker.stores.embedded.file import FILE_NAME
from reranker.stores.embedded.store import EmbeddedStore
from tests.support.damage import Outcome, Wrong, damages, embeddings_outcomes, store_outcomes

ASSERTS = (
    "Bits, bytes, pages and ends of the files of the embedded store and of the embeddings are damaged. Each damage "
    "gives an error or the same answers; other answers come only before the check of the files, and never a traceback "
    "or a crash. A service over damaged files refuses to start or is not ready within a minute, unless the damage "
    "changes no answer of the store. `doctor` finds each damage of embeddings."
)
LIMIT_S = 1800.0
N_STORE, N_EMBEDDINGS = 200, 200
# Each needs a service, so there are few.
N_SERVED = 20
INDEX = "damaged"
N_DOCUMENTS = 200
# 29 MB: too large to be read whole at the start.
N_WORDS, DIM = 12_000, 300
NOT_READY_S = 60.0


def run(context: Context) -> None:
    n_store, n_embeddings = (context.times(count, least=5) for count in (N_STORE, N_EMBEDDINGS))
    _record(context, "store", store_outcomes(context.folder / "small-store", context.seed, n_store))
    _record(context, "embeddings", embeddings_outcomes(context.folder / "small-embeddings", context.seed, n_embeddings))
    context.say("the damages without a service are over")
    _serve_damaged(context)


def _record(context: Context, name: str, outcomes: Iterable[Outcome | Wrong]) -> None:
    for outcome in outcomes:
        context.check(not isinstance(outcome, Wrong), f"{name}: {outcome}")
        if not isinstance(outcome, Wrong):
            context.add(f"{name}: {outcome}")


def _serve_damaged(context: Context) -> None:
    """Damages the files that `sinkrank ingest` and the embeddings' writer make."""
    sound, copy = context.folder / "sound", context.folder / "copy"
    write_embeddings(sound / "embeddings", N_WORDS, DIM)
    rows = documents(N_DOCUMENTS, context.random("documents"))
    ingest(context, str(sound / "store"), sound / "embeddings", INDEX, rows)
    context.check(not _is_told(context, sound, 10), "a service over sound files is not ready")
    paths = [f"store/{FILE_NAME}", *(f"embeddings/{name}" for name in _names(sound / "embeddings"))]
    context.random("order").shuffle(paths)
    for damage in damages(sound, paths, context.seed, context.times(N_SERVED, least=2)):
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(sound, copy)
        damage.apply(copy)
        is_told = _is_told(context, copy, NOT_READY_S)
        is_harmless = damage.name.startswith("store") and _is_sound(copy / "store")
        context.check(is_told or is_harmless, f"{damage}: the service stays ready")
        context.add("damages told by the service" if is_told else "damages of what no answer reads")
        if damage.name.startswith("embeddings"):
            done = command("doctor", "--embeddings", str(copy / "embeddings"), "--json", cwd=copy)
            found = {check["name"]: check["ok"] for check in json.loads(done.stdout)["checks"]}
            context.check(not found["embeddings"], f"{damage}: doctor finds no damage")
            context.check("Traceback" not in done.stderr, f"{damage}: doctor: {done.stderr[-500:]}")


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.is_file() and path.stat().st_size)


def _is_sound(folder: Path) -> bool:
    """Whether the check of a store finds nothing."""
    with closing(EmbeddedStore(folder)) as store:
        try:
            return bool(list(store.checked_steps()))
        except SinkrankError:
            return False


def _is_told(context: Context, folder: Path, limit_s: float) -> bool:
    """Whether the service refuses to start, or reports within the limit that its store or embeddings are not ready."""

    def is_unready() -> bool:
        checks = one.readiness()
        return not all(checks[name]["ready"] for name in ("store", "embeddings", "files"))

    try:
        with serving(context, str(folder / "store"), folder / "embeddings", settings={"SINKRANK_INDEX": INDEX}) as one:
            return wait_until(is_unready, limit_s, step_s=0.5)
    except RuntimeError:
        return True
