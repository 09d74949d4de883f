"""Words of a real index that is not ours are weighed by how rare they are there."""

from __future__ import annotations

from typing import Any

import pytest
import urllib3

from reranker.proxy import Proxy
from tests.support.calls import hits, make_index, post
from tests.support.engines.sources import Engine

pytestmark = pytest.mark.engine

# Nearly every document is about cats, so that "cat" says little: 59 of 60 hold it, and 1 holds "bread".
TEXTS = ["bread", *["cat"] * 59]
QUERY = {
    "query": {"terms": {"n": [0, 1]}},
    "sort": ["_score"],
    "ext": {"rerank": {"query_context": {"query_text": "cat cat bread"}, "language": "en", "method": "emd"}},
}


@pytest.fixture
def cats(engine: Engine, http: urllib3.PoolManager, index_name: str) -> str:
    documents = [{"text": text, "n": n, "other": "water"} for n, text in enumerate(TEXTS)]
    make_index(http, engine.url, index_name, {"n": {"type": "integer"}}, documents)
    return index_name


def found(http: urllib3.PoolManager, url: str, index: str, **ext: Any) -> list[str]:
    body = {**QUERY, "ext": {"rerank": {**QUERY["ext"]["rerank"], **ext}}}  # type: ignore[index]
    answer = post(http, f"{url}/{index}/_search", body)
    assert answer.headers["X-Rerank-Status"] == "applied"
    return [hit["_source"]["text"] for hit in hits(answer)]


def test_rare_words_weigh_more_once_the_index_is_known(
    http: urllib3.PoolManager, url: str, proxy: Proxy, cats: str
) -> None:
    assert found(http, url, cats) == ["cat", "bread"]  # by counts alone: two words of three are "cat"
    assert proxy.ranking.statistics.wait(30)
    assert proxy.ranking.statistics.languages(cats) == {"en": 1.0}
    assert found(http, url, cats) == ["bread", "cat"]
    # In other fields the words are others.
    assert found(http, url, cats, text_fields=["text"]) == ["cat", "bread"]
    assert proxy.ranking.statistics.wait(30)
    assert found(http, url, cats, text_fields=["text"]) == ["bread", "cat"]
