"""No secret stands in what commands and routes print and log, wherever it was given."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import SecretStr

from ingest.documents import Layout
from reranker.api.app import create_app
from reranker.base.errors import WrongParameter
from reranker.service.settings import Settings
from reranker.stores import EngineAccess, open_store
from sinkrank.console.document_sources import index_to_read
from tests.support.commands import Run
from tests.support.listening import closed_port
from tests.support.tiny import tiny_embeddings

SECRET = "geheim"


@pytest.fixture
def down(home: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of an engine that is down, with secrets in the environment and in files."""
    address = f"127.0.0.1:{closed_port()}"
    (home / "key").write_text(f"{SECRET}-key")
    (home / "key").chmod(0o600)
    monkeypatch.setenv("SINKRANK_STORE_PASSWORD_FILE", str(home / "key"))
    monkeypatch.setenv("SINKRANK_STORE", f"http://me:{SECRET}-node@{address}")
    return address


@pytest.mark.parametrize(
    "arguments",
    [
        ["serve", "--print-settings"],
        ["serve", "--print-settings", "--json"],
        ["doctor", "--quick", "--json"],
        ["doctor", "--quick"],
        ["--debug", "search", "cat", "--index", "docs"],
        ["ingest", "rollback", "--index", "docs"],
    ],
    ids=" ".join,
)
def test_no_command_shows_a_secret(down: str, run: Run, arguments: list[str], caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        result = run(*arguments, "--store", f"opensearch://me:{SECRET}-store@{down}", exits=None)
    assert down in f"{result.output}{result.exception}"
    assert SECRET not in f"{result.output}{result.exception}{caplog.text}"


@pytest.mark.parametrize("path", ["live", "ready", "metrics", "openapi.json", "ui"])
def test_no_route_of_ours_shows_a_secret(tmp_path: Path, path: str, caplog: pytest.LogCaptureFixture) -> None:
    address = f"http://me:{SECRET}-store@127.0.0.1:{closed_port()}"
    settings = Settings(home=tmp_path, store=address, store_password=SecretStr(f"{SECRET}-password"))
    store = open_store(address, password=f"{SECRET}-password", access=EngineAccess(), timeout_s=1)
    app = create_app(settings, store, tiny_embeddings(tmp_path / "embeddings"))
    with caplog.at_level(logging.DEBUG):
        client = app.test_client()
        answers = [client.get(f"/-/{path}"), client.post("/v1/search", json={"query": "cat", "index": "docs"})]
    assert all(answer.data for answer in answers)
    assert SECRET not in "".join(answer.text for answer in answers) + caplog.text


@pytest.mark.slow
def test_a_password_in_an_argument_is_warned_of_once_and_not_shown(down: str) -> None:
    command = ["search", "cat", "--index", "docs", "--store", f"opensearch://me:{SECRET}@{down}"]
    result = subprocess.run([sys.executable, "-m", "sinkrank", *command], capture_output=True, text=True, timeout=120)
    assert result.stderr.count("can see in the list of processes") == 1
    assert SECRET not in result.stdout + result.stderr


def test_an_index_to_read_takes_the_credentials_that_netrc_has_for_its_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "netrc"
    file.write_text(f"machine old login me password {SECRET}\n")
    monkeypatch.setenv("NETRC", str(file))
    address = index_to_read("http://old:9200/pages", Layout()).address
    assert (address.username, address.password) == ("me", SECRET)
    assert SECRET not in repr(address)
    named = index_to_read("http://you:own@old:9200/pages", Layout()).address
    assert (named.username, named.password) == ("you", "own")
    assert index_to_read("http://other:9200/pages", Layout()).address.username is None
    file.write_text("machine\n")
    with pytest.raises(WrongParameter, match=r"netrc, line \d"):
        index_to_read("http://old:9200/pages", Layout())
    monkeypatch.setenv("NETRC", str(tmp_path / "gone"))
    assert index_to_read("http://old:9200/pages", Layout()).address.username is None
