"""Keeps the idf tables and hubness samples of an engine's indices in a hidden index, which no search of a user reaches.

The languages of a new table are written first, under its version. Then a single write makes the table the current one.
So a reader gets either the old table or the new one, never a mixture. The table before stays until the next one, for
readers that began before. A sample is one document, of some ten thousand bytes a language.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Collection, Iterator
from typing import Any

import numpy as np
import opensearchpy
from numpy.typing import NDArray
from opensearchpy import exceptions, helpers

from reranker.base.errors import StoreUnavailable
from reranker.embeddings.hubness import HubnessSample
from reranker.stores.engine.client import multi_get
from reranker.text.idf import DocumentFrequencies, IdfTable

IDF_INDEX = "sinkrank-idf"

_DEFINITION: dict[str, Any] = {
    "settings": {"index": {"hidden": True, "number_of_shards": 1, "auto_expand_replicas": "0-1"}},
    "mappings": {
        "dynamic": "strict",
        "_meta": {"sinkrank_idf": {"layout": 1}},
        "properties": {
            "index": {"type": "keyword"},
            "version": {"type": "keyword"},
            "parts": {"type": "keyword", "index": False, "doc_values": False},
            "language": {"type": "keyword"},
            "n_documents": {"type": "long"},
            "term_ids": {"type": "binary"},
            "counts": {"type": "binary"},
            "hubness_sample": {"type": "binary"},
            # Of a claim (`reranker.stores.engine.claims`).
            "owner": {"type": "keyword"},
            "claimed_until": {"type": "double"},
        },
    },
}


class EngineIdf:
    """The idf tables and hubness samples of one engine."""

    def __init__(self, client: opensearchpy.OpenSearch) -> None:
        self._client = client

    def load(self, index: str) -> IdfTable:
        """Returns the index's table, an empty one if none was saved.

        Raises:
            StoreUnavailable: languages of the table are missing.
            exceptions.TransportError: the hidden index cannot be read.
        """
        part_ids = self._current_parts(index)
        languages = {
            part["language"]: DocumentFrequencies(
                part["n_documents"], _unpacked(part["term_ids"]), _unpacked(part["counts"])
            )
            for part in self._get(part_ids)
            if part is not None
        }
        if len(languages) < len(part_ids):
            raise StoreUnavailable(
                f"the idf of index {index!r} is not whole; make the index again with `sinkrank ingest FILE --rebuild`"
            )
        return IdfTable(languages)

    def save(self, index: str, table: IdfTable) -> None:
        """Makes the table the index's current one."""
        self.ensure_index()
        before = self._current_parts(index)
        parts = dict(_parts(index, table))
        # One request for each part: the table of many languages is larger than a request may be.
        for part_id, part in parts.items():
            self._client.index(index=IDF_INDEX, id=part_id, body=part)
        manifest = {"index": index, "version": table.version, "parts": list(parts)}
        self._client.index(index=IDF_INDEX, id=index, body=manifest)
        self._delete(index, kept={index, _sample_id(index), *parts, *before})

    def load_sample(self, index: str) -> HubnessSample:
        """Returns the index's hubness sample, an empty one if none was saved."""
        (found,) = self._get([_sample_id(index)])
        if found is None:
            return HubnessSample()
        return HubnessSample.from_json(json.loads(base64.b64decode(found["hubness_sample"])))

    def save_sample(self, index: str, sample: HubnessSample) -> None:
        """Replaces the index's hubness sample."""
        self.ensure_index()
        packed = base64.b64encode(json.dumps(sample.as_json()).encode()).decode("ascii")
        body = {"index": index, "version": sample.embeddings_version, "hubness_sample": packed}
        self._client.index(index=IDF_INDEX, id=_sample_id(index), body=body)

    def forget(self, index: str) -> None:
        """Deletes everything about an index."""
        self._delete(index)

    def ensure_index(self) -> None:
        """Makes the hidden index if it is missing."""
        try:
            self._client.indices.create(index=IDF_INDEX, body=_DEFINITION)
        except exceptions.RequestError as error:
            if error.error != "resource_already_exists_exception":
                raise

    def _current_parts(self, index: str) -> list[str]:
        (manifest,) = self._get([index])
        return [] if manifest is None else list(manifest["parts"])

    def _get(self, ids: list[str]) -> list[dict[str, Any] | None]:
        """Returns the documents with these ids, unrefreshed changes included; None for each missing one."""
        sources: list[dict[str, Any] | None] = []
        try:
            for doc_id in ids:
                sources += [found.get("_source") for found in multi_get(self._client, IDF_INDEX, [doc_id])]
        except exceptions.NotFoundError:
            return [None] * len(ids)
        return sources

    def _delete(self, index: str, kept: Collection[str] = ()) -> None:
        """Deletes all documents about an index but those with these ids, also parts that an interrupted save left."""
        query = {"query": {"term": {"index": index}}, "_source": False, "size": 10_000}
        try:
            self._client.indices.refresh(index=IDF_INDEX)
            answer = self._client.search(index=IDF_INDEX, body=query)
        except exceptions.NotFoundError:
            return
        ids = [hit["_id"] for hit in answer["hits"]["hits"] if hit["_id"] not in kept]
        actions = [{"_op_type": "delete", "_index": IDF_INDEX, "_id": doc_id} for doc_id in ids]
        for _ in helpers.streaming_bulk(self._client, actions, raise_on_error=False):
            pass  # another process may have deleted it already


def _sample_id(index: str) -> str:
    return f"{index}:hubness"


def _parts(index: str, table: IdfTable) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields a document for each language, with its id. Two million terms are 11 MB of base64, less than the longest
    string that the engines' JSON parsers take."""
    for language, frequencies in table.languages.items():
        part = {
            "index": index,
            "version": table.version,
            "language": language,
            "n_documents": frequencies.n_documents,
            "term_ids": _packed(frequencies.term_ids),
            "counts": _packed(frequencies.counts),
        }
        # No index name has a colon. A slash would not do: some proxies decode an encoded one.
        yield f"{index}:{table.version}:{language}", part


def _packed(numbers: NDArray[np.int32]) -> str:
    return base64.b64encode(numbers.astype("<i4").tobytes()).decode("ascii")


def _unpacked(packed: str) -> NDArray[np.int32]:
    return np.frombuffer(base64.b64decode(packed), "<i4").astype(np.int32)
