"""Runs two versions of Sinkrank on the same indices, as during a rolling update."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import Any

from campaign.tools.checkouts import checked_out, older_revision
from campaign.tools.contents import check_contents
from campaign.tools.context import Context
from campaign.tools.indexed import FOREIGN, OURS, fill
from campaign.tools.load import Load, loading, mixed_calls
from campaign.tools.material import LANGUAGES, documents, vocabulary, write_jsonl
from campaign.tools.nodes import one_node
from campaign.tools.service import ROOT, command, serving
from reranker.base.errors import VersionMismatch
from reranker.embeddings import Embeddings

ASSERTS = (
    "An older version (the last tag, or one of some time ago) and this one serve and write the same indices, in the "
    "engine and in an embedded store. Each command works, or refuses with a message that names the cure; no search is "
    "answered by a 5xx; no document is lost, doubled or changed."
)
LIMIT_S = 900.0
N_DOCUMENTS, N_MORE = 400, 100
N_CLIENTS = 2
BETWEEN_S = 0.3  # the load is to be there all the time, not to be much
_SERVED = ("200", "201", "404", "409")
# A refusal must contain one of these words, which say what to do.
_CURES = ("rebuild", "update", "newer version", "install", "import or train", "make it anew", "into a new folder")


@dataclass
class Update:
    """A store that both versions write to, and its expected documents.

    Attributes:
        rows: documents of all confirmed ingests, by id.
    """

    context: Context
    name: str
    store: str
    older: Path
    embeddings: Path
    rows: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    def ingest(self, root: Path, rows: Sequence[Mapping[str, Any]], *more: str) -> None:
        """Ingests with the version in `root`. It must succeed, or refuse with a cure. `--rebuild` replaces all rows."""
        version = "this version" if root == ROOT else "the older version"
        what = f"{self.name}: ingest {' '.join(more)} by {version}"
        path = write_jsonl(self.context.folder / "rows.jsonl", rows)
        given = ("ingest", str(path), "--store", self.store, "--index", OURS, "--embeddings", str(self.embeddings))
        home = str(self.context.folder / f"home-{root.name}")
        done = command(*given, "--home", home, *more, cwd=self.context.folder, root=root)
        if done.returncode == 0:
            self.context.add(f"ingests by {version}")
            self.rows = ({} if "--rebuild" in more else self.rows) | {str(row["id"]): row for row in rows}
        else:
            self.context.add(f"refusals by {version}")
            check_refusal(self.context, done, what)
        self.check(what)

    def check(self, when: str) -> None:
        """Compares the store with the confirmed rows, with this version's code if it reads the older layout."""
        try:
            wrong = check_contents(self.store, OURS, list(self.rows.values()), are_counted=False)
        except VersionMismatch:
            self.context.add("layouts of the older version only")
            return
        self.context.check(not wrong, f"after {when}: {'; '.join(wrong)}")
        self.context.add("comparisons of all documents")


def check_refusal(context: Context, done: subprocess.CompletedProcess[str], what: str) -> None:
    """Checks that a refusal is one error that names its cure."""
    context.check("Traceback" not in done.stderr, f"{what}: a traceback: {done.stderr[-600:]}")
    named = any(cure in " ".join(done.stderr.split()) for cure in _CURES)
    context.check(named, f"{what}: code {done.returncode} without a cure: {done.stderr[-600:]}")


def run(context: Context) -> None:
    revision = older_revision(context.older)
    older = checked_out(revision, context.folder / "older")
    context.figures["the older version"] = revision
    embeddings = _older_embeddings(context, older)
    embedded = Update(context, "embedded store", str(context.folder / "store"), older, embeddings)
    _alternate(context, embedded)
    with one_node(context.engine) as engine:
        fill(context, engine, embeddings, [])
        update = Update(context, "engine", engine.store, older, embeddings)
        _roll(context, update)


def _older_embeddings(context: Context, older: Path) -> Path:
    """Makes embeddings from text with the older version, so that every version can read them."""
    random, named = context.random("embeddings"), []
    for language in LANGUAGES:
        path = context.folder / f"{language}.vec"
        lines = [f"{word} {' '.join(f'{random.gauss(0, 1):.4f}' for _ in range(16))}" for word in vocabulary(language)]
        path.write_text(f"{len(lines)} 16\n" + "\n".join(lines) + "\n")
        named.append(f"{language}={path}")
    output = context.folder / "embeddings"
    done = command("embeddings", "import", *named, "--output", str(output), cwd=context.folder, root=older)
    if done.returncode:
        raise RuntimeError(f"the older version made no embeddings: {done.stderr[-1000:]}")
    Embeddings.open(output)
    return output


def _alternate(context: Context, update: Update) -> None:
    """Each version writes, adds, rebuilds and searches in turn."""
    first = documents(N_DOCUMENTS, context.random(update.name, "first"))
    update.ingest(update.older, first)
    versions = cycle((ROOT, update.older))
    for number in range(context.times(6, least=4)):
        root = next(versions)
        rows = documents(N_MORE, context.random(update.name, number), prefix=f"{number}-")
        update.ingest(root, rows)
        _search(context, update, root, rows[0])
    rows = documents(N_MORE, context.random(update.name, "rebuilt"), prefix="new-")
    update.ingest(ROOT, rows, "--rebuild")
    update.ingest(update.older, documents(10, context.random(update.name, "last"), prefix="last-"))


def _search(context: Context, update: Update, root: Path, row: Mapping[str, Any]) -> None:
    what = f"{update.name}: search by {'this' if root == ROOT else 'the older'} version"
    given = ("search", row["text"], "--lang", row["lang"], "--store", update.store, "--index", OURS, "--json")
    done = command(*given, "--embeddings", str(update.embeddings), cwd=context.folder, root=root)
    if done.returncode:
        check_refusal(context, done, what)
    elif row["id"] in update.rows:
        context.check(f'"{row["id"]}"' in done.stdout, f"{what}: the document of the query's words is not found")
    context.add("searches on the command line")


def _roll(context: Context, update: Update) -> None:
    """Both versions serve the clients, and both write at the same time."""
    update.ingest(update.older, documents(N_DOCUMENTS, context.random("first")))
    randoms = [context.random("client", number) for number in range(N_CLIENTS)]
    with (
        serving(context, update.store, update.embeddings, name="older", root=update.older) as old,
        serving(context, update.store, update.embeddings, name="newer") as new,
    ):
        urls = cycle((old.url, new.url))
        with loading(lambda: next(urls), mixed_calls(FOREIGN, OURS), randoms, BETWEEN_S) as load:
            load.phase = "both versions serve"
            _alternate(context, update)
        _check_answers(context, load)
        for service, version in ((old, "older"), (new, "newer")):
            context.check(service.is_ready(), f"the {version} service is not ready at the end")


def _check_answers(context: Context, load: Load) -> None:
    for phase in ("both versions serve", "both versions serve, no engine needed"):
        bad = load.bad(phase, _SERVED.__contains__)
        context.check(not bad, f"{phase}: {'; '.join(bad)}")
    context.figures["requests to both versions"] = sum(load.statuses.values())
    n_refused = load.n("both versions serve", "409")
    context.figures["of these refused with 409"] = n_refused
