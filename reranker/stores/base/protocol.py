"""The interface of a store: what a search reads of an index, and what makes, fills and replaces indices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from reranker.embeddings.hubness import HubnessSample
from reranker.stores.base.description import IndexDescription
from reranker.stores.base.filters import Filters
from reranker.stores.base.names import IndexVersion
from reranker.stores.base.writing import NewVector, PreparedDocument, Preparer, StoredBag, WriteResult
from reranker.text.documents import Candidate, Document, EncodedDocument
from reranker.text.idf import IdfTable
from reranker.translation.groups import WordGroup
from reranker.upstream.rights import SERVICE, Rights


class IndexReader(Protocol):
    """An index that was opened for searches (`Store.open`). It holds no connection, so nobody closes it.

    Each method may raise StoreUnavailable (a node is down, a file is damaged), NotFound (the index was deleted) and
    VersionMismatch (a folder's index was rebuilt with other versions).

    Methods that read documents for a search take the rights to read them with, the service's own by default. An engine
    may refuse a caller's rights with NotAllowed. A folder has no users. All other methods use the service's own rights.

    `depth` is how many documents are found at most: 1 to 10,000, the engines' limit.
    """

    @property
    def description(self) -> IndexDescription: ...

    def languages(self) -> Mapping[str, int]:
        """Returns how many documents the index has of each language, by code."""
        ...

    def idf(self) -> IdfTable:
        """Returns the index's idf table; empty before `save_idf`."""
        ...

    def hubness_sample(self) -> HubnessSample:
        """Returns the queries that measure the hubness of the index's documents; empty before `save_hubness_sample`."""
        ...

    def knn(
        self, vector: NDArray[np.float32], depth: int, filters: Filters, rights: Rights = SERVICE
    ) -> list[Candidate]:
        """Finds the documents with the highest cosine to a vector. `first_stage_score` is the cosine. Texts are not
        read: `documents` reads those of the hits that are shown.

        Args:
            vector: (dim,), L2-normalised, made with the embeddings of the index.
        """
        ...

    def bm25(self, text: str, depth: int, filters: Filters, rights: Rights = SERVICE) -> list[Candidate]:
        """Finds the documents with the highest BM25, without their texts. Each language has its own text analysis."""
        ...

    def translated(
        self, groups: Mapping[str, Sequence[WordGroup]], depth: int, filters: Filters, rights: Rights = SERVICE
    ) -> list[Candidate]:
        """Finds the documents with the highest BM25 of word groups (`reranker.translation`), in the languages that have
        groups, without their texts.

        A group counts as one term, which occurs as often as the weighted sum of its translations. Words that the
        store's analysis reduces to the same stem count once. The embedded store computes this sum exactly, an engine
        as nearly as its queries allow.

        Args:
            groups: by the documents' language.
        """
        ...

    def documents(
        self, doc_ids: Sequence[str], rights: Rights = SERVICE, *, is_strict: bool = False
    ) -> dict[str, Document]:
        """Returns documents by id, as searches see them now, without missing ones: a document may be deleted after a
        search found it.

        Args:
            doc_ids: at most 10,000, the engines' limit.
            is_strict: whether to raise StoreUnavailable if a part of the index cannot be read. Otherwise its documents
                are missing, as from other searches.
        """
        ...

    def stored(self, doc_ids: Sequence[str]) -> Set[str]:
        """Returns the ids of which the index has a document, also one that searches do not see yet. This is no search:
        an engine makes what was written visible every second while an index is searched, in many small segments.

        Args:
            doc_ids: at most 10,000, the engines' limit.
        """
        ...

    def fetch(self, doc_id: str, rights: Rights = SERVICE) -> EncodedDocument:
        """Returns a document with its bag, without its vector, also one that searches do not see yet.

        Raises:
            NotFound: there is no such document.
        """
        ...

    def count(self, rights: Rights = SERVICE) -> int:
        """Returns how many documents the index has."""
        ...

    def random_documents(self, n: int) -> list[Document]:
        """Draws up to n documents, the same as long as the index stays the same."""
        ...


class Store(Protocol):
    """Indices of encoded documents, for searches. Threads can share a store."""

    @property
    def address(self) -> str:
        """Where the store is, without credentials; for messages."""
        ...

    def problems(self) -> list[str]:
        """Lists what is wrong although the store works, such as a node that does not respond."""
        ...

    def indices(self) -> list[str]:
        """Returns the sorted names of the indices that Sinkrank made. Versions of an index are not listed."""
        ...

    def open(self, index: str) -> IndexReader:
        """Opens an index, or one version of it, by its name.

        Raises:
            NoSuchIndex: there is none.
            NotOurIndex: Sinkrank did not make it.
            StoreUnavailable: the store does not answer.
        """
        ...

    def close(self) -> None: ...


class WritableStore(Store, Protocol):
    """A store whose indices can be made, filled, replaced and deleted. Every store passes the same tests
    (tests/stores/).

    All methods use the service's own rights, and may raise StoreUnavailable. Methods that take an index raise NotFound
    if it is missing and NotOurIndex if Sinkrank did not make it.
    """

    def stage(self, index: str, description: IndexDescription, run: str | None = None) -> str:
        """Makes an empty version of an index and returns the version's name. Searches do not use it before `promote`.

        Args:
            run: the run of ingest that makes it, which `versions` tells until `complete`.

        Raises:
            BadInput, NotOurIndex: something else has the index's name.
        """
        ...

    def complete(self, version: str) -> None:
        """Forgets the run that makes a version."""
        ...

    def promote(self, index: str, version: str) -> None:
        """Switches searches of the index to this version, in one step. The version before stays.

        Raises:
            NotFound: the index has no such version.
        """
        ...

    def versions(self, index: str) -> list[IndexVersion]:
        """Returns the versions of an index, oldest first; none if it has no versions or is missing."""
        ...

    def drop(self, index: str) -> None:
        """Deletes an index that Sinkrank made, with its idf, hubness sample and all versions; or one version."""
        ...

    def claim(self, index: str, owner: str, seconds: float) -> None:
        """Reserves the making of versions of an index, which need not exist yet, for this many seconds. The same owner
        renews the claim by another call.

        Raises:
            BadInput: another owner has a valid claim.
        """
        ...

    def release(self, index: str, owner: str) -> None:
        """Deletes a claim of this owner. Another owner's stays."""
        ...

    def preparer(self, index: str) -> Preparer:
        """Returns a function that turns encoded documents, which have no `checks.document_problem`, into what
        `write_prepared` takes."""
        ...

    def write_prepared(self, index: str, documents: Iterable[PreparedDocument]) -> Iterator[WriteResult]:
        """Adds or replaces documents by id; yields one result for each document, in order. Reads `documents` lazily.

        Args:
            documents: prepared for an index of the same description. If two have the same id, either may win.

        Raises:
            StoreUnavailable: the store cannot take them now. Write those without a result again.
        """
        ...

    def delete(self, index: str, doc_ids: Iterable[str]) -> Iterator[WriteResult]:
        """Deletes documents; yields one result for each id, in order, with an error for a missing document."""
        ...

    def bags(self, index: str, stale: Mapping[str, str] | None = None) -> Iterator[StoredBag]:
        """Yields the bags of all documents as they are at the beginning, in no order.

        Args:
            stale: the version of the weights, by language: only documents of these languages whose weights have another
                version. None for all documents.
        """
        ...

    def replace_vectors(self, index: str, vectors: Iterable[NewVector]) -> Iterator[WriteResult]:
        """Replaces the nBOW embeddings of documents and nothing else. Yields results as `write_prepared` does, with an
        error for a document that is missing or has changed since its bag was read."""
        ...

    def refresh(self, index: str) -> None:
        """Makes everything written so far visible to searches."""
        ...

    def save_idf(self, index: str, table: IdfTable, before: IdfTable | None = None) -> IdfTable:
        """Replaces the index's idf table, and returns what it is now.

        Args:
            before: the table that the new one was made from. Languages that another process has saved since then stay
                as they are. None: replaces all languages.
        """
        ...

    def save_hubness_sample(self, index: str, sample: HubnessSample) -> None:
        """Replaces the index's hubness sample."""
        ...

    def add_to_hubness_sample(self, index: str, sample: HubnessSample) -> None:
        """Adds the queries of more documents to the index's hubness sample, in one step. A sample of other embeddings
        stays as it is, and so does an index without one."""
        ...
