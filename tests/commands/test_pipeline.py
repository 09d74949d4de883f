"""`sinkrank pipeline` on a real OpenSearch with ml-commons, and what it says where it cannot do it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import urllib3

from tests.stores.fake_engine import serve
from tests.support.commands import Run

INDEX = f"piped-{os.getpid()}"


@pytest.fixture
def service_url() -> Iterator[str]:
    with serve(lambda *_: (200, {"results": [{"index": 0, "relevance_score": 0.5}]})) as fake:
        yield fake.address


@pytest.fixture
def store(opensearch_2_ml_url: str) -> Iterator[str]:
    """The address of an engine with an index that others made."""

    def call(method: str, path: str, body: Any = None) -> None:
        answer = urllib3.request(method, f"{opensearch_2_ml_url}{path}", json=body, retries=False)
        assert answer.status < 300, answer.data

    call("PUT", f"/{INDEX}", {"mappings": {"properties": {"title": {"type": "text"}, "text": {"type": "text"}}}})
    yield opensearch_2_ml_url.replace("http://", "opensearch://")
    call("DELETE", f"/{INDEX}")
    call("PUT", "/_cluster/settings", {"persistent": {"plugins.ml_commons.*": None}})


def test_a_pipeline_comes_and_goes(empty_home: Path, run: Run, store: str, service_url: str) -> None:
    where = ("--store", store, "--index", INDEX)
    install = ("pipeline", "install", *where, "--service-url", service_url, "--field", "text", "--field", "title")
    refused = run(*install, exits=1)
    assert "trusted_connector_endpoints_regex" in refused.stderr

    settings = {"trusted_connector_endpoints_regex": [".*"], "connector.private_ip_enabled": True}
    body = {"persistent": {f"plugins.ml_commons.{name}": value for name, value in settings.items()}}
    engine = store.replace("opensearch://", "http://")
    assert urllib3.request("PUT", f"{engine}/_cluster/settings", json=body).status == 200
    result = run(*install, "--json")
    installed = json.loads(result.stdout)
    assert (installed["name"], installed["fields"]) == (f"sinkrank-{INDEX}", ["text", "title"])

    again = run(*install)
    assert f"sinkrank-{INDEX}" in again.stdout

    removed = json.loads(run("pipeline", "remove", *where, "--json").stdout)
    assert removed == dict.fromkeys(("search pipeline", "model", "model group", "connector"), 1)
    gone = run("pipeline", "remove", *where)
    assert gone.stdout == (f"removed sinkrank-{INDEX}: nothing was there\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--store", "opensearch://h"], "no index is named"),
        (["--store", "somewhere", "--index", "pages"], "is a folder"),
        (["--store", "opensearch://h", "--index", "pages", "--service-url", "ftp://h"], "http://HOST:PORT"),
    ],
)
def test_wrong_use_is_exit_code_2(empty_home: Path, run: Run, arguments: list[str], words: str) -> None:
    result = run("pipeline", "install", "--service-url", "http://h", *arguments, exits=2)
    assert words in " ".join(result.stderr.split())


def test_credentials_are_in_no_message(empty_home: Path, run: Run) -> None:
    where = ("--store", "opensearch://me:hunter2@127.0.0.1:9", "--index", "pages")
    for arguments in (
        ("install", "--service-url", "http://h"),
        ("install", "--service-url", "http://u:hunter2@h"),
        ("remove",),
    ):
        result = run("pipeline", *arguments, *where, exits=None)
        assert result.exit_code in (1, 2)
        assert "hunter2" not in result.output


def test_a_file_that_holds_no_key_is_refused_without_showing_it(empty_home: Path, run: Run) -> None:
    (empty_home / "key").write_text("not-a-key-of-ours\n")
    where = ("--store", "opensearch://127.0.0.1:9", "--index", "pages", "--service-url", "http://127.0.0.1:8")
    result = run("pipeline", "install", *where, "--api-key-file", "key", exits=2)
    assert "holds no API key" in result.stderr
    assert "not-a-key-of-ours" not in result.output
