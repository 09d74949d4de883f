"""Files of the embedded store and of the embeddings are damaged, and searched."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from campaign.tools.context import Context
from campaign.tools.indexed import ingest
from campaign.tools.material import documents, write_embeddings
from campaign.tools.processes import wait_until
from campaign.tools.service import command, serving
from reranker.base.errors import SinkrankError
from reranker.embeddings import Embeddings
from reranker.stores.embedded.file import FILE_NAME
from reranker.stores.embedded.store import EmbeddedStore
from tests.support.damage import (
    Damage,
    Outcome,
    Wrong,
    damages,
    embeddings_answers,
    make_embeddings,
    make_store,
    store_answers,
    try_embeddings,
    try_store,
)

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

Try = Callable[[Path, Damage, Any], Outcome]


def run(context: Context) -> None:
    store, embeddings = context.folder / "small-store", context.folder / "small-embeddings"
    make_store(store)
    with closing(EmbeddedStore(store)) as opened:
        right = store_answers(opened)
    _try_all(context, store, [FILE_NAME], try_store, right, context.times(N_STORE, least=5))
    make_embeddings(embeddings)
    right = embeddings_answers(Embeddings.open(embeddings))
    _try_all(context, embeddings, _names(embeddings), try_embeddings, right, context.times(N_EMBEDDINGS, least=5))
    context.say("the damages without a service are over")
    _serve_damaged(context)


def _try_all(context: Context, folder: Path, names: list[str], one: Try, right: Any, count: int) -> None:
    for damage in damages(folder, names, context.seed, count):
        try:
            outcome = one(folder, damage, right)
        except Wrong as wrong:
            context.check(False, f"{folder.name}: {wrong}")
            continue
        context.check(True, "")
        context.add(f"{folder.name}: {outcome}")


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
