"""Ingests the documents of files into an index: counts words, encodes, writes, and reports the result of each row.

A version of an index says which run makes it (`IndexVersion.run`). So the same command, given again after its run was
stopped, completes that version: it reads and encodes all rows, and writes the documents that are missing.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from itertools import chain, islice
from pathlib import Path

from ingest.claims import Claim
from ingest.counting import Counted, count_words
from ingest.documents import Layout, check_sources
from ingest.encoding import EncodingWorkers, RowEncoder, RowReader
from ingest.files import Row, Source, read_rows
from ingest.progress import Progress, no_progress
from ingest.ray_workers import RayWorkers
from ingest.rejects import RejectFile, default_reject_path
from ingest.sampling import SmallestIds, draw_sample
from ingest.seen_ids import SeenIds
from ingest.summary import IngestSummary
from ingest.versions import drop_versions_except, serving_version, unfinished_version
from ingest.workers import Workers
from ingest.writing import Writing
from reranker.base.cores import n_cores
from reranker.base.errors import BadInput, NotFound, StoreUnavailable
from reranker.embeddings import Embeddings
from reranker.embeddings.hubness import HubnessSample
from reranker.stores.base.cures import store_command
from reranker.stores.base.description import IndexDescription, check_versions
from reranker.stores.base.names import check_index_name
from reranker.stores.base.protocol import WritableStore
from reranker.text.idf import IdfTable


@dataclass(frozen=True, slots=True)
class Options:
    """The options of an ingest.

    Attributes:
        layout: which fields of a row are the parts of a document.
        rebuild: whether to write a new version of the index, which replaces the old one when it is complete.
        rejects: file of the rejected rows; None: `default_reject_path`.
        limit: number of rows to read; None reads all.
        dry_run: whether to read and check everything and write nothing but the rejects.
        n_workers: number of processes that encode; None: one per core.
        ray_address: of the Ray cluster that encodes; `local` starts one on this machine. None: processes of this
            machine encode. It does not change the documents, so a run can continue the other way.
    """

    layout: Layout = field(default_factory=Layout)
    rebuild: bool = False
    rejects: Path | None = None
    limit: int | None = None
    dry_run: bool = False
    n_workers: int | None = None
    ray_address: str | None = None


def ingest(
    sources: Sequence[Source],
    store: WritableStore,
    index: str,
    embeddings: Embeddings,
    options: Options = Options(),
    *,
    progress: Progress = no_progress,
) -> IngestSummary:
    """Reads the files and writes their documents. If document frequencies must be counted first, it reads them twice.
    A run that adds to an index writes all documents; one that completes the version of a killed run writes those that
    are missing.

    The idf of a language is counted over the run that brings its first documents, and stays until a refresh, so that
    later documents get the same weights. A rebuild counts it again.

    Args:
        index: created if missing; documents with the same id are replaced.
        progress: called with the number of rows done, their total if known, and the current step.

    Raises:
        BadInput, NotFound: a source, the layout or the reject file is wrong, or another run is making a version of
            this index; nothing was written.
        NotOurIndex, VersionMismatch: the index cannot take these documents; nothing was written.
        StoreUnavailable: the store failed before the first document; if it fails later, the summary says so.
    """
    started = time.monotonic()
    check_index_name(index)
    check_sources(sources, options.layout)
    exists = _can_be_written(store, index, embeddings, options.rebuild)
    name = _name_of_run(sources, options, embeddings)
    with _workers(RowReader(embeddings, options.layout), options) as workers, ExitStack() as held:
        target = None if options.dry_run else unfinished_version(store, index, name)
        claim = None
        if (options.rebuild or not exists or target is not None) and not options.dry_run:
            claim = held.enter_context(Claim(store, index, name))
            # The run that held the claim until now may have created the index.
            exists = _can_be_written(store, index, embeddings, options.rebuild)
            target = unfinished_version(store, index, name)
        rejects = held.enter_context(RejectFile(options.rejects or default_reject_path(sources), sources))
        run = _Run(name, sources, store, index, embeddings, options, workers, progress, claim)
        return run.run(exists, target, rejects, started)


def _name_of_run(sources: Sequence[Source], options: Options, embeddings: Embeddings) -> str:
    """A hash of all that decides the documents: two runs with the same name end with the same index."""
    described = [
        [source.identity() for source in sources],
        asdict(options.layout),
        options.rebuild,
        options.limit,
        asdict(IndexDescription(embeddings.version, embeddings.dim)),
    ]
    return blake2b(json.dumps(described, sort_keys=True, default=str).encode(), digest_size=8).hexdigest()


@dataclass(slots=True)
class _Run:
    """One ingest.

    Attributes:
        name: of the run.
        claim: the lock on the index's versions; None for a run that makes no version.
        previous: the version that the new one has replaced.
    """

    name: str
    sources: Sequence[Source]
    store: WritableStore
    index: str
    embeddings: Embeddings
    options: Options
    workers: EncodingWorkers
    progress: Progress
    claim: Claim | None
    previous: str | None = None

    def run(self, exists: bool, target: str | None, rejects: RejectFile, started: float) -> IngestSummary:
        """Counts, writes, and switches versions.

        Args:
            exists: whether the index existed before.
            target: the version that a run of this name has begun.
            started: when the run began, by `time.monotonic`.
        """
        is_continued = target is not None
        is_new = self.options.rebuild or not exists
        seen = SeenIds()
        before = IdfTable() if is_new and target is None else self.store.open(target or self.index).idf()
        known = before
        counted: Counted | None = None
        # A language without embeddings has no known words to weight.
        missing = [language for language in self.embeddings.languages if language not in known.languages]
        # The version that a run makes gets all frequencies before its first document.
        needs_counting = not known.languages if is_new or is_continued else bool(missing)
        if needs_counting and not self.options.dry_run:
            counted = count_words(self._rows(), missing, seen, self.workers, self.progress)
            known = IdfTable({**before.languages, **counted.frequencies})
        is_idle = self.options.dry_run or (counted is not None and not counted.n_documents)
        if is_idle:
            target = None
        elif target is None:
            target = self._stage() if is_new else serving_version(self.store, self.index) or self.index
        if target is not None:
            if self.claim is not None and not self.store.open(target).hubness_sample().embeddings_version:
                # Each run adds its documents to this empty sample. An index without a sample (made by another program)
                # gets none, since a sample of only the later documents would not represent it.
                self.store.save_hubness_sample(target, HubnessSample(self.embeddings.version))
            if not exists:
                self._promote(target)  # it replaces nothing
            if counted is not None and counted.frequencies:
                # Runs that add to an index at the same time may bring other languages, or the same ones.
                known = self.store.save_idf(target, known, before)
        encoder = RowEncoder(known, None if target is None else self.store.preparer(target))
        ids: SmallestIds = {}
        writing = Writing(
            self.store,
            target,
            rejects,
            ids,
            self.progress,
            self.options.layout,
            n_rows=None if counted is None else counted.n_rows,
            is_continued=is_continued,
        )
        failure = writing.write(self._rows(), seen, encoder, self.workers)
        if failure is None and target is not None:
            failure = self._finish(target, writing.n_indexed, ids)
        return IngestSummary(
            index=self.index,
            read=writing.n_settled + writing.n_unconfirmed,
            indexed=writing.n_indexed,
            rejected=writing.n_rejected,
            without_known_words=writing.n_without_known_words,
            languages=dict(sorted(writing.languages.items())),
            seconds=time.monotonic() - started,
            rejects=rejects.path if writing.n_rejected else None,
            first_reject=rejects.first,
            already_there=writing.n_already_there,
            unconfirmed=writing.n_unconfirmed,
            failure=failure,
            version=target if target != self.index else None,
            previous_version=self.previous,
            is_dry_run=self.options.dry_run,
        )

    def _rows(self) -> Iterator[Row]:
        return islice(chain.from_iterable(map(read_rows, self.sources)), self.options.limit)

    def _stage(self) -> str:
        """The name of a new version of the index, or of the one that the same command has begun since this run did."""
        description = IndexDescription(self.embeddings.version, self.embeddings.dim)
        begun = unfinished_version(self.store, self.index, self.name)
        return begun or self.store.stage(self.index, description, self.name)

    def _promote(self, target: str) -> None:
        if self.claim is not None:
            self.claim.check()
        self.store.promote(self.index, target)

    def _finish(self, target: str, n_indexed: int, ids: SmallestIds) -> str | None:
        """Makes all documents visible, draws their hubness sample and switches to a new version if it is complete.
        Returns why not, or None.

        Args:
            ids: of the documents.
        """
        try:
            self.store.refresh(target)
            reader = self.store.open(target)
            self.store.add_to_hubness_sample(target, draw_sample(reader, ids, self.embeddings))
            before = serving_version(self.store, self.index)
            # It serves if the index is new, or an earlier run was killed just after promoting.
            is_rebuilt = self.options.rebuild and before != target
            if is_rebuilt and (n_found := self.store.open(target).count()) != n_indexed:
                switch = store_command(self.store.address, "ingest", "rollback", "--index", self.index, "--to", target)
                return (
                    f"searches do not use the new version {target}, because it holds {n_found:,} documents and "
                    f"{n_indexed:,} were confirmed; look at it under its own name; {switch} switches to it all the same"
                )
            if is_rebuilt:
                if before is not None:
                    # A run that stopped in it would go on where no search looks.
                    self.store.complete(before)
                self._promote(target)
                self.previous = before
                drop_versions_except(self.store, self.index, {target, before or target})
            if self.claim is not None:
                self.store.complete(target)
            if not self.options.rebuild and (before or self.index) != target:
                return (
                    f"{target} is no longer the version that is searched, since another command changed that during "
                    "this run; give the same command again"
                )
        except (StoreUnavailable, NotFound, BadInput) as error:
            return str(error)
        return None


def _workers(reader: RowReader, options: Options) -> EncodingWorkers:
    if options.ray_address is not None:
        return RayWorkers(reader, options.n_workers, options.ray_address)
    return Workers(reader, options.n_workers or n_cores())


def _can_be_written(store: WritableStore, index: str, embeddings: Embeddings, rebuild: bool) -> bool:
    """Whether the index exists. Raises if it is not ours, or has other versions and is not rebuilt."""
    try:
        made = store.open(index).description
    except NotFound:
        return False
    if not rebuild:
        check_versions(index, made, embeddings, store.address)
    return True
