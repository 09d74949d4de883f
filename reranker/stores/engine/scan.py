"""Reads all documents of an engine's index as they are at one moment, in pages, in no order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

import opensearchpy
from opensearchpy import exceptions

from reranker.base.batches import next_length
from reranker.base.errors import StoreUnavailable
from reranker.stores.base.writing import StoredBag
from reranker.stores.engine.client import whole_search
from reranker.stores.engine.hits import read_bag, read_language
from reranker.stores.engine.retries import with_retries
from reranker.upstream.addresses import Distribution

# Between two pages; each request for a page renews it.
_KEEP_ALIVE = "30m"
_PAGE_DOCUMENTS = 1_000


class _Part(NamedTuple):
    """What is read at a time: all, or one shard of one index.

    Attributes:
        of_index: None for all of them.
        of_slice: None for the whole index.
    """

    of_index: str | None = None
    of_slice: Mapping[str, int] | None = None


class PointInTime:
    """The state of an index, or of the indices of an alias, at one moment, which the engine keeps until it is closed
    or expires. An alias's filter applies.

    Attributes:
        id: the engine's id of it.
    """

    def __init__(self, client: opensearchpy.OpenSearch, distribution: Distribution, index: str) -> None:
        """
        Args:
            index: an index, or an alias of several.
        """
        self._client = client
        self._distribution = distribution
        self._name = index
        self._n_shards = 0  # before the first search
        self.id = with_retries(partial(self._open, index))

    def count(self, query: Mapping[str, Any], timeout_s: float) -> int:
        """Returns how many documents match."""
        body = {"size": 0, "query": query, "track_total_hits": True}
        return int(self._search(body, timeout_s)["hits"]["total"]["value"])

    def pages(
        self, query: Mapping[str, Any], source: Any, timeout_s: float, mapped: Sequence[str] = ()
    ) -> Iterator[list[dict[str, Any]]]:
        """Yields the hits in pages, of fewer hits if these are long.

        Args:
            source: the fields to read, as `_source` of a search.
            mapped: the fields to read as the engine has mapped them, as `fields` of a search.

        Raises:
            StoreUnavailable: documents are missing.
        """
        before, n_documents, size = self.count(query, timeout_s), 0, 1
        for part in self._parts() if before else ():
            body = self._body(part, query) | {"_source": source, "fields": mapped}
            while hits := self._search({**body, "size": size}, timeout_s)["hits"]["hits"]:
                n_documents += len(hits)
                yield hits
                body["search_after"] = hits[-1]["sort"]
                size = next_length(hits, _PAGE_DOCUMENTS)
        # A query may compare with the time: for the last hour there are fewer at the end, for older ones more.
        if n_documents < (expected := min(before, self.count(query, timeout_s))):
            raise StoreUnavailable(
                f"only {n_documents:,} of {expected:,} documents of {self._name!r} were read; run the same command "
                "again"
            )

    def _body(self, part: _Part, query: Mapping[str, Any]) -> dict[str, Any]:
        body: dict[str, Any] = {
            "query": query,
            "track_total_hits": False,
            "seq_no_primary_term": True,
            "sort": ["_shard_doc" if self._distribution == "elasticsearch" else "_doc"],
        }
        if part.of_index is not None:
            body["query"] = {"bool": {"must": query, "filter": {"term": {"_index": part.of_index}}}}
        if part.of_slice is not None:
            body["slice"] = part.of_slice
        return body

    def _search(self, body: Mapping[str, Any], timeout_s: float) -> Mapping[str, Any]:
        body = {**body, "pit": {"id": self.id, "keep_alive": _KEEP_ALIVE}}
        answer: Mapping[str, Any] = with_retries(
            partial(whole_search, self._client, body=body, request_timeout=timeout_s)
        )
        self.id = answer.get("pit_id", self.id)
        self._n_shards = answer.get("_shards", {}).get("total", 0)
        return answer

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
        params["allow_partial_pit_creation"] = "false"
        answer = self._client.transport.perform_request("POST", f"/{index}/_search/point_in_time", params=params)
        return str(answer["pit_id"])

    def _parts(self) -> list[_Part]:
        """OpenSearch's `_doc` is unique only within a shard (`_shard_doc` came with 3.3). With as many slices as
        shards, each slice of an index is a shard. Who may only search may not ask how many shards each index has."""
        if self._distribution == "elasticsearch" or self._n_shards == 1:
            return [_Part()]
        params = {"filter_path": "*.settings.index.number_of_shards"}
        found = with_retries(partial(self._client.indices.get_settings, index=self._name, params=params))
        n_shards = {index: int(one["settings"]["index"]["number_of_shards"]) for index, one in found.items()}
        return [
            _Part(index if len(n_shards) > 1 else None, None if n == 1 else {"id": shard, "max": n})
            for index, n in sorted(n_shards.items())
            for shard in range(n)
        ]


def read_bags(moment: PointInTime, timeout_s: float, stale: Mapping[str, str] | None = None) -> Iterator[StoredBag]:
    """Yields the bags of one of our indices; see `reranker.stores.base.protocol.WritableStore.bags`."""
    query = {"match_all": {}} if stale is None else _stale_query(stale)
    for hits in moment.pages(query, ["lang", "bag"], timeout_s):
        for hit in hits:
            source, revision = hit["_source"], (hit["_seq_no"], hit["_primary_term"])
            yield StoredBag(hit["_id"], read_language(source), read_bag(source.get("bag")), revision)


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
