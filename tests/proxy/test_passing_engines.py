"""What is not a search passes to real engines and back: any form, any compression, any length."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator

import pytest
import urllib3

from tests.support.calls import ndjson
from tests.support.engines.sources import Engine

pytestmark = pytest.mark.engine


def bulk(name: str, n: int) -> bytes:
    return ndjson(
        *(line for number in range(n) for line in ({"index": {"_index": name, "_id": str(number)}}, {"n": number}))
    )


@pytest.mark.parametrize("is_gzipped", [False, True])
@pytest.mark.parametrize("is_chunked", [False, True])
def test_a_bulk_comes_as_it_was_sent(
    http: urllib3.PoolManager, engine: Engine, url: str, index_name: str, is_gzipped: bool, is_chunked: bool
) -> None:
    body = bulk(index_name, 2_000)
    headers = {"Content-Type": "application/x-ndjson"}
    if is_gzipped:
        body, headers = gzip.compress(body), {**headers, "Content-Encoding": "gzip"}

    def blocks() -> Iterator[bytes]:
        for start in range(0, len(body), 10_000):
            yield body[start : start + 10_000]

    answer = http.request("POST", f"{url}/_bulk?refresh=true", body=blocks() if is_chunked else body, headers=headers)
    assert (answer.status, answer.json()["errors"]) == (200, False), answer.data[:300]
    assert http.request("GET", f"{engine.url}/{index_name}/_count").json()["count"] == 2_000


@pytest.mark.parametrize("kind", ["application/json", "application/yaml", "application/cbor", "application/smile"])
@pytest.mark.parametrize("encoding", ["identity", "gzip"])
def test_an_answer_comes_as_it_was_given(
    http: urllib3.PoolManager, engine: Engine, url: str, index_name: str, kind: str, encoding: str
) -> None:
    document = {"text": "word " * 1_000}
    http.request("PUT", f"{engine.url}/{index_name}/_doc/1?refresh=true", json=document)
    headers = {"Accept": kind, "Accept-Encoding": encoding, "X-Opaque-Id": "42"}
    direct, answer = (
        http.request("GET", f"{where}/{index_name}/_doc/1", headers=headers, decode_content=False)
        for where in (engine.url, url)
    )
    assert (answer.status, answer.data) == (direct.status, direct.data)
    for name in ("Content-Type", "Content-Encoding", "X-Opaque-Id", "X-Elastic-Product"):
        assert answer.headers.get(name) == direct.headers.get(name)
    if encoding == "gzip" and kind == "application/json":
        assert json.loads(gzip.decompress(answer.data))["_source"] == document


def test_a_document_in_cbor_comes_as_it_was_sent(
    http: urllib3.PoolManager, engine: Engine, url: str, index_name: str
) -> None:
    # {"n": 7} in CBOR (RFC 8949): a map of one pair, a text of one letter, a small integer.
    body = b"\xa1\x61n\x07"
    answer = http.request(
        "PUT", f"{url}/{index_name}/_doc/1?refresh=true", body=body, headers={"Content-Type": "application/cbor"}
    )
    assert answer.status == 201, answer.data
    assert http.request("GET", f"{engine.url}/{index_name}/_doc/1").json()["_source"] == {"n": 7}


def test_a_scroll_a_point_in_time_and_a_delete_by_query_pass(
    http: urllib3.PoolManager, engine: Engine, url: str, index_name: str
) -> None:
    headers = {"Content-Type": "application/x-ndjson"}
    http.request("POST", f"{engine.url}/_bulk?refresh=true", body=bulk(index_name, 5), headers=headers)
    page = http.request("POST", f"{url}/{index_name}/_search?scroll=1m", json={"size": 2}).json()
    seen = [hit["_id"] for hit in page["hits"]["hits"]]
    while page["hits"]["hits"]:
        page = http.request(
            "POST", f"{url}/_search/scroll", json={"scroll": "1m", "scroll_id": page["_scroll_id"]}
        ).json()
        seen += [hit["_id"] for hit in page["hits"]["hits"]]
    assert sorted(seen) == ["0", "1", "2", "3", "4"]
    assert http.request("DELETE", f"{url}/_search/scroll", json={"scroll_id": page["_scroll_id"]}).status == 200
    path = "_pit?keep_alive=1m" if engine.distribution == "elasticsearch" else "_search/point_in_time?keep_alive=1m"
    opened = http.request("POST", f"{url}/{index_name}/{path}").json()
    pit = {"id": opened.get("id") or opened["pit_id"], "keep_alive": "1m"}
    answer = http.request(
        "POST", f"{url}/_search", json={"pit": pit, "sort": ["n"], "size": 3, "query": {"match_all": {}}}
    )
    assert answer.headers["X-Rerank-Reason"] == "point_in_time"
    assert [hit["_id"] for hit in answer.json()["hits"]["hits"]] == ["0", "1", "2"]
    if engine.distribution == "opensearch":  # Elasticsearch's server alone has no module for it
        deleted = http.request(
            "POST", f"{url}/{index_name}/_delete_by_query?refresh=true", json={"query": {"range": {"n": {"gte": 3}}}}
        )
        assert deleted.json()["deleted"] == 2
