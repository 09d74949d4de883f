"""The proxy in front of a node that demands a client certificate."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from reranker.api.app import create_app
from reranker.base.errors import BadInput
from reranker.embeddings import Embeddings
from reranker.service.settings import Settings
from tests.stores.fake_engine import FakeEngine, serve
from tests.support.tls_server import certificates, demanding_client

__all__ = ["certificates"]

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificates")

HITS = {"took": 1, "timed_out": False, "hits": {"total": {"value": 0, "relation": "eq"}, "max_score": None, "hits": []}}


def _settings(node: FakeEngine, certificates: Path, **more: Any) -> Settings:
    return Settings(store=node.address, store_ca_certs=certificates / "ca.pem", **more)


@pytest.mark.parametrize("is_one_file", [False, True])
def test_a_node_with_mutual_tls_is_shown_the_client_certificate(
    certificates: Path, embeddings: Embeddings, tmp_path: Path, is_one_file: bool
) -> None:
    own, key = certificates / "client.pem", certificates / "client.key"
    both = tmp_path / "both.pem"
    both.write_text(own.read_text() + key.read_text())
    mine: dict[str, Any] = {"store_client_cert": both} if is_one_file else {"store_client_cert": own}
    if not is_one_file:
        mine["store_client_key"] = key
    with serve(lambda *request: (200, HITS), demanding_client(certificates)) as node:
        client = create_app(_settings(node, certificates, **mine), None, embeddings).test_client()
        assert client.get("/_cat/indices").status_code == 200
        search = client.post("/pages/_search", json={"query": {"match": {"body": "cat"}}})
        assert (search.status_code, search.get_json()) == (200, HITS)


def test_a_certificate_that_cannot_be_used_is_told_at_the_start(
    certificates: Path, embeddings: Embeddings, tmp_path: Path
) -> None:
    own, key, locked = certificates / "client.pem", certificates / "client.key", tmp_path / "locked.key"
    subprocess.run(
        ["openssl", "pkey", "-aes256", "-passout", "pass:abc", "-in", str(key), "-out", str(locked)],
        check=True,
        capture_output=True,
    )
    text = tmp_path / "text.pem"
    text.write_text("no PEM")
    cases: list[tuple[dict[str, Path], str]] = [
        ({"store_client_cert": tmp_path / "none.pem"}, "store_client_cert '.*none.pem' cannot be used .No such file"),
        ({"store_client_cert": text}, "store_client_cert '.*text.pem' cannot be used"),
        ({"store_client_cert": own, "store_client_key": certificates / "node.key"}, "key values mismatch"),
        ({"store_client_cert": own, "store_client_key": locked}, "encrypted; give a key without a passphrase"),
        ({"store_ca_certs": text}, "store_ca_certs '.*text.pem' cannot be used"),
    ]
    for wrong, words in cases:
        with pytest.raises(BadInput, match=words):
            create_app(Settings(store="https://127.0.0.1:9", **wrong), None, embeddings)
