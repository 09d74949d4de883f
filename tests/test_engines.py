"""The engines that other tests rely on: they start, search, say what is missing, and leave nothing behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import urllib3

from tests.engines.errors import EngineUnavailable
from tests.engines.nodes import Node, start_node, start_nodes
from tests.engines.sources import Engine, chosen_engines, is_assembled

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = {
    "east": {"text": "the sun rises", "vector": [1.0, 0.0, 0.0]},
    "between": {"text": "a cloud passes", "vector": [0.5, 0.5, 0.0]},
    "up": {"text": "a star and the sun", "vector": [0.0, 0.0, 1.0]},
}


def call(url: str, method: str, path: str, body: object = None) -> Any:
    """The engine's JSON answer to a JSON body; AssertionError shows an answer that is not a success."""
    content = body if body is None or isinstance(body, str) else json.dumps(body)
    headers = {"Content-Type": "application/json"}
    answer = urllib3.request(method, f"{url}{path}", body=content, headers=headers, timeout=60, retries=False)
    assert answer.status < 300, answer.data.decode()
    return answer.json()


def index_body(distribution: str) -> dict[str, Any]:
    if distribution == "elasticsearch":
        # By default the vectors would be rounded to bytes, and the scores with them.
        exact = {"type": "hnsw"}
        vector = {"type": "dense_vector", "dims": 3, "similarity": "cosine", "index_options": exact}
        return {"mappings": {"properties": {"text": {"type": "text"}, "vector": vector}}}
    method = {"name": "hnsw", "engine": "lucene", "space_type": "cosinesimil"}
    vector = {"type": "knn_vector", "dimension": 3, "method": method}
    mappings = {"properties": {"text": {"type": "text"}, "vector": vector}}
    return {"settings": {"index.knn": True}, "mappings": mappings}


def knn_body(distribution: str, vector: list[float], k: int) -> dict[str, Any]:
    if distribution == "elasticsearch":
        return {"knn": {"field": "vector", "query_vector": vector, "k": k, "num_candidates": 10}}
    return {"size": k, "query": {"knn": {"vector": {"vector": vector, "k": k}}}}


@pytest.fixture(scope="module")
def index_url(engine: Engine) -> Any:
    """The address of an index of the three documents, removed at the end."""
    url = f"{engine.url}/sinkrank-test-engines-{os.getpid()}"
    call(url, "PUT", "", index_body(engine.distribution))
    lines = [line for name, source in DOCUMENTS.items() for line in ({"index": {"_id": name}}, source)]
    answer = call(url, "POST", "/_bulk?refresh=true", "".join(json.dumps(line) + "\n" for line in lines))
    assert answer["errors"] is False
    yield url
    call(url, "DELETE", "")


def hit_ids(answer: Any) -> list[str]:
    return [hit["_id"] for hit in answer["hits"]["hits"]]


def test_cluster_health_answers(engine: Engine) -> None:
    assert call(engine.url, "GET", "/_cluster/health")["status"] in {"green", "yellow"}


def test_knn_returns_the_nearest_documents_first(engine: Engine, index_url: str) -> None:
    answer = call(index_url, "POST", "/_search", knn_body(engine.distribution, [1.0, 0.0, 0.0], 2))

    assert hit_ids(answer) == ["east", "between"]
    # Both engines score a cosine as (1 + cosine) / 2; 45 degrees lie between the second and the query.
    assert [hit["_score"] for hit in answer["hits"]["hits"]] == pytest.approx([1.0, (1 + 0.5**0.5) / 2], abs=1e-6)


def test_match_finds_the_documents_with_the_word(index_url: str) -> None:
    assert sorted(hit_ids(call(index_url, "POST", "/_search", {"query": {"match": {"text": "sun"}}}))) == [
        "east",
        "up",
    ]


def test_mtermvectors_gives_terms_and_their_document_frequency(index_url: str) -> None:
    body = {"ids": ["east"], "parameters": {"fields": ["text"], "term_statistics": True}}
    (document,) = call(index_url, "POST", "/_mtermvectors", body)["docs"]
    terms = document["term_vectors"]["text"]["terms"]

    assert {term: terms[term]["term_freq"] for term in terms} == {"the": 1, "sun": 1, "rises": 1}
    assert {term: terms[term]["doc_freq"] for term in terms} == {"the": 2, "sun": 2, "rises": 1}


def test_the_engine_is_of_the_version_it_is_named_for(engine: Engine) -> None:
    nodes = call(engine.url, "GET", "/_nodes/_local?filter_path=nodes.*.version")["nodes"]
    assert [node["version"] for node in nodes.values()] == [engine.version]
    assert engine.name == f"{engine.distribution}-{engine.version}"


@pytest.fixture
def own_engine() -> str:
    """An engine whose nodes are of our own making here."""
    name = chosen_engines()[0]
    if not is_assembled(name):
        pytest.skip(f"{name} comes from a URL or from Docker here, so no node of ours is used")
    return name


@pytest.mark.engine
def test_a_node_and_its_folder_are_gone_after_the_context(own_engine: str) -> None:
    started: list[Node] = []

    def fail_while_it_runs() -> None:
        with start_node(own_engine) as node:
            assert node.folder.exists()
            started.append(node)
            raise KeyError("from the body")

    with pytest.raises(KeyError, match="from the body"):
        fail_while_it_runs()

    (node,) = started
    assert node.process.returncode is not None
    assert is_gone(node.pid)
    assert not node.folder.exists()


@pytest.mark.engine
def test_a_node_is_gone_after_its_parent_was_killed(own_engine: str, tmp_path: Path) -> None:
    script = (
        "import time\nfrom tests.engines.nodes import Node, start_node\n"
        f"with start_node({own_engine!r}) as node:\n    print(node.pid, flush=True)\n    time.sleep(600)\n"
    )
    # What the killed process leaves in its temporary folder goes with the test's.
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen([sys.executable, "-c", script], cwd=ROOT, env=environment, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert not is_gone(pid)
        parent.send_signal(signal.SIGKILL)

    wait_until(lambda: is_gone(pid), 20)


@pytest.mark.engine
def test_two_nodes_run_at_once_from_one_home(own_engine: str) -> None:
    with start_nodes(own_engine, own_engine) as (one, other):
        assert one.url != other.url
        call(one.url, "PUT", "/only-here")
        assert "only-here" not in call(other.url, "GET", "/_cluster/state/metadata")["metadata"]["indices"]


@pytest.mark.engine
def test_a_node_that_fails_to_start_shows_the_end_of_its_log(own_engine: str) -> None:
    with (
        pytest.raises(EngineUnavailable, match=r"(?s)ended with code 1.*no\.such\.setting"),
        start_node(own_engine, settings={"no.such.setting": True}),
    ):
        pass


def is_gone(pid: int) -> bool:
    """Whether no such process runs; one that is dead and only not yet waited for counts as gone."""
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return state.strip() == "" or state.strip().startswith("Z")


def wait_until(condition: Callable[[], bool], limit_s: float) -> None:
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline, f"not so after {limit_s} s"
        time.sleep(0.1)
