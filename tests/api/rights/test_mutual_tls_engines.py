"""Ingest, search and proxy with a node that answers only clients with a certificate of its authority."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from reranker.api.app import create_app
from reranker.embeddings import Embeddings
from reranker.service.settings import Settings
from sinkrank.commands.app import app as command_line
from sinkrank.console.resources import opened_store
from tests.api.rights.conftest import DOCUMENTS
from tests.support.engines.security import SecuredNode, authorization
from tests.support.tiny import tiny_embeddings


def test_documents_are_ingested_searched_and_proxied_over_mutual_tls(
    secured_node: SecuredNode, writing: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    home = tmp_path / "home"
    embeddings: Embeddings = tiny_embeddings(home / "embeddings")
    rows = [{"id": one.doc_id, "language": one.language, "title": one.title, "text": one.text} for one in DOCUMENTS]
    (tmp_path / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    for name, value in writing.items():
        monkeypatch.setenv(f"SINKRANK_{name.upper()}", str(value))
    run = CliRunner().invoke(
        command_line, ["ingest", "rows.jsonl", "--home", str(home), "--index", "mutual"], prog_name="sinkrank"
    )
    assert run.exit_code == 0, run.stderr
    _, counted = secured_node.request("GET", "/mutual/_count")
    assert counted["count"] == len(DOCUMENTS)
    settings = Settings(home=home, **writing)
    with opened_store(settings) as store:
        client = create_app(settings, store, embeddings).test_client()
        ours = client.post("/v1/search", json={"query": "cat", "index": "mutual"}, headers=authorization("service"))
        assert ours.get_json()["n_candidates"] == len(DOCUMENTS)
        passed = client.get("/mutual/_search", headers=authorization("service"))
        assert passed.get_json()["hits"]["total"]["value"] == len(DOCUMENTS)
        store.drop("mutual")
