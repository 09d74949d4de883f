"""What a store must do: keep encoded documents and an idf table per index, and find candidates by kNN and by BM25."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from reranker.embeddings.hubness import HubnessSample
from reranker.stores.base.description import IndexDescription
from reranker.stores.base.filters import Filters
from reranker.stores.base.names import IndexVersion
from reranker.stores.base.writing import NewVector, Preparer, StoredBag, Writable, WriteResult
from reranker.text.documents import Candidate, Document, EncodedDocument
from reranker.text.idf import IdfTable
from reranker.translation.groups import WordGroup


class Store(Protocol):
    """Indices of encoded documents. Every store passes the same tests (tests/stores/).

    Each method may raise StoreUnavailable (a node that is down, a damaged file). Those that take an index raise
    NotFound where it is missing and NotOurIndex where Sinkrank did not make it. Safe to call from several threads.
    """

    @property
    def address(self) -> str:
        """Where the store is, without credentials: for messages."""
        ...

    def problems(self) -> list[str]:
        """What is wrong although the store can be used, such as a node that does not respond; empty if nothing is."""
        ...

    def indices(self) -> list[str]:
        """The names of the indices that Sinkrank made, sorted; of an index with versions its name, not theirs."""
        ...

    def describe(self, index: str) -> IndexDescription: ...

    def drop(self, index: str) -> None:
        """Deletes an index that Sinkrank made, with its idf, hubness sample, claim and all versions; or one version."""
        ...

    def stage(self, index: str, description: IndexDescription) -> str:
        """Makes an empty version of an index and gives its name; no search for the index meets it before `promote`.
        BadInput or NotOurIndex if the index's name is taken by something else."""
        ...

    def promote(self, index: str, version: str) -> None:
        """Lets the index's name stand for this version from one moment to the next; the version that it stood for
        stays. An index without versions becomes one. NotFound if the index has no such version."""
        ...

    def versions(self, index: str) -> list[IndexVersion]:
        """The versions of an index by age; none of one without versions, or that is not there."""
        ...

    def claim(self, index: str, owner: str, seconds: float) -> None:
        """Lets nobody else make versions of an index, which need not be there yet, for so many seconds; again by the
        same owner renews it. BadInput while another has it."""
        ...

    def release(self, index: str, owner: str) -> None:
        """Deletes a claim of this owner, or one that has run out; another owner's valid claim stays."""
        ...

    def preparer(self, index: str) -> Preparer:
        """Makes of encoded documents what `write_prepared` takes."""
        ...

    def write_prepared(self, index: str, documents: Iterable[Writable]) -> Iterator[WriteResult]:
        """Adds or replaces documents by id; yields one result a document, in order. Reads `documents` as a stream.

        Args:
            documents: prepared for an index of the same description.

        Raises:
            StoreUnavailable: the store cannot take them now; those without a result are to be written again.
        """
        ...

    def delete(self, index: str, doc_ids: Iterable[str]) -> Iterator[WriteResult]:
        """Deletes documents; yields one result an id, in order, with an error for one that was not there."""
        ...

    def bags(self, index: str, stale: Mapping[str, str] | None = None) -> Iterator[StoredBag]:
        """The bags of all documents as they are at the beginning, in no order, read as a stream.

        Args:
            stale: a version of the weights by language; those languages' documents alone that were weighed with
                another. None for all documents.
        """
        ...

    def replace_vectors(self, index: str, vectors: Iterable[NewVector]) -> Iterator[WriteResult]:
        """Replaces the nBOW embeddings of documents and nothing else of them; results as of `write_prepared`, with an
        error for a document that is not there."""
        ...

    def languages(self, index: str) -> dict[str, int]:
        """How many documents the index has of each language, by code."""
        ...

    def differences(self, index: str) -> Sequence[str]:
        """What of the index's definition differs from one that would be made now, each in a few words."""
        ...

    def refresh(self, index: str) -> None:
        """Makes all that was written visible to searches."""
        ...

    def count(self, index: str, filters: Filters = Filters()) -> int: ...

    def fetch(self, index: str, doc_id: str) -> EncodedDocument:
        """One document whole; NotFound if it is not there."""
        ...

    def documents(self, index: str, doc_ids: Sequence[str]) -> dict[str, Document]:
        """Documents by id, as searches find them now. An id that the index does not have (a document may be deleted
        after a search found it) is left out.

        Args:
            doc_ids: 10,000 at most; BadInput for more.
        """
        ...

    def knn(self, index: str, vector: NDArray[np.float32], depth: int, filters: Filters) -> list[Candidate]:
        """The documents of the highest cosine to an L2-normalised vector (dim,); `first_stage_score` is that cosine.
        Their texts are not read: `documents` gives those of the hits that are shown."""
        ...

    def bm25(self, index: str, text: str, depth: int, filters: Filters) -> list[Candidate]:
        """The documents of the highest BM25, each language's text analysed as that language; without texts, as `knn`
        gives them."""
        ...

    def translated(
        self, index: str, groups: Mapping[str, Sequence[WordGroup]], depth: int, filters: Filters
    ) -> list[Candidate]:
        """The documents of the highest BM25 by word groups (`reranker.translation`), in the languages that have groups:
        a group counts as one term whose occurrences are the weighted sum of those of its translations. Words that
        share a stem by the store's analysis count once. The embedded store computes this sum; an engine comes as near
        to it as its queries can. Without texts, as `knn` gives them.

        Args:
            groups: by the documents' language.
        """
        ...

    def idf(self, index: str) -> IdfTable:
        """The index's idf table; empty before `save_idf`."""
        ...

    def save_idf(self, index: str, table: IdfTable) -> None: ...

    def hubness_sample(self, index: str) -> HubnessSample:
        """The queries that the index's documents' hubness is measured by; empty before `save_hubness_sample`."""
        ...

    def save_hubness_sample(self, index: str, sample: HubnessSample) -> None: ...

    def close(self) -> None: ...
