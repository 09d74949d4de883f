"""Reads all documents of an engine's index as they are at one moment, in pages, in no order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

import opensearchpy
from opensearchpy import exceptions

from reranker.stores.base.writing import StoredBag
from reranker.stores.engine.hits import read_bag
from reranker.stores.engine.retries import with_retries
from reranker.upstream.addresses import Distribution

# Between two pages; each request for a page renews it.
_KEEP_ALIVE = "30m"
_PAGE_DOCUMENTS = 1_000


class PointInTime:
    """The state of an index at one moment, which the engine keeps until it is closed or expires.

    Attributes:
        id: the engine's id of it.
        slices: the parts in which to read it. OpenSearch's `_doc` is unique only within a shard (`_shard_doc` came with
            3.3). With as many slices as shards, each slice is a shard.
    """

    def __init__(self, client: opensearchpy.OpenSearch, distribution: Distribution, index: str) -> None:
        """
        Args:
            index: the name of one index, no alias.
        """
        self._client = client
        self._distribution = distribution
        n_shards = 1 if distribution == "elasticsearch" else self._n_shards(index)
        self.slices: list[dict[str, int] | None] = (
            [None] if n_shards == 1 else [{"id": shard, "max": n_shards} for shard in range(n_shards)]
        )
        self.id = with_retries(partial(self._open, index))

    def pages(self, query: Mapping[str, Any], source: Any, timeout_s: float) -> Iterator[list[dict[str, Any]]]:
        """Yields the hits of all slices, in pages.

        Args:
            source: the fields to read, as `_source` of a search.
        """
        for of_slice in self.slices:
            yield from self._pages_of(of_slice, query, source, timeout_s)

    def _pages_of(
        self, of_slice: Mapping[str, int] | None, query: Mapping[str, Any], source: Any, timeout_s: float
    ) -> Iterator[list[dict[str, Any]]]:
        body: dict[str, Any] = {
            "size": _PAGE_DOCUMENTS,
            "query": query,
            "_source": source,
            "track_total_hits": False,
            "sort": ["_shard_doc" if self._distribution == "elasticsearch" else "_doc"],
        }
        if of_slice is not None:
            body["slice"] = of_slice
        while True:
            body["pit"] = {"id": self.id, "keep_alive": _KEEP_ALIVE}
            answer = with_retries(partial(self._client.search, body=body, request_timeout=timeout_s))
            self.id = answer.get("pit_id", self.id)
            hits = answer["hits"]["hits"]
            if not hits:
                return
            yield hits
            body["search_after"] = hits[-1]["sort"]

    def close(self) -> None:
        """Closes the point in time at the engine, if it is still open."""
        path, body = (
            ("/_pit", {"id": self.id})
            if self._distribution == "elasticsearch"
            else ("/_search/point_in_time", {"pit_id": [self.id]})
        )
        with suppress(exceptions.OpenSearchException):
            self._client.transport.perform_request("DELETE", path, body=body)

    def _open(self, index: str) -> str:
        params = {"keep_alive": _KEEP_ALIVE}
        if self._distribution == "elasticsearch":
            return str(self._client.transport.perform_request("POST", f"/{index}/_pit", params=params)["id"])
        answer = self._client.transport.perform_request("POST", f"/{index}/_search/point_in_time", params=params)
        return str(answer["pit_id"])

    def _n_shards(self, index: str) -> int:
        params = {"filter_path": "*.settings.index.number_of_shards"}
        (found,) = self._client.indices.get_settings(index=index, params=params).values()
        return int(found["settings"]["index"]["number_of_shards"])


def read_bags(moment: PointInTime, timeout_s: float, stale: Mapping[str, str] | None = None) -> Iterator[StoredBag]:
    """Yields the bags of one of our indices; see `reranker.stores.base.protocol.WritableStore.bags`."""
    query = {"match_all": {}} if stale is None else _stale_query(stale)
    for hits in moment.pages(query, ["lang", "bag"], timeout_s):
        for hit in hits:
            source = hit["_source"]
            yield StoredBag(hit["_id"], source.get("lang", ""), read_bag(source.get("bag", "")))


def _stale_query(versions: Mapping[str, str]) -> dict[str, Any]:
    """Matches documents of these languages whose weights have another version."""
    return {
        "bool": {
            "should": [
                {"bool": {"filter": [{"term": {"lang": language}}], "must_not": [{"term": {"weights": version}}]}}
                for language, version in versions.items()
            ],
            "minimum_should_match": 1,
        }
    }
