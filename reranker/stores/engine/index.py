"""Searches one of our indices in OpenSearch or Elasticsearch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from functools import partial
from typing import Any

import numpy as np
import opensearchpy
from numpy.typing import NDArray

from reranker.base.errors import NotFound
from reranker.stores.base.description import IndexDescription
from reranker.stores.base.filters import Filters
from reranker.stores.base.notes import Kind, NotesReader
from reranker.stores.engine.client import engine_errors, is_partial, multi_get, whole_search
from reranker.stores.engine.hits import (
    FROM_DOC_VALUES,
    FROM_SOURCE,
    candidates_from_doc_values,
    candidates_from_source,
    read_document,
    read_encoded,
)
from reranker.stores.engine.notes import read_note
from reranker.stores.engine.queries import (
    DOCUMENT_FIELDS,
    bm25_body,
    documents_body,
    knn_body,
    translated_body,
)
from reranker.stores.engine.retries import with_retries
from reranker.stores.engine.sample import sample_documents
from reranker.text.documents import Candidate, Document, EncodedDocument
from reranker.translation.groups import WordGroup
from reranker.upstream.addresses import Distribution
from reranker.upstream.rights import SERVICE, Rights

# Without it each shard scores with its own document frequencies, so the order depends on the number of shards. With one
# shard the engines skip the extra step.
_WHOLE_INDEX = {"search_type": "dfs_query_then_fetch"}

# More languages than ISO 639-1 has codes.
_MAX_LANGUAGES = 500


class EngineIndex(NotesReader):
    """An `IndexReader` in an engine; see `reranker.stores.base.protocol.IndexReader`.

    It asks for the version that served when it was opened, so its documents fit its idf after a rebuild too.
    """

    def __init__(
        self,
        client: opensearchpy.OpenSearch,
        address: str,
        distribution: Callable[[], Distribution],
        requested: str,
        name: str,
        description: IndexDescription,
    ) -> None:
        """
        Args:
            requested: the name it was opened by, for messages.
            name: its own name, which is that of a version.
        """
        self._client = client
        self._address = address
        self._distribution = distribution
        self._requested = requested
        self.name = name
        self.description = description
        self._languages: Mapping[str, int] = {}

    def languages(self) -> Mapping[str, int]:
        if not self._languages:  # an empty index will be filled soon
            body: dict[str, Any] = {"terms": {"field": "lang", "size": _MAX_LANGUAGES}}
            with engine_errors(self._address, self._requested):
                answer = self._client.search(index=self.name, body={"size": 0, "aggs": {"languages": body}})
            buckets = answer["aggregations"]["languages"]["buckets"]
            found = {bucket["key"]: int(bucket["doc_count"]) for bucket in buckets}
            if is_partial(answer):  # some languages may be missing until all shards are there again
                return found
            self._languages = found
        return self._languages

    def note(self, kind: Kind) -> bytes | None:
        with engine_errors(self._address, self._requested):
            return read_note(self._client, self.name, kind)

    def knn(
        self, vector: NDArray[np.float32], depth: int, filters: Filters, rights: Rights = SERVICE
    ) -> list[Candidate]:
        return self._candidates(knn_body(self._distribution(), vector, depth, filters), rights, scores_are_cosines=True)

    def bm25(self, text: str, depth: int, filters: Filters, rights: Rights = SERVICE) -> list[Candidate]:
        languages = filters.languages or self.languages()
        if not languages:
            return []
        return self._candidates(bm25_body(self._distribution(), text, languages, depth, filters), rights)

    def translated(
        self, groups: Mapping[str, Sequence[WordGroup]], depth: int, filters: Filters, rights: Rights = SERVICE
    ) -> list[Candidate]:
        body = translated_body(self._distribution(), groups, self.languages(), depth, filters)
        return [] if body is None else self._candidates(body, rights)

    def documents(
        self, doc_ids: Sequence[str], rights: Rights = SERVICE, *, is_strict: bool = False
    ) -> dict[str, Document]:
        if not doc_ids:
            return {}
        given = {"index": self.name, "body": documents_body(doc_ids), "headers": rights.headers}
        with engine_errors(self._address, self._requested):
            answer = (
                with_retries(partial(whole_search, self._client, **given))
                if is_strict
                else self._client.search(**given)
            )
        return {hit["_id"]: read_document(hit) for hit in answer["hits"]["hits"]}

    def stored(self, doc_ids: Sequence[str]) -> Set[str]:
        if not doc_ids:
            return set()
        with engine_errors(self._address, self._requested):
            found = with_retries(partial(multi_get, self._client, self.name, doc_ids, params={"_source": "false"}))
        return {one["_id"] for one in found if one.get("found")}

    def fetch(self, doc_id: str, rights: Rights = SERVICE) -> EncodedDocument:
        found: Mapping[str, Any] = {}
        if doc_id:  # the engines answer an empty id with an error
            with engine_errors(self._address, self._requested):
                # Not GET /INDEX/_doc/ID: a path cannot contain an id such as `..`.
                params = {"_source": ",".join([*DOCUMENT_FIELDS, "bag"])}
                (found,) = multi_get(self._client, self.name, [doc_id], params=params, headers=rights.headers)
        if not found.get("found"):
            raise NotFound(f"index {self._requested!r} has no document {doc_id!r}; a search shows the ids that it has")
        return read_encoded(found)

    def count(self, rights: Rights = SERVICE) -> int:
        with engine_errors(self._address, self._requested):
            return int(self._client.count(index=self.name, headers=rights.headers)["count"])

    def random_documents(self, n: int) -> list[Document]:
        with engine_errors(self._address, self._requested):
            return [read_document(hit) for hit in sample_documents(self._client, self.name, DOCUMENT_FIELDS, n)]

    def _candidates(self, body: Mapping[str, Any], rights: Rights, scores_are_cosines: bool = False) -> list[Candidate]:
        """Reads the candidates of a search from doc values or, if a document lacks them, from `_source`.

        Args:
            scores_are_cosines: whether the search is for a vector, not for words.
        """
        params = {} if scores_are_cosines else _WHOLE_INDEX
        search = partial(self._client.search, index=self.name, params=params, headers=rights.headers)
        with engine_errors(self._address, self._requested):
            found = candidates_from_doc_values(search(body={**body, **FROM_DOC_VALUES}), scores_are_cosines)
            if found is not None:
                return found
            return candidates_from_source(search(body={**body, **FROM_SOURCE}), scores_are_cosines)
