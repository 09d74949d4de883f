"""What a store must do: keep encoded documents and an idf table per index, and find candidates by kNN and by BM25."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

import numpy as np
import regex
from numpy.typing import NDArray

from reranker.base.errors import BadInput, NotOurIndex, VersionMismatch, WrongParameter
from reranker.embeddings import Embeddings
from reranker.embeddings.hubness import HubnessSample
from reranker.stores.base.names import VERSION_OF, IndexVersion, check_index_name
from reranker.stores.base.writing import NewVector, Preparer, StoredBag, Writable, WriteResult
from reranker.text.documents import Candidate, Document, EncodedDocument
from reranker.text.idf import IdfTable
from reranker.text.languages import language_code
from reranker.text.tokens import TOKENIZER_VERSION
from reranker.translation.groups import WordGroup

__all__ = [
    "Filters",
    "IndexDescription",
    "IndexVersion",
    "NewVector",
    "Preparer",
    "Range",
    "Scalar",
    "Store",
    "StoredBag",
    "Writable",
    "WriteResult",
    "check_index_name",
    "check_versions",
]

# Raise it whenever an index made before can no longer be read.
MAPPING_VERSION = 1

_FIELD_NAME = regex.compile(r"[A-Za-z0-9_\-]{1,64}(\.[A-Za-z0-9_\-]{1,64}){0,7}")

# SQLite takes 32,766 values and 500 parts of a query, the engines 65,536 values of a field and 1,024 clauses.
_MAX_FILTER_VALUES = 10_000
_MAX_FILTER_FIELDS = 100

Scalar = str | int | float | bool


@dataclass(frozen=True, slots=True)
class IndexDescription:
    """The versions that an index was made with; kept in the index as `_meta`."""

    embeddings_version: str
    dim: int
    mapping_version: int = MAPPING_VERSION
    tokenizer_version: int = TOKENIZER_VERSION

    def as_meta(self, version_of: str | None = None) -> dict[str, Any]:
        """As `_meta` holds it.

        Args:
            version_of: the index that it is a version of; None where it stands for itself.
        """
        return {"sinkrank": asdict(self) | ({} if version_of is None else {VERSION_OF: version_of})}

    @classmethod
    def from_meta(cls, meta: Any, index: str) -> IndexDescription:
        """Reads `_meta`.

        Raises:
            NotOurIndex: there is no such section, so Sinkrank did not make the index.
        """
        section = meta.get("sinkrank") if isinstance(meta, Mapping) else None
        try:
            return cls(
                embeddings_version=str(section["embeddings_version"]),  # type: ignore[index]
                dim=int(section["dim"]),  # type: ignore[index]
                mapping_version=int(section["mapping_version"]),  # type: ignore[index]
                tokenizer_version=int(section["tokenizer_version"]),  # type: ignore[index]
            )
        except (KeyError, TypeError, ValueError) as error:
            raise NotOurIndex(
                f"index {index!r} was not made by Sinkrank (no versions in its _meta); make one of your documents with "
                f"`sinkrank ingest FILE --index NAME`, or put the proxy in front of it, which re-ranks any index"
            ) from error


def check_versions(index: str, made: IndexDescription, embeddings: Embeddings, store: str) -> None:
    """Refuses an index whose bags and vectors do not fit the loaded embeddings or this version of Sinkrank.

    Raises:
        VersionMismatch: with the command that rebuilds the index.
    """
    ours = IndexDescription(embeddings.version, embeddings.dim)
    differing = [
        f"{name} {value!r} there, {asdict(ours)[name]!r} here"
        for name, value in asdict(made).items()
        if value != asdict(ours)[name]
    ]
    if differing:
        raise VersionMismatch(
            f"index {index!r} was made with other versions ({'; '.join(differing)}); rebuild it with "
            f"`sinkrank ingest FILE --index {index} --rebuild --store {store}`, or open it with the embeddings "
            f"it was made with"
        )


@dataclass(frozen=True, slots=True)
class Range:
    """A condition on a number or on text in its order; a bound that is None is open."""

    gte: Scalar | None = None
    gt: Scalar | None = None
    lte: Scalar | None = None
    lt: Scalar | None = None


@dataclass(frozen=True, slots=True)
class Filters:
    """Which documents a search may find.

    Attributes:
        languages: ISO 639-1 codes, any of them; empty for all.
        metadata: for each metadata field (dots for nested ones) either the values of which one must be there (a field
            that holds a list matches by any of its elements), or a range. All fields must match.
    """

    languages: tuple[str, ...] = ()
    metadata: Mapping[str, tuple[Scalar, ...] | Range] = field(default_factory=dict)

    @classmethod
    def parse(cls, languages: Iterable[str] | None = None, metadata: Mapping[str, Any] | None = None) -> Filters:
        """Reads filters as they stand in a request: `{"module": "swriter", "year": {"gte": 2000}, "tag": ["a", "b"]}`.

        Raises:
            UnknownLanguage, BadInput: with the field and what it may hold.
        """
        codes = tuple(dict.fromkeys(language_code(language) for language in languages or ()))
        conditions = {name: _condition(name, value) for name, value in (metadata or {}).items()}
        n_values = sum(len(wanted) for wanted in conditions.values() if not isinstance(wanted, Range))
        if len(conditions) > _MAX_FILTER_FIELDS or n_values > _MAX_FILTER_VALUES:
            raise BadInput(
                f"the filters have {len(conditions)} fields and {n_values} values; give at most {_MAX_FILTER_FIELDS} "
                f"fields and {_MAX_FILTER_VALUES} values"
            )
        return cls(codes, conditions)


def _condition(name: str, value: Any) -> tuple[Scalar, ...] | Range:
    if not _FIELD_NAME.fullmatch(name):
        raise WrongParameter(
            f"filter field {name!r} is not a metadata name; use letters, digits, '_' and '-', with dots between"
        )
    if isinstance(value, Mapping):
        unknown = set(value) - {"gte", "gt", "lte", "lt"}
        if unknown or not value:
            raise WrongParameter(f"filter {name!r} takes gte, gt, lte, lt; got {sorted(value)}")
        if not all(isinstance(bound, str | int | float) for bound in value.values()):
            raise WrongParameter(f"the bounds of filter {name!r} must be numbers or strings")
        return Range(**value)
    values = tuple(value) if isinstance(value, list | tuple) else (value,)
    if not values or not all(isinstance(one, str | int | float | bool) for one in values):
        raise WrongParameter(f"filter {name!r} takes a string, number or boolean, or a list of them; got {value!r}")
    return values


class Store(Protocol):
    """Indices of encoded documents. Every store passes the same tests (tests/stores/).

    Each method may raise StoreUnavailable (a node that is down, a damaged file). Those that take an index raise
    NotFound where it is missing and NotOurIndex where Sinkrank did not make it. Safe to call from several threads.
    """

    @property
    def address(self) -> str:
        """Where the store is, without credentials: for messages."""
        ...

    def indices(self) -> list[str]:
        """The names of the indices that Sinkrank made, sorted; of an index with versions its name, not theirs."""
        ...

    def create(self, index: str, description: IndexDescription) -> None:
        """Makes an empty index; BadInput if the name is taken or cannot be one."""
        ...

    def describe(self, index: str) -> IndexDescription: ...

    def drop(self, index: str) -> None:
        """Deletes an index that Sinkrank made, with its idf, hubness sample and all versions; or one version."""
        ...

    def stage(self, index: str, description: IndexDescription) -> str:
        """Makes an empty version of an index and gives its name; no search for the index meets it before `promote`.
        BadInput if the index's name is taken by something else."""
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
        """Ends a claim before its time; another's is left alone."""
        ...

    def preparer(self, index: str) -> Preparer:
        """Makes of encoded documents what `write_prepared` takes."""
        ...

    def write_prepared(self, index: str, documents: Iterable[Writable]) -> Iterator[WriteResult]:
        """As `write`, of documents that were prepared before, for an index of the same description."""
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
        """Replaces the nBOW embeddings of documents and nothing else of them; results as of `write`, with an error for
        a document that is not there."""
        ...

    def languages(self, index: str) -> dict[str, int]:
        """How many documents the index has of each language, by code."""
        ...

    def differences(self, index: str) -> Sequence[str]:
        """What of the index's definition differs from one that would be made now, each in a few words."""
        ...

    def write(self, index: str, documents: Iterable[EncodedDocument]) -> Iterator[WriteResult]:
        """Adds or replaces documents by id; yields one result a document, in order. Reads `documents` as a stream.

        Raises:
            StoreUnavailable: the store cannot take them now; those without a result are to be written again.
        """
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
