"""What tests of runs share: input files, runs in this process and in others, and stores that do something else."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ingest.files import open_sources
from ingest.pipeline import Options, ingest
from ingest.summary import Summary
from reranker.base.errors import NotFound
from reranker.embeddings import Embeddings
from reranker.stores import open_store
from reranker.stores.base.protocol import Store
from reranker.text.documents import EncodedDocument

N_DOCUMENTS = 1_500
N_REJECTS = 4
N_MANY = 3_000
"""As many pieces as are worth several processes."""
WORDS = ("chat", "chien", "eau", "pain", "voiture")


def write_rows(path: Path, rows: Iterable[Mapping[str, Any] | str]) -> Path:
    """A file of rows, each an object or a line as it is."""
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", errors="surrogateescape")
    return path


def numbered_rows(n_documents: int) -> Iterator[dict[str, str]]:
    """Documents of three words each, two of them known."""
    for number in range(n_documents):
        yield {"id": str(number), "lang": "fr", "text": f"{WORDS[number % 5]} {WORDS[number % 3]} {number}"}


def write_documents(path: Path, n_documents: int) -> Path:
    """So many documents, with a row that is none after each 500, and one that comes twice."""
    rows: list[Mapping[str, str] | str] = []
    for number, row in enumerate(numbered_rows(n_documents)):
        rows += [row, f"broken {number}"] if number % 500 == 0 else [row]
    return write_rows(path, [*rows, {"id": "7", "lang": "fr", "text": "chat"}])


def assert_whole(store: Store, index: str, rejects: Path, n_documents: int = N_DOCUMENTS) -> None:
    """Each document once, and each reject once."""
    store.refresh(index)
    assert sorted(int(one.doc_id) for one in store.bags(index)) == list(range(n_documents))
    assert store.count(index) == n_documents
    assert store.idf(index).languages["fr"].n_documents == n_documents
    rows = [json.loads(line) for line in rejects.read_text().splitlines()]
    assert [row["raw"] for row in rows[:-1]] == [f"broken {number}" for number in range(0, n_documents, 500)]
    assert "the id '7' occurred before" in rows[-1]["reason"]
    for number in (0, 7, n_documents - 1):
        assert str(number) in store.fetch(index, str(number)).document.text


def assert_equal(one: EncodedDocument, other: EncodedDocument) -> None:
    assert (one.document, one.weights_version) == (other.document, other.weights_version)
    assert one.bag.term_ids.tolist() == other.bag.term_ids.tolist()
    assert one.nbow is not None
    assert other.nbow is not None
    assert one.nbow.tolist() == other.nbow.tolist()


def run(
    documents: Path, store: Any, index: str, embeddings: Embeddings, folder: Path, rebuild: bool = False
) -> Summary:
    """A run in this process; the folder has its checkpoints and rejects."""
    with open_sources([str(documents)]) as sources:
        options = Options(rejects=folder / "r.jsonl", checkpoints=folder / "checkpoints", rebuild=rebuild, n_workers=1)
        return ingest(sources, store, index, embeddings, options)


def command(documents: Path, address: str, index: str, folder: Path, embeddings: Embeddings, *more: str) -> list[str]:
    """The arguments of `sinkrank` for a run."""
    return [
        *("ingest", str(documents), "--index", index, "--store", address, "--home", str(folder)),
        *("--embeddings", str(embeddings.path), "--rejects", str(folder / "r.jsonl"), *more),
    ]


def start(arguments: list[str], env: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
    """`sinkrank` in a process group of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "sinkrank", *arguments],
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def written(store: Store, index: str) -> int:
    """Number of documents in the index so far."""
    try:
        store.refresh(index)
        return store.count(index)
    except NotFound:
        return 0


@contextmanager
def dropped(address: str, name: str) -> Iterator[Store]:
    """A store whose index goes at the end."""
    direct = open_store(address)
    try:
        yield direct
    finally:
        with suppress(NotFound):
            direct.drop(name)
        direct.close()


class Wrapped:
    """A store with something about it changed."""

    def __init__(self, store: Any) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


class Stopping(Wrapped):
    """Counts the documents that are written, and is interrupted after some."""

    def __init__(self, store: Any, after: int | None = None) -> None:
        super().__init__(store)
        self._after = after
        self.n_written = 0

    def write_prepared(self, index: str, prepared: Any) -> Iterator[Any]:
        for result in self._store.write_prepared(index, prepared):
            if self.n_written == self._after:
                raise KeyboardInterrupt
            self.n_written += 1
            yield result
