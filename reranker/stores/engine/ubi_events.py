"""Reads clicks from the events of OpenSearch's User Behavior Insights (schema 1.3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import opensearchpy

from reranker.stores.engine.client import whole_search

_INDEX = "ubi_events"
_OBJECT = "event_attributes.object"
# So that their clicks fit into one page; the engines' limit is 10,000 hits.
_QUERIES_AT_ONCE = 200
_MAX_HITS = 10_000


def read_clicks(client: opensearchpy.OpenSearch, query_ids: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yields the `query_id` of each click, and the id of what was clicked: its `internal_id`, which is the `_id` of a
    hit, or else its `object_id`. Without an index of events there are none.

    Raises:
        opensearchpy.exceptions.OpenSearchException: the engine refuses or does not answer, or a shard failed.
    """
    for start in range(0, len(query_ids), _QUERIES_AT_ONCE):
        some = list(query_ids[start : start + _QUERIES_AT_ONCE])
        # Where nobody declared the field it is a text with a keyword beside it.
        of_queries = [{"terms": {"query_id": some}}, {"terms": {"query_id.keyword": some}}]
        clicks = {"filter": [{"term": {"action_name": "click"}}], "should": of_queries, "minimum_should_match": 1}
        body = {"size": _MAX_HITS, "query": {"bool": clicks}, "_source": ["query_id", _OBJECT]}
        answer = whole_search(client, index=_INDEX, body=body, params={"ignore_unavailable": "true"})
        for hit in answer["hits"]["hits"]:
            source: dict[str, Any] = hit["_source"]
            try:
                clicked = source["event_attributes"]["object"]
                doc_id = clicked.get("internal_id") or clicked.get("object_id")
            except (AttributeError, KeyError, TypeError):
                continue  # it names no object
            # A text matches other ids too: "ABC" is "abc" to it, and "42" a word of "user7-42".
            if doc_id is not None and (query_id := str(source["query_id"])) in some:
                yield query_id, str(doc_id)
