"""Calls that opensearch-py and elasticsearch-py have in common: documents, searches, administration, errors, helpers.

There is one for each way in which the clients ask and read; the engines' own REST tests call every API.

A call is the name of a method and its arguments; `INDEX` in them is the name of the run's index.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

INDEX = "clients-python"
COPY = f"{INDEX}-copy"
N_DOCUMENTS = 60

Call = tuple[str, dict[str, Any]]

# No merge in the background: until one, statistics of terms count deleted documents.
_SETTINGS = {"number_of_shards": 1, "number_of_replicas": 0, "merge.policy.segments_per_tier": 1000}
_PROPERTIES = {"text": {"type": "text", "fielddata": True}, "n": {"type": "integer"}, "tag": {"type": "keyword"}}

PREPARATION: list[Call] = [
    ("indices.create", {"index": INDEX, "body": {"settings": _SETTINGS, "mappings": {"properties": _PROPERTIES}}}),
    ("index", {"index": INDEX, "id": "1", "body": {"text": "cat dog", "n": 1, "tag": "a"}, "refresh": True}),
    ("create", {"index": INDEX, "id": "2", "body": {"text": "bread", "n": 2, "tag": "b"}, "refresh": "wait_for"}),
    ("index", {"index": INDEX, "id": "ä/ö ü+&?%", "body": {"text": "été", "n": 3, "tag": "ä b"}, "refresh": True}),
]

CALLS: list[Call] = [
    # Documents.
    ("get", {"index": INDEX, "id": "1"}),
    ("get", {"index": INDEX, "id": "ä/ö ü+&?%"}),
    ("get", {"index": INDEX, "id": "none"}),
    ("get", {"index": f"{INDEX}-none", "id": "1"}),
    ("exists", {"index": INDEX, "id": "1"}),
    ("exists", {"index": INDEX, "id": "none"}),
    ("mget", {"index": INDEX, "body": {"ids": ["1", "2", "none"]}}),
    ("create", {"index": INDEX, "id": "2", "body": {"n": 2}}),
    ("update", {"index": INDEX, "id": "5", "body": {"doc": {"n": 5}, "doc_as_upsert": True}, "refresh": True}),
    ("index", {"index": INDEX, "id": "1", "body": {"n": 1}, "if_seq_no": 77, "if_primary_term": 1}),
    ("index", {"index": INDEX, "id": "6", "body": {"n": "no number"}}),
    ("bulk", {"refresh": True, "body": [
        {"index": {"_index": INDEX, "_id": "7"}}, {"n": 7}, {"delete": {"_index": INDEX, "_id": "none"}}]}),
    ("bulk", {"index": INDEX, "body": [{"create": {"_id": "7"}}, {"n": 7}]}),
    # Searches without a text to re-rank by.
    ("search", {"index": INDEX, "body": {"query": {"match_all": {}}, "sort": ["n"]}}),
    ("search", {"index": INDEX, "body": {"size": 0, "aggs": {"tags": {"terms": {"field": "tag"}}}}}),
    ("search", {"index": INDEX, "body": {"query": {"no_such_query": {}}}}),
    ("search", {"index": f"{INDEX}-none", "body": {"query": {"match": {"text": "cat"}}}}),
    ("search", {"index": INDEX, "body": {"query": {"match": {"text": "cat"}}, "sort": [{"n": "desc"}], "highlight": {
        "fields": {"text": {}}}}}),
    ("msearch", {"body": [
        {"index": INDEX}, {"query": {"match_all": {}}, "sort": ["n"]}, {"index": f"{INDEX}-none"}, {}]}),
    ("search_template", {"index": INDEX, "body": {"source": {"query": {"match_all": {}}, "sort": ["n"]}}}),
    ("count", {"index": INDEX, "body": {"query": {"match": {"text": "cat"}}}}),
    ("count", {"index": INDEX, "q": "text:cat AND n:[0 TO 5]"}),
    ("field_caps", {"index": INDEX, "fields": "*"}),
    ("put_script", {"id": INDEX, "body": {"script": {"lang": "painless", "source": "1"}}}),
    ("delete_script", {"id": INDEX}),
    ("delete_by_query", {"index": INDEX, "body": {"query": {"term": {"n": 77}}}, "refresh": True}),
    ("reindex", {"body": {"source": {"index": INDEX}, "dest": {"index": COPY}}, "refresh": True}),
    # Administration.
    ("ping", {}),
    ("info", {}),
    ("indices.exists", {"index": f"{INDEX}-none"}),
    ("indices.put_mapping", {"index": INDEX, "body": {"properties": {"more": {"type": "keyword"}}}}),
    ("indices.put_mapping", {"index": INDEX, "body": {"properties": {"n": {"type": "text"}}}}),
    ("indices.get_field_mapping", {"index": INDEX, "fields": "te*"}),
    ("indices.analyze", {"index": INDEX, "body": {"text": "A cat", "analyzer": "standard"}}),
    ("indices.put_alias", {"index": INDEX, "name": f"{INDEX}-alias"}),
    ("indices.get_alias", {"name": f"{INDEX}-none"}),
    ("indices.refresh", {"index": INDEX}),
    ("indices.forcemerge", {"index": INDEX, "max_num_segments": 1}),
    ("indices.close", {"index": INDEX}),
    ("search", {"index": INDEX, "body": {"query": {"match": {"text": "cat"}}}}),
    ("indices.open", {"index": INDEX}),
    ("cluster.health", {"index": INDEX, "wait_for_status": "yellow"}),
    ("cat.count", {"index": INDEX, "h": "count"}),
    ("cat.aliases", {"format": "yaml", "name": INDEX}),
    ("cat.help", {}),
    ("tasks.get", {"task_id": "none:1"}),
    ("ingest.put_pipeline", {"id": INDEX, "body": {"processors": []}}),
    ("ingest.delete_pipeline", {"id": INDEX}),
    ("clear_scroll", {"scroll_id": "none"}),
    ("scroll", {"scroll_id": "none"}),
    ("delete", {"index": INDEX, "id": "7", "refresh": True}),
    ("delete", {"index": INDEX, "id": "7"}),
]  # fmt: skip


def actions() -> Iterator[dict[str, Any]]:
    for n in range(N_DOCUMENTS):
        yield {"_index": INDEX, "_id": f"bulk-{n}", "_source": {"text": "cat " * (n % 7), "n": n}}


# Neither by score, which counts deleted documents until the engine merges their segments, nor in the segments' order.
_IN_ORDER: dict[str, Any] = {"query": {"match": {"text": "cat"}}, "sort": ["n", "tag"]}


def _scan(client: Any, helpers: Any) -> Any:
    return [hit["_id"] for hit in helpers.scan(client, index=INDEX, query=_IN_ORDER, size=7, preserve_order=True)]


def _bulk(client: Any, helpers: Any) -> Any:
    return helpers.bulk(client, actions(), chunk_size=13, refresh=True)


def _bulk_with_errors(client: Any, helpers: Any) -> Any:
    wrong = {"_index": INDEX, "_id": "wrong", "_source": {"n": "no number"}}
    return helpers.bulk(client, [*actions(), wrong], raise_on_error=False, stats_only=False)


def _bulk_that_raises(client: Any, helpers: Any) -> Any:
    return helpers.bulk(client, [{"_index": INDEX, "_id": "wrong", "_source": {"n": "no number"}}])


def _streaming_bulk(client: Any, helpers: Any) -> Any:
    return list(helpers.streaming_bulk(client, actions(), chunk_size=25, refresh=True))


def _parallel_bulk(client: Any, helpers: Any) -> Any:
    done = helpers.parallel_bulk(client, actions(), thread_count=3, chunk_size=10, refresh=True)
    return sorted((item["index"]["_id"], is_ok, item["index"]["status"]) for is_ok, item in done)


def _reindex(client: Any, helpers: Any) -> Any:
    everything = {**_IN_ORDER, "query": {"match_all": {}}}
    options = {"scan_kwargs": {"preserve_order": True}, "bulk_kwargs": {"refresh": True}}
    return helpers.reindex(client, INDEX, COPY, query=everything, chunk_size=17, **options)


HELPERS: dict[str, Callable[[Any, Any], Any]] = {
    "bulk": _bulk,
    "bulk_with_errors": _bulk_with_errors,
    "bulk_that_raises": _bulk_that_raises,
    "scan": _scan,
    "streaming_bulk": _streaming_bulk,
    "reindex": _reindex,
    "parallel_bulk": _parallel_bulk,  # the last: what follows it would meet the documents in any order
}
