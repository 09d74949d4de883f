"""`sinkrank serve` in front of a real engine before there are embeddings."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import urllib3

from tests.commands.test_serve import serving
from tests.support.commands import MakeForeign, Run
from tests.support.engines.sources import Engine
from tests.support.tiny import tiny_embeddings

pytestmark = [pytest.mark.any_engine, pytest.mark.engine]

SEARCH = {"query": {"match": {"text": "chat car cat"}}, "ext": {"rerank": {"method": "rwmd", "language": "en"}}}


@pytest.mark.parametrize(
    "more", [[], pytest.param(["--processes", "2"], marks=pytest.mark.conformance, id="two processes")]
)
def test_it_passes_searches_on_and_takes_up_embeddings_that_are_made_later(
    engine: Engine, make_foreign: MakeForeign, empty_home: Path, more: list[str]
) -> None:
    index = make_foreign({"text": {"type": "text"}}, [{"text": "car cat dog"}, {"text": "cat"}])
    with serving(empty_home, "--store", engine.url, "--index", index, *more) as (_, address):

        def asked() -> tuple[str, str | None]:
            answer = urllib3.request("POST", f"{address}/{index}/_search", json=SEARCH, timeout=60)
            assert answer.status == 200
            assert len(answer.json()["hits"]["hits"]) == 2
            return answer.headers["X-Rerank-Status"], answer.headers.get("X-Rerank-Reason")

        before = asked()
        ready = urllib3.request("GET", f"{address}/-/ready", timeout=60)
        metrics = urllib3.request("GET", f"{address}/-/metrics", timeout=60).data.decode()
        tiny_embeddings(empty_home / ".sinkrank" / "embeddings")
        # Each process looks every two seconds.
        deadline = time.monotonic() + 300
        while (after := asked()[0]) != "applied" and time.monotonic() < deadline:
            time.sleep(0.2)
    assert before == ("fallback", "no_embeddings")
    assert (ready.status, ready.json()["status"]) == (200, "degraded")
    command = f"sinkrank embeddings prepare --store {engine.url} --index {index}"
    assert command in ready.json()["checks"]["embeddings"]["message"]
    assert 'sinkrank_proxy_searches_total{outcome="fallback",reason="no_embeddings"} 1.0' in metrics
    assert after == "applied"


def test_damaged_embeddings_are_an_error_at_the_start(engine: Engine, home: Path, run: Run) -> None:
    (home / ".sinkrank" / "embeddings" / "vectors.npy").write_bytes(b"cut")
    assert "damaged" in run("serve", "--port", "0", "--store", engine.url, exits=1).stderr
