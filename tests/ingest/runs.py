"""What tests of runs share: input files, runs in this process and in others, and stores that do something else."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ingest.files import Source, open_sources
from ingest.pipeline import Options, ingest
from ingest.refresh import Refreshed, refresh
from ingest.summary import IngestSummary
from reranker.base.errors import NotFound
from reranker.embeddings import Embeddings
from reranker.embeddings.hubness import HubnessSample
from reranker.stores import open_store
from reranker.stores.base.protocol import WritableStore
from reranker.text.documents import EncodedDocument
from reranker.text.idf import DocumentFrequencies
from tests.ingest.faulty_proxy import Fault, FaultyProxy, faulty_proxy, is_bulk
from tests.stores.samples import cosine
from tests.support.commands import write_rows

N_DOCUMENTS = 1_500
N_REJECTS = 4
N_MANY = 3_000
"""As many pieces as are worth several processes."""
WORDS = ("chat", "chien", "eau", "pain", "voiture")


def source(path: Path, *rows: Mapping[str, Any] | str) -> Source:
    return Source(write_rows(path, rows), str(path), "jsonl")


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


def assert_equal(one: EncodedDocument, other: EncodedDocument) -> None:
    assert one.document == other.document
    assert one.bag.term_ids.tolist() == other.bag.term_ids.tolist()


def run(
    documents: Path, store: Any, index: str, embeddings: Embeddings, folder: Path, rebuild: bool = False
) -> IngestSummary:
    """A run in this process; the folder has its rejects."""
    with open_sources([str(documents)]) as sources:
        options = Options(rejects=folder / "r.jsonl", rebuild=rebuild, n_workers=1)
        return ingest(sources, store, index, embeddings, options)


@dataclass(frozen=True)
class Runs:
    """Runs of one input into any index; the folder has their rejects."""

    documents: Path
    embeddings: Embeddings
    folder: Path
    n_documents: int = N_DOCUMENTS

    def __call__(
        self, store: Any, index: str = "pages", rebuild: bool = False, documents: Path | None = None
    ) -> IngestSummary:
        """A run in this process; of other documents, if some are given."""
        return run(documents or self.documents, store, index, self.embeddings, self.folder, rebuild)

    def command(self, address: str, index: str = "pages", *more: str) -> list[str]:
        """The arguments of `sinkrank` for a run."""
        return [
            *("ingest", str(self.documents), "--index", index, "--store", address, "--home", str(self.folder)),
            *("--embeddings", str(self.embeddings.path), "--rejects", str(self.folder / "r.jsonl"), *more),
        ]

    def assert_whole(self, store: WritableStore, index: str = "pages") -> None:
        """Each document is in the index once, and each reject in its file."""
        store.refresh(index)
        assert sorted(int(one.doc_id) for one in store.bags(index)) == list(range(self.n_documents))
        assert store.open(index).count() == self.n_documents
        assert store.open(index).idf().languages["fr"].n_documents == self.n_documents
        rows = [json.loads(line) for line in (self.folder / "r.jsonl").read_text().splitlines()]
        assert [row["raw"] for row in rows[:-1]] == [f"broken {number}" for number in range(0, self.n_documents, 500)]
        assert "the id '7' occurred before" in rows[-1]["reason"]
        for number in (0, 7, self.n_documents - 1):
            assert str(number) in store.open(index).fetch(str(number)).document.text


@dataclass(frozen=True)
class Pages:
    """An index that rows and texts are added to."""

    store: WritableStore
    name: str
    embeddings: Embeddings
    folder: Path

    def ingest(self, *rows: Mapping[str, Any] | str, store: Any = None, **options: Any) -> IngestSummary:
        """Ingests rows, into another store if one is given."""
        sources = [source(self.folder / "in.jsonl", *rows)]
        return ingest(sources, store or self.store, self.name, self.embeddings, Options(**options))

    def add(self, texts: Mapping[str, str], language: str = "fr") -> None:
        """Ingests texts by document id."""
        rows = [{"id": doc_id, "lang": language, "text": text} for doc_id, text in texts.items()]
        assert self.ingest(*rows).indexed == len(texts)

    def refresh(self) -> Refreshed:
        return refresh(self.store, self.name, self.embeddings)

    def cosine(self, doc_id: str, vector: Iterable[float]) -> float | None:
        """Of a document's vector with this one."""
        return cosine(self.store, self.name, doc_id, vector)

    def figures(self, language: str = "fr") -> DocumentFrequencies:
        return self.store.open(self.name).idf().languages[language]

    def sample(self) -> HubnessSample:
        return self.store.open(self.name).hubness_sample()


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


def written(store: WritableStore, index: str) -> int:
    """Number of documents in the index so far."""
    try:
        store.refresh(index)
        return store.open(index).count()
    except NotFound:
        return 0


@contextmanager
def dropped(address: str, name: str) -> Iterator[WritableStore]:
    """A store whose index goes at the end."""
    direct = open_store(address)
    try:
        yield direct
    finally:
        with suppress(NotFound):
            direct.drop(name)
        direct.close()


@contextmanager
def through_faults(
    address: str, name: str, fault: Callable[[int], Fault], is_meant: Callable[[str], bool] = is_bulk
) -> Iterator[tuple[WritableStore, WritableStore, FaultyProxy]]:
    """A store, the same store through a faulty proxy, and the proxy; the index goes at the end."""
    with (
        dropped(address, name) as direct,
        faulty_proxy(address, fault, is_meant) as proxy,
        closing(open_store(proxy.address)) as faulty,
    ):
        yield direct, faulty, proxy


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
