"""A store in OpenSearch or Elasticsearch: the only class that asks an engine for our own indices."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from opensearchpy import exceptions

from mappings import ADDED_FIELDS, index_definition, mapping_differences
from reranker.base.errors import BadInput, NotFound
from reranker.embeddings.hubness import HubnessSample
from reranker.stores.base.checks import check_depth, check_dim, check_number_of_ids, check_query_vector
from reranker.stores.base.description import IndexDescription
from reranker.stores.base.filters import Filters
from reranker.stores.base.names import IndexVersion, check_any_index_name, check_index_name, writing_alias
from reranker.stores.base.writing import NewVector, Preparer, StoredBag, Writable, WriteResult
from reranker.stores.engine.actions import delete_action, preparer, vector_action
from reranker.stores.engine.claims import EngineClaims
from reranker.stores.engine.client import connect, detect_distribution, engine_errors
from reranker.stores.engine.health import red_index_error
from reranker.stores.engine.hits import (
    FROM_DOC_VALUES,
    FROM_SOURCE,
    candidates_from_doc_values,
    candidates_from_source,
    read_document,
    read_encoded,
)
from reranker.stores.engine.idf import IDF_INDEX, EngineIdf
from reranker.stores.engine.known_indices import KnownIndex, KnownIndices, count_languages
from reranker.stores.engine.probes import NodeProbes
from reranker.stores.engine.queries import (
    MAX_DEPTH,
    SHOWN_FIELDS,
    bm25_body,
    documents_body,
    filter_clauses,
    knn_body,
    translated_body,
)
from reranker.stores.engine.sample import sample_documents
from reranker.stores.engine.scan import PointInTime, read_bags
from reranker.stores.engine.templates import adapted
from reranker.stores.engine.versions import EngineVersions
from reranker.stores.engine.writer import BulkWriter
from reranker.text.documents import Candidate, Document, EncodedDocument
from reranker.text.idf import IdfTable
from reranker.translation.groups import WordGroup
from reranker.upstream.access import EngineAccess
from reranker.upstream.addresses import Distribution, EngineAddress
from reranker.upstream.nodes import Upstream
from reranker.upstream.rights import SERVICE, Rights

_log = logging.getLogger(__name__)

# Without it each shard scores with its own document frequencies, so the order depends on the number of shards. With one
# shard the engines skip the extra step.
_WHOLE_INDEX = {"search_type": "dfs_query_then_fetch"}

# Making or dropping an index waits for the whole cluster.
_LEAST_ADMIN_TIMEOUT_S = 60.0


class EngineStore:
    """A `Store` in an engine; see `reranker.stores.base.protocol.Store`."""

    def __init__(
        self,
        address: EngineAddress,
        access: EngineAccess = EngineAccess(),
        *,
        timeout_s: float = 30.0,
        pipeline: str | None = None,
    ) -> None:
        """
        Args:
            pipeline: the engine's ingest pipeline for the documents; None for the index's default.
        """
        self._pipeline = pipeline
        self._address = address.shown
        self._timeout_s = timeout_s
        self._admin_timeout_s = max(_LEAST_ADMIN_TIMEOUT_S, timeout_s)
        upstream = Upstream(address, access, timeout_s)
        self._client = connect(upstream)
        self._probes = NodeProbes(upstream)
        self._idf = EngineIdf(self._client)
        self._claims = EngineClaims(self._client, self._idf)
        self._versions = EngineVersions(self._client, self._idf, self._admin_timeout_s)
        # People write `opensearch://` for either engine, so only the other scheme decides.
        self._distribution_found: Distribution | None = (
            "elasticsearch" if address.distribution == "elasticsearch" else None
        )
        self._known = KnownIndices(self._client, self._address)

    @property
    def address(self) -> str:
        return self._address

    def problems(self) -> list[str]:
        return self._probes.problems()

    def indices(self) -> list[str]:
        with engine_errors(self._address):
            return self._versions.indices()

    def describe(self, index: str) -> IndexDescription:
        return self._known.ask(index).description

    def drop(self, index: str) -> None:
        known = self._known.ask(index)
        with engine_errors(self._address, index):
            names = [version.name for version in self._versions.of(index)] or [known.name]
            for name in (index, *names):
                self._known.forget(name)
            self._client.indices.delete(index=",".join(names), request_timeout=self._admin_timeout_s)
            for name in names:
                self._idf.forget(name)
            self._claims.forget(index)

    def stage(self, index: str, description: IndexDescription) -> str:
        check_index_name(index)
        if index == IDF_INDEX:
            raise BadInput(f"{IDF_INDEX!r} is where Sinkrank keeps its idf tables; take another name")
        with engine_errors(self._address, index):
            self._versions.check_name_is_free_for_versions(index)
            with suppress(NotFound):
                self._known.ask(index)  # another program's index could not become a version
            version = self._versions.next_name(index)
        self._create(version, description, index)
        return version

    def promote(self, index: str, version: str) -> None:
        check_index_name(index)
        with engine_errors(self._address, index):
            self._versions.promote(index, version)
            self._known.forget(index)

    def versions(self, index: str) -> list[IndexVersion]:
        check_index_name(index)
        with engine_errors(self._address, index):
            return self._versions.of(index)

    def claim(self, index: str, owner: str, seconds: float) -> None:
        check_index_name(index)
        with engine_errors(self._address, index):
            self._claims.take(index, owner, seconds)

    def release(self, index: str, owner: str) -> None:
        check_index_name(index)
        with engine_errors(self._address, index):
            self._claims.release(index, owner)

    def preparer(self, index: str) -> Preparer:
        known = self._known.ask(index)
        with engine_errors(self._address, index):
            return preparer(self._distribution(), known.description.dim)

    def write_prepared(self, index: str, documents: Iterable[Writable]) -> Iterator[WriteResult]:
        return self._write(self._ready_to_write(index), documents, self._pipeline)

    def delete(self, index: str, doc_ids: Iterable[str]) -> Iterator[WriteResult]:
        return self._write(self._ready_to_write(index), map(delete_action, doc_ids))

    def replace_vectors(self, index: str, vectors: Iterable[NewVector]) -> Iterator[WriteResult]:
        return self._write(self._ready_to_write(index), map(vector_action, vectors))

    def bags(self, index: str, stale: Mapping[str, str] | None = None) -> Iterator[StoredBag]:
        return self._bags(self._known.ask(index), stale)

    def languages(self, index: str) -> dict[str, int]:
        known = self._known.ask(index)
        with engine_errors(self._address, index):
            return count_languages(self._client, known.name)

    def differences(self, index: str) -> Sequence[str]:
        known = self._known.ask(index)
        with engine_errors(self._address, index):
            found = self._client.indices.get_mapping(index=known.name)[known.name]["mappings"]
            wanted = self._definition(known.description)["mappings"]
        return mapping_differences(found, wanted)

    def refresh(self, index: str) -> None:
        known = self._known.ask(index)
        with engine_errors(self._address, index):
            self._client.indices.refresh(index=known.name, request_timeout=self._admin_timeout_s)

    def count(self, index: str, filters: Filters = Filters(), rights: Rights = SERVICE) -> int:
        known = self._known.trusted(index)
        with engine_errors(self._address, index):
            query = {"query": {"bool": {"filter": filter_clauses(filters)}}}
            return int(self._client.count(index=known.name, body=query, headers=rights.headers)["count"])

    def fetch(self, index: str, doc_id: str, rights: Rights = SERVICE) -> EncodedDocument:
        known = self._known.trusted(index)
        with engine_errors(self._address, index):
            # Not GET /INDEX/_doc/ID: a path cannot contain an id such as `..`.
            answer = self._client.mget(index=known.name, body={"ids": [doc_id]}, headers=rights.headers)
        (found,) = answer["docs"]
        if not found.get("found"):
            self._known.ask(index)  # the cached index may have been deleted
            raise NotFound(f"index {index!r} has no document {doc_id!r}; a search shows the ids that it has")
        return read_encoded(found)

    def documents(self, index: str, doc_ids: Sequence[str], rights: Rights = SERVICE) -> dict[str, Document]:
        check_number_of_ids(doc_ids)
        known = self._known.trusted(index)
        if not doc_ids:
            return {}
        with engine_errors(self._address, index):
            answer = self._client.search(index=known.name, body=documents_body(doc_ids), headers=rights.headers)
        return {hit["_id"]: read_document(hit) for hit in answer["hits"]["hits"]}

    def random_documents(self, index: str, n: int) -> list[Document]:
        known = self._known.ask(index)
        return [read_document(hit) for hit in self.sample(known.name, SHOWN_FIELDS, n)]

    def knn(
        self, index: str, vector: NDArray[np.float32], depth: int, filters: Filters, rights: Rights = SERVICE
    ) -> list[Candidate]:
        check_depth(depth, MAX_DEPTH)
        known = self._known.trusted(index)
        vector = check_query_vector(vector, known.description.dim)
        with engine_errors(self._address, index):
            body = knn_body(self._distribution(), vector, depth, filters)
            return self._candidates(known, body, rights, scores_are_cosines=True)

    def bm25(self, index: str, text: str, depth: int, filters: Filters, rights: Rights = SERVICE) -> list[Candidate]:
        check_depth(depth, MAX_DEPTH)
        known = self._known.trusted(index)
        with engine_errors(self._address, index):
            languages = filters.languages or self._known.languages(index, known)
            if not languages:
                return []
            body = bm25_body(self._distribution(), text, languages, depth, filters)
            return self._candidates(known, body, rights)

    def translated(
        self,
        index: str,
        groups: Mapping[str, Sequence[WordGroup]],
        depth: int,
        filters: Filters,
        rights: Rights = SERVICE,
    ) -> list[Candidate]:
        check_depth(depth, MAX_DEPTH)
        known = self._known.trusted(index)
        with engine_errors(self._address, index):
            n_documents = self._known.languages(index, known)
            body = translated_body(self._distribution(), groups, n_documents, depth, filters)
            if body is None:
                return []
            return self._candidates(known, body, rights)

    def idf(self, index: str) -> IdfTable:
        known = self._known.ask(index)
        with engine_errors(self._address, index):
            return self._idf.load(known.name)

    def save_idf(self, index: str, table: IdfTable) -> None:
        known = self._known.ask(index)
        with engine_errors(self._address, index):
            self._idf.save(known.name, table)

    def hubness_sample(self, index: str) -> HubnessSample:
        known = self._known.ask(index)
        with engine_errors(self._address, index):
            return self._idf.load_sample(known.name)

    def save_hubness_sample(self, index: str, sample: HubnessSample) -> None:
        known = self._known.ask(index)
        with engine_errors(self._address, index):
            self._idf.save_sample(known.name, sample)

    def sample(self, index: str, fields: Sequence[str], n_documents: int) -> Iterator[Mapping[str, Any]]:
        """Yields a random sample of the documents of any index, ours or not, as hits (`sample_documents`)."""
        with engine_errors(self._address, index):
            yield from sample_documents(self._client, index, fields, n_documents)

    def mappings(self, index: str) -> list[Mapping[str, Any]]:
        """Returns the mapping of any index, ours or not; several if the name is an alias of several."""
        with engine_errors(self._address, index):
            answer = self._client.indices.get_mapping(index=check_any_index_name(index))
        return [found["mappings"] for found in answer.values()]

    def close(self) -> None:
        self._client.close()

    def _candidates(
        self, known: KnownIndex, body: Mapping[str, Any], rights: Rights, scores_are_cosines: bool = False
    ) -> list[Candidate]:
        """Reads the candidates of a search from doc values or, if the index or a document lacks them, from `_source`.

        Args:
            scores_are_cosines: whether the search is for a vector, not for words.
        """
        params = {} if scores_are_cosines else _WHOLE_INDEX
        search = partial(self._client.search, index=known.name, params=params, headers=rights.headers)
        if known.has_doc_values:
            found = candidates_from_doc_values(search(body={**body, **FROM_DOC_VALUES}), scores_are_cosines)
            if found is not None:
                return found
        return candidates_from_source(search(body={**body, **FROM_SOURCE}), scores_are_cosines)

    def _create(self, name: str, description: IndexDescription, version_of: str) -> None:
        check_index_name(name)
        check_dim(description.dim)
        with engine_errors(self._address, name):
            self._known.forget(name)
            definition = adapted(self._client, name, self._definition(description, version_of), version_of)
            try:
                self._client.indices.create(index=name, body=definition, request_timeout=self._admin_timeout_s)
            except exceptions.RequestError as error:
                if error.error in ("resource_already_exists_exception", "invalid_index_name_exception"):
                    raise BadInput(
                        f"{self._address} has {name!r} already, or does not allow the name; take another, or rebuild "
                        f"the index with --rebuild"
                    ) from error
                raise
            self._idf.forget(name)  # of an index with this name that another program deleted

    def _definition(self, description: IndexDescription, version_of: str | None = None) -> dict[str, Any]:
        return index_definition(
            self._distribution(), description.dim, description.as_meta(version_of), self._has_language_analyzers()
        )

    def _write(
        self, known: KnownIndex, documents: Iterable[Writable], pipeline: str | None = None
    ) -> Iterator[WriteResult]:
        with engine_errors(self._address, known.name):
            writer = BulkWriter(self._client, known.name, self._timeout_s, pipeline=pipeline)
            try:
                yield from writer.write(documents)
            except exceptions.TransportError as error:
                red = red_index_error(self._client, self._address, known.name, error)
                if red is None:
                    raise
                raise red from error

    def _bags(self, known: KnownIndex, stale: Mapping[str, str] | None) -> Iterator[StoredBag]:
        with engine_errors(self._address, known.name):
            moment = PointInTime(self._client, self._distribution(), known.name)
            try:
                yield from read_bags(moment, self._admin_timeout_s, stale)
            finally:
                moment.close()

    def _ready_to_write(self, index: str) -> KnownIndex:
        """The index, after adding the fields that an older one lacks, and the alias for writing. Writing to an alias
        does not create an index that was deleted meanwhile."""
        known, options = self._known.ask(index), {"request_timeout": self._admin_timeout_s}
        with engine_errors(self._address, index):
            self._client.indices.put_mapping(index=known.name, body={"properties": ADDED_FIELDS}, **options)
            alias, body = writing_alias(known.name), {"is_hidden": True}
            self._client.indices.put_alias(index=known.name, name=alias, body=body, **options)
        return known

    def _distribution(self) -> Distribution:
        if self._distribution_found is None:
            self._distribution_found = detect_distribution(self._client)
        return self._distribution_found

    def _has_language_analyzers(self) -> bool:
        try:
            self._client.indices.analyze(body={"analyzer": "english", "text": "analyzers"})
        except exceptions.RequestError:
            _log.warning(
                "%s has no language analyzers (its module analysis-common is missing): BM25 will match words only as "
                "they are written",
                self._address,
            )
            return False
        return True
