"""Brings the documents of files into an index: counts words, encodes, writes, and reports what became of each one."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ingest.documents import Layout, Record, check_sources, read_records
from ingest.files import Source
from ingest.progress import Progress, no_progress
from ingest.rejects import RejectFile, default_reject_path
from reranker.documents import EncodedDocument
from reranker.embeddings import Embeddings
from reranker.encoding import encode
from reranker.errors import NotFound, StoreUnavailable
from reranker.idf import DocumentFrequencies, FrequencyCounter, IdfTable
from reranker.languages import language_code
from reranker.stores.protocol import IndexDescription, Store, check_index_name, check_versions

# Often enough for a bar that moves, seldom enough to cost nothing.
_DOCUMENTS_A_REPORT = 50


@dataclass(frozen=True, slots=True)
class Summary:
    """What became of the input.

    Attributes:
        read: rows read; each is indexed, rejected or unconfirmed.
        indexed: documents that the store confirmed.
        without_known_words: of these, how many have no word with an embedding (only BM25 finds them).
        languages: documents indexed, by language.
        rejects: the file of the rejected rows; None where there are none.
        unconfirmed: documents that were on their way when the store failed; they may be in the index or not.
        first_unconfirmed: where the first of them stands, `file:line`.
        failure: why the run ended before the input did; None where it did not.
    """

    index: str
    read: int
    indexed: int
    rejected: int
    without_known_words: int
    languages: dict[str, int]
    seconds: float
    rejects: Path | None
    unconfirmed: int = 0
    first_unconfirmed: str | None = None
    failure: str | None = None

    @property
    def documents_per_second(self) -> float:
        return self.indexed / self.seconds if self.seconds > 0 else 0.0

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self) | {
            "rejects": str(self.rejects) if self.rejects else None,
            "seconds": round(self.seconds, 3),
            "documents_per_second": round(self.documents_per_second, 1),
        }


def ingest(
    sources: Sequence[Source],
    store: Store,
    index: str,
    embeddings: Embeddings,
    *,
    layout: Layout = Layout(),
    rebuild: bool = False,
    rejects: Path | None = None,
    progress: Progress = no_progress,
    clock: Callable[[], float] = time.monotonic,
) -> Summary:
    """Reads the files, twice where document frequencies have to be counted first, and writes their documents.

    The idf of a language is counted when its first documents come, over all of that run, and stays: the documents
    that came later would have other weights than those before them. `rebuild` counts anew.

    Args:
        index: made where it is missing; documents of ids that it holds are replaced.
        rebuild: whether to delete the index, which must be ours, and make it anew.
        rejects: where rejected rows go; `default_reject_path` where it is None.
        progress: called with the documents done, their number if it is known, and what is being done.

    Raises:
        BadInput, NotFound: a source, the layout or the reject file is wrong; nothing was written.
        NotOurIndex, VersionMismatch: the index cannot take these documents; nothing was written.
        StoreUnavailable: the store failed before the first document; when it fails later the summary says so.
    """
    started = clock()
    check_index_name(index)
    if layout.default_language is not None:
        layout = replace(layout, default_language=language_code(layout.default_language))
    check_sources(sources, layout)
    with RejectFile(rejects or default_reject_path(sources), sources) as reject_file:
        exists = _can_be_written(store, index, embeddings, rebuild)
        known = store.idf(index) if exists and not rebuild else IdfTable()
        # A language without embeddings has no known words, and so nothing to weigh.
        missing = [language for language in embeddings.languages if language not in known.languages]
        counted = _count(sources, layout, embeddings, missing, progress) if missing or not exists else None
        run = _Run(store, index, embeddings, reject_file, progress, counted.n_documents if counted else None)
        if counted is None or counted.n_documents:
            if rebuild and exists:
                store.drop(index)
            if rebuild or not exists:
                store.create(index, IndexDescription(embeddings.version, embeddings.dim))
            if counted is not None and counted.languages:
                known = IdfTable({**known.languages, **counted.languages})
                store.save_idf(index, known)
        # With no document at all only the rejects are left to write: no index is made, or deleted, for nothing.
        run.write(sources, layout, known)
        return run.summary(clock() - started)


def _can_be_written(store: Store, index: str, embeddings: Embeddings, rebuild: bool) -> bool:
    """Whether the index exists; raises where it is not ours or, unless it is made anew, of other versions."""
    try:
        made = store.describe(index)
    except NotFound:
        return False
    if not rebuild:
        check_versions(index, made, embeddings, store.address)
    return True


@dataclass(frozen=True, slots=True)
class _Counted:
    n_documents: int
    languages: dict[str, DocumentFrequencies]


def _count(
    sources: Sequence[Source], layout: Layout, embeddings: Embeddings, languages: Sequence[str], progress: Progress
) -> _Counted:
    """Document frequencies of those of these languages that the sources have documents in."""
    counters: dict[str, FrequencyCounter] = {}
    n_documents = 0
    for record in read_records(sources, layout):
        document = record.document
        if document is None:
            continue
        n_documents += 1
        if n_documents % _DOCUMENTS_A_REPORT == 0:
            progress(n_documents, None, "counting words")
        if document.language in languages:
            counter = counters.setdefault(document.language, FrequencyCounter())
            counter.add(embeddings.bag(document.full_text, document.language))
    progress(n_documents, n_documents, "counting words")
    return _Counted(n_documents, {language: counter.result() for language, counter in counters.items()})


class _Run:
    """Streams encoded documents into the store and keeps account of each until the store has confirmed it."""

    def __init__(
        self,
        store: Store,
        index: str,
        embeddings: Embeddings,
        reject_file: RejectFile,
        progress: Progress,
        n_documents: int | None,
    ) -> None:
        self._store = store
        self._index = index
        self._embeddings = embeddings
        self._reject_file = reject_file
        self._progress = progress
        self._n_documents = n_documents
        self._pending: dict[str, tuple[Record, EncodedDocument]] = {}
        self._n_read = 0
        self._n_without_known_words = 0
        self._languages: Counter[str] = Counter()
        self._failure: str | None = None

    def write(self, sources: Sequence[Source], layout: Layout, idf: IdfTable) -> None:
        records = read_records(sources, layout)
        with closing(self._encoded(records, idf)) as documents:
            if self._n_documents == 0:
                for _ in documents:  # there is none; the rejects are written on the way
                    pass
                return
            try:
                for result in self._store.write(self._index, documents):
                    self._settle(*self._pending.pop(result.doc_id), result.error)
                self._store.refresh(self._index)
                if self._pending:
                    raise StoreUnavailable(f"{self._store.address} did not answer for {len(self._pending)} documents")
            except StoreUnavailable as error:
                self._failure = str(error)
        n_indexed = self._languages.total()
        self._progress(n_indexed, n_indexed, "indexing")

    def _encoded(self, records: Iterator[Record], idf: IdfTable) -> Generator[EncodedDocument, None, None]:
        for record in records:
            self._n_read += 1
            if record.document is None:
                self._reject_file.add(record, record.reason or "not a document")
                continue
            encoded = encode(record.document, self._embeddings, idf)
            self._pending[record.document.doc_id] = (record, encoded)
            yield encoded

    def _settle(self, record: Record, encoded: EncodedDocument, error: str | None) -> None:
        if error is not None:
            self._reject_file.add(record, error)
            return
        self._languages[encoded.document.language] += 1
        self._n_without_known_words += not len(encoded.bag)
        n_indexed = self._languages.total()
        if n_indexed % _DOCUMENTS_A_REPORT == 0:
            self._progress(n_indexed, self._n_documents, "indexing")

    def summary(self, seconds: float) -> Summary:
        first = next((record.row for record, _ in self._pending.values()), None)
        return Summary(
            index=self._index,
            read=self._n_read,
            indexed=self._languages.total(),
            rejected=self._reject_file.count,
            without_known_words=self._n_without_known_words,
            languages=dict(sorted(self._languages.items())),
            seconds=seconds,
            rejects=self._reject_file.path if self._reject_file.count else None,
            unconfirmed=len(self._pending),
            first_unconfirmed=f"{first.file}:{first.line}" if first else None,
            failure=self._failure,
        )
