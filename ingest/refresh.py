"""Counts an index's document frequencies again, weights its documents with them and draws its hubness sample.

The index itself records the progress: each document stores the version of the frequencies that weighted its nBOW
embedding. So a stopped refresh continues with the documents that have another version.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ingest.progress import Progress, no_progress
from ingest.sampling import SmallestIds, add_smallest, draw_sample
from reranker.base.errors import StoreUnavailable
from reranker.embeddings import Embeddings
from reranker.stores.base.description import check_versions
from reranker.stores.base.protocol import WritableStore
from reranker.stores.base.writing import NewVector
from reranker.text.bags import check_term_ids
from reranker.text.documents import id_hash
from reranker.text.idf import FrequencyCounter, IdfTable

_DOCUMENTS_A_REPORT = 200


@dataclass(frozen=True, slots=True)
class Refreshed:
    """The result of a refresh.

    Attributes:
        documents: number of documents in the index.
        languages: documents counted, by language.
        reweighed: documents that got a new nBOW embedding.
        changed_languages: languages with other frequencies than before.
    """

    index: str
    documents: int
    languages: dict[str, int]
    changed_languages: tuple[str, ...]
    reweighed: int


def refresh(store: WritableStore, index: str, embeddings: Embeddings, progress: Progress = no_progress) -> Refreshed:
    """Counts the bags in the index, stores the frequencies as its idf, replaces the nBOW embedding of each document
    that used others, and draws the hubness sample. Searches continue in the meantime.

    Documents that come while it runs use the old or the new frequencies; the next refresh updates them.

    Raises:
        NotFound, NotOurIndex, VersionMismatch: the index cannot be refreshed with these embeddings.
        StoreUnavailable: the store failed; run it again to continue.
    """
    reader = store.open(index)
    check_versions(index, reader.description, embeddings, store.address)
    store.refresh(index)
    before = reader.idf()
    ids: SmallestIds = {}
    table, n_by_language = _count(store, index, embeddings, ids, progress)
    if table.version != before.version:
        table = store.save_idf(index, table, before)
    store.save_hubness_sample(index, draw_sample(reader, ids, embeddings))
    versions = {language: table.weights_version(language) for language in table.languages}
    n_reweighed = _reweigh(store, index, embeddings, table, versions, progress)
    store.refresh(index)
    return Refreshed(
        index=index,
        documents=sum(n_by_language.values()),
        languages=dict(sorted(n_by_language.items())),
        changed_languages=tuple(
            sorted(name for name, version in versions.items() if version != before.weights_version(name))
        ),
        reweighed=n_reweighed,
    )


def _count(
    store: WritableStore, index: str, embeddings: Embeddings, ids: SmallestIds, progress: Progress
) -> tuple[IdfTable, dict[str, int]]:
    """The idf table of the languages with embeddings, and the number of documents of every language.

    Args:
        ids: collects the documents of the hubness sample.
    """
    n_by_language: dict[str, int] = {}
    counters: dict[str, FrequencyCounter] = {}
    total = store.open(index).count()
    for done, one in enumerate(store.bags(index), start=1):
        n_by_language[one.language] = n_by_language.get(one.language, 0) + 1
        check_term_ids(one.bag.term_ids, embeddings.n_terms)
        if one.language in embeddings.languages:
            counters.setdefault(one.language, FrequencyCounter()).add(one.bag)
            if len(one.bag):  # a document without a known word is no query
                add_smallest(ids, one.language, one.doc_id, id_hash(one.doc_id))
        if done % _DOCUMENTS_A_REPORT == 0:
            progress(done, total, "counting words")
    progress(total, total, "counting words")
    return IdfTable({language: counter.result() for language, counter in counters.items()}), n_by_language


def _reweigh(
    store: WritableStore,
    index: str,
    embeddings: Embeddings,
    table: IdfTable,
    versions: dict[str, str],
    progress: Progress,
) -> int:
    """Replaces the vectors of the documents that used other frequencies. Returns their number."""
    if not versions:
        return 0

    def vectors() -> Iterator[NewVector]:
        for one in store.bags(index, versions):
            nbow = embeddings.nbow(table.weigh(one.bag, one.language))
            yield NewVector(one.doc_id, nbow, versions[one.language], one.revision)

    n_done = 0
    for result in store.replace_vectors(index, vectors()):
        if result.error is not None:
            # A document that was deleted meanwhile needs no vector; one that was replaced came with its own.
            if result.error.startswith(("not_found", "document_missing", "version_conflict")):
                continue
            raise StoreUnavailable(f"the new vector of document {result.doc_id!r} was not stored ({result.error})")
        n_done += 1
        if n_done % _DOCUMENTS_A_REPORT == 0:
            progress(n_done, None, "updating weights")
    progress(n_done, n_done, "updating weights")
    return n_done
