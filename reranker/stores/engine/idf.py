"""Keeps the idf tables and hubness samples of an engine's indices in a hidden index, which no search of a user reaches.

The languages of a new table are written first, under its version. Then a single write makes the table the current one,
unless another process has saved one meanwhile. So a reader gets either the old table or the new one, never a mixture.
The table before stays until the next one, for readers that began before. A sample is one document, of some ten thousand
bytes a language.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import opensearchpy
from numpy.typing import NDArray
from opensearchpy import exceptions, helpers

from reranker.base.errors import StoreUnavailable
from reranker.embeddings.hubness import HubnessSample
from reranker.stores.engine.actions import if_same
from reranker.stores.engine.client import multi_get, unchanged
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
        return self._table(index, self._get(index))

    def save(self, index: str, table: IdfTable, before: IdfTable | None = None) -> IdfTable:
        """Makes the table the index's current one; see `reranker.stores.base.protocol.WritableStore.save_idf`."""
        self.ensure_index()
        while True:
            # Found before the manifest is read. So a process that has written some of them, and no manifest yet, writes
            # its parts again.
            stored = self._stored(index)
            manifest = self._get(index)
            saved = table if before is None else table.with_changes(before, self._table(index, manifest))
            parts = dict(_parts(index, saved))
            # One request for each part: the table of many languages is larger than a request may be.
            for part_id, part in parts.items():
                self._client.index(index=IDF_INDEX, id=part_id, body=part)
            body = {"index": index, "version": saved.version, "parts": list(parts)}
            if self._replace(index, manifest, body):
                kept = {index, _sample_id(index), *parts, *_part_ids(manifest)}
                self._delete(hit for hit in stored if hit["_id"] not in kept)
                return saved

    def load_sample(self, index: str) -> HubnessSample:
        """Returns the index's hubness sample, an empty one if none was saved."""
        return _sample(self._get(_sample_id(index)))

    def save_sample(self, index: str, sample: HubnessSample) -> None:
        """Replaces the index's hubness sample."""
        self.ensure_index()
        self._client.index(index=IDF_INDEX, id=_sample_id(index), body=_packed_sample(index, sample))

    def add_to_sample(self, index: str, sample: HubnessSample) -> None:
        """See `reranker.stores.base.protocol.WritableStore.add_to_hubness_sample`."""
        while True:
            found = self._get(_sample_id(index))
            before = _sample(found)
            if before.embeddings_version != sample.embeddings_version:
                return
            if self._replace(_sample_id(index), found, _packed_sample(index, before.merged(sample))):
                return

    def forget(self, index: str) -> None:
        """Deletes everything about an index."""
        self._delete(self._stored(index))

    def ensure_index(self) -> None:
        """Makes the hidden index if it is missing."""
        try:
            self._client.indices.create(index=IDF_INDEX, body=_DEFINITION)
        except exceptions.RequestError as error:
            if error.error != "resource_already_exists_exception":
                raise

    def _table(self, index: str, manifest: Mapping[str, Any]) -> IdfTable:
        """The table of a manifest."""
        part_ids = _part_ids(manifest)
        parts = [found["_source"] for found in map(self._get, part_ids) if found.get("found")]
        if len(parts) < len(part_ids):
            raise StoreUnavailable(
                f"the idf of index {index!r} is not whole; make the index again with `sinkrank ingest FILE --rebuild`"
            )
        return IdfTable(
            {
                part["language"]: DocumentFrequencies(
                    part["n_documents"], _unpacked(part["term_ids"]), _unpacked(part["counts"])
                )
                for part in parts
            }
        )

    def _get(self, doc_id: str) -> Mapping[str, Any]:
        """Returns the document with this id, unrefreshed changes included; without `found` if there is none."""
        try:
            (found,) = multi_get(self._client, IDF_INDEX, [doc_id])
        except exceptions.NotFoundError:
            return {}
        return found

    def _replace(self, doc_id: str, found: Mapping[str, Any], body: Mapping[str, Any]) -> bool:
        """Replaces a document unless it has changed since it was found. Returns whether it did."""
        try:
            self._client.index(index=IDF_INDEX, id=doc_id, body=body, params=unchanged(found))
        except exceptions.ConflictError:
            return False
        return True

    def _stored(self, index: str) -> list[Mapping[str, Any]]:
        """Returns all documents about an index, also parts that an interrupted save left, without their contents."""
        query = {"query": {"term": {"index": index}}, "_source": False, "size": 10_000, "seq_no_primary_term": True}
        try:
            self._client.indices.refresh(index=IDF_INDEX)
            hits: list[Mapping[str, Any]] = self._client.search(index=IDF_INDEX, body=query)["hits"]["hits"]
        except exceptions.NotFoundError:
            return []
        return hits

    def _delete(self, stored: Iterable[Mapping[str, Any]]) -> None:
        """Deletes documents that have not changed since they were found."""
        actions = [
            {
                "_op_type": "delete",
                "_index": IDF_INDEX,
                "_id": hit["_id"],
                **if_same(hit["_seq_no"], hit["_primary_term"]),
            }
            for hit in stored
        ]
        for _ in helpers.streaming_bulk(self._client, actions, raise_on_error=False):
            pass  # another process may have deleted it already


def _part_ids(manifest: Mapping[str, Any]) -> list[str]:
    return list(manifest["_source"]["parts"]) if manifest.get("found") else []


def _sample(found: Mapping[str, Any]) -> HubnessSample:
    if not found.get("found"):
        return HubnessSample()
    return HubnessSample.from_json(json.loads(base64.b64decode(found["_source"]["hubness_sample"])))


def _packed_sample(index: str, sample: HubnessSample) -> dict[str, Any]:
    packed = base64.b64encode(json.dumps(sample.as_json()).encode()).decode("ascii")
    return {"index": index, "version": sample.embeddings_version, "hubness_sample": packed}


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
