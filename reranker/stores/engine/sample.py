"""Draws a random sample of the documents of any index of an engine, whoever made it.

One search draws the ids (`random_score`, always with the same seed). Then the documents are fetched in pages, whose
length depends on the documents' sizes. The sample ends at the first of three limits: documents, bytes and time.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import opensearchpy

from reranker.stores.base.names import check_any_index_name
from reranker.stores.engine.fields import VECTOR_TYPES, fields_of_types, keeps_source

_SEED = 20_160_406
# At the first of these, the engine stops drawing and returns what it has. The second is for an engine that does not.
_DRAW_TIMEOUT = "2s"
_REQUEST_TIMEOUT_S = 5.0
_BUDGET_S = 20.0
# Until the documents' size is known.
_FIRST_PAGE = 20
_MAX_PAGE = 250
_PAGE_BYTES = 4_000_000
_SAMPLE_BYTES = 32_000_000
# The engine's own limit on a page.
_MAX_HITS = 10_000


def sample_documents(
    client: opensearchpy.OpenSearch,
    index: str,
    fields: Sequence[str],
    n_documents: int,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Mapping[str, Any]]:
    """Yields hits with `_index`, `_id` and, if the index keeps it, `_source`.

    Args:
        index: an index, or an alias of several.
        fields: of `_source`; empty for all but vectors.
        n_documents: at most.

    Raises:
        WrongParameter: no index can have this name.
        opensearchpy.exceptions.OpenSearchException: the engine refuses or does not answer.
    """
    check_any_index_name(index)
    ends_at = clock() + _BUDGET_S
    source = list(fields) or {"excludes": _vectors(client, index)}
    drawn = _draw(client, index, n_documents)
    n_indices = len({name for name, _ in drawn})
    size, n_bytes, n_read = _FIRST_PAGE, 0, 0
    while drawn and n_bytes < _SAMPLE_BYTES and clock() < ends_at:
        page, drawn = drawn[:size], drawn[size:]
        ids = sorted({doc_id for _, doc_id in page})
        # Several indices of an alias may have the same id.
        body = {"query": {"ids": {"values": ids}}, "size": min(_MAX_HITS, len(ids) * n_indices), "_source": source}
        hits = [hit for hit in _search(client, index, body) if _identity(hit) in page]
        yield from hits
        n_bytes += sum(len(json.dumps(hit.get("_source"))) for hit in hits)
        n_read += len(page)
        size = min(_MAX_PAGE, max(1, _PAGE_BYTES * n_read // max(1, n_bytes)))


def _draw(client: opensearchpy.OpenSearch, index: str, n_documents: int) -> list[tuple[str, str]]:
    """Returns the index and id of distinct documents."""
    score = {"query": {"match_all": {}}, "random_score": {"seed": _SEED, "field": "_seq_no"}, "boost_mode": "replace"}
    body = {
        "query": {"function_score": score},
        "size": n_documents,
        "_source": False,
        "track_total_hits": False,
        "timeout": _DRAW_TIMEOUT,
    }
    return list(dict.fromkeys(map(_identity, _search(client, index, body))))


def _identity(hit: Mapping[str, Any]) -> tuple[str, str]:
    return str(hit["_index"]), str(hit["_id"])


def _vectors(client: opensearchpy.OpenSearch, index: str) -> list[str]:
    """Returns the fields of `_source` with vectors, which are large and hold no text."""
    answer = client.indices.get_mapping(index=index, request_timeout=_REQUEST_TIMEOUT_S)
    mappings_with_source = [one["mappings"] for one in answer.values() if keeps_source(one["mappings"])]
    return sorted({name for mappings in mappings_with_source for name in fields_of_types(mappings, VECTOR_TYPES)})


def _search(client: opensearchpy.OpenSearch, index: str, body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    hits: list[Mapping[str, Any]] = client.search(index=index, body=body, request_timeout=_REQUEST_TIMEOUT_S)["hits"][
        "hits"
    ]
    return hits
