"""Who is let in by a key, where it may stand, and what becomes of it."""

from __future__ import annotations

import base64
import hashlib
import logging
import os
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient

from reranker.api.api_keys import ApiKeys
from reranker.api.app import create_app
from reranker.base.errors import BadInput, NotFound, StoreUnavailable
from reranker.embeddings import Embeddings
from reranker.service.key_file import add_key, read_keys, remove_key
from reranker.service.service import EXTENSION
from reranker.service.settings import Settings
from reranker.stores.base.protocol import Store
from tests.stores.fake_engine import serve
from tests.support.waiting import PATIENCE_S

MakeApp = Callable[[Settings, Store | None], Flask]
RERANK = {"query": "cat", "documents": ["a cat", "a car"]}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "keys"


@pytest.fixture
def key(file: Path) -> str:
    return add_key(file, "shop")


@pytest.fixture
def client(make_app: MakeApp, file: Path, key: str) -> FlaskClient:
    return make_app(Settings(api_keys=file, store=str(file.parent), threads=1), None).test_client()


def _basic(password: str) -> str:
    return "Basic " + base64.b64encode(f"anyone:{password}".encode()).decode()


def test_a_changed_file_keeps_its_owner_and_rights(file: Path, key: str) -> None:
    file.chmod(0o640)
    if os.geteuid() == 0:
        os.chown(file, 65_534, 65_534)
    before = file.stat()
    add_key(file, "page")
    remove_key(file, "shop")
    after = file.stat()
    assert (after.st_ino, after.st_uid, after.st_gid) == (before.st_ino, before.st_uid, before.st_gid)
    assert stat.S_IMODE(after.st_mode) == 0o640


def test_a_removed_key_leaves_the_others_lines_where_they_were(file: Path, key: str) -> None:
    file.write_text(f"# ours\n\nhand {'0' * 64}\n{file.read_text().strip()}")
    add_key(file, "page")
    before = file.read_text().splitlines()
    remove_key(file, "shop")
    after = file.read_text().splitlines()
    assert [line for line in after if line in before] == [*before[:3], before[4]]
    assert after[3].rstrip() == "# removed shop"
    assert hashlib.sha256(key.encode()).hexdigest() not in file.read_text()
    assert sorted(read_keys(file).values()) == ["hand", "page"]
    add_key(file, "shop")


def test_keys_that_are_added_and_removed_at_once_are_all_kept(file: Path) -> None:
    names = [f"key-{n}" for n in range(12)]
    for name in range(6):
        add_key(file, f"old-{name}")
    with ThreadPoolExecutor(12) as pool:
        gone = [pool.submit(remove_key, file, f"old-{name}") for name in range(6)]
        made = list(pool.map(lambda name: add_key(file, name), names))
    assert [one.result() for one in gone] == [None] * 6
    assert sorted(read_keys(file).values()) == sorted(names)
    assert len(set(made)) == 12


@pytest.mark.parametrize("scheme", ["Bearer {}", "bearer {}", "{}"])
def test_the_clients_of_rerank_apis_are_let_in(client: FlaskClient, key: str, scheme: str) -> None:
    answer = client.post("/v2/rerank", json=RERANK, headers={"Authorization": scheme.format(key)})
    assert answer.status_code == 200


def test_a_key_comes_in_its_own_header_or_as_a_browsers_password(client: FlaskClient, key: str) -> None:
    for headers in ({"X-Api-Key": key}, {"Authorization": _basic(key)}):
        assert client.post("/v1/rerank", json=RERANK, headers=headers).status_code == 200
        assert client.get("/-/ui", headers=headers).status_code == 200


@pytest.mark.parametrize(
    ("method", "path"),
    [
        *(
            ("POST", path)
            for path in ("/v1/search", "/v1/explain", "/v1/matches", "/v1/rerank", "/v2/rerank", "/rerank")
        ),
        *(("GET", path) for path in ("/-/ui", "/-/metrics", "/-/openapi.json", "/", "/pages/_search", "/nothing")),
    ],
)
def test_nobody_is_let_in_without_a_key_of_the_file(client: FlaskClient, key: str, method: str, path: str) -> None:
    wrong = key[:-1] + ("A" if key[-1] != "A" else "B")
    for headers in ({}, {"X-Api-Key": "x"}, {"Authorization": f"Bearer {wrong}"}, {"Authorization": _basic(wrong)}):
        answer = client.open(path, method=method, json=RERANK, headers=headers)
        assert answer.status_code == 401
        assert answer.headers["WWW-Authenticate"].startswith('Basic realm="Sinkrank')
        assert "X-Api-Key" in answer.text
        assert wrong not in answer.text


def test_who_is_not_let_in_is_refused_while_all_slots_are_taken(make_app: MakeApp, file: Path, key: str) -> None:
    client = make_app(Settings(api_keys=file, store=str(file.parent), workers=1), None).test_client()
    slots = client.application.extensions[EXTENSION].slots
    slots.acquire()
    with ThreadPoolExecutor(1) as pool:
        refused = pool.submit(client.post, "/v1/rerank", json=RERANK)
        try:
            assert refused.result(PATIENCE_S).status_code == 401
        finally:
            slots.release()


def test_what_needs_no_key(client: FlaskClient) -> None:
    assert client.get("/-/live").status_code == 200
    assert client.get("/-/ready").status_code == 200
    with client.get("/-/static/page.js") as script:
        assert script.status_code == 200


def test_an_engine_gets_its_own_credentials_and_never_a_key(embeddings: Embeddings, file: Path, key: str) -> None:
    with serve(lambda *request: (200, {"hits": {"hits": []}})) as node:
        client = create_app(Settings(api_keys=file, store=node.address), None, embeddings).test_client()
        engines = "Basic YW5uYTpzZWNyZXQ="
        for path in ("/_cat/indices", "/pages/_search"):
            for headers in (
                {"X-Api-Key": key, "Authorization": engines},
                {"X-Api-Key": "wrong", "Authorization": f"Bearer {key}"},
                {"Authorization": _basic(key)},
            ):
                assert client.get(path, headers=headers).status_code == 200
        refused = client.get("/_cat/indices", headers={"Authorization": engines})
        assert refused.status_code == 401
        assert refused.get_json()["error"]["type"] == "unauthenticated"
        assert [sent.get("authorization") for sent in node.headers] == [engines, None, None] * 2
        assert not any("x-api-key" in sent or key in str(sent) for sent in node.headers)


def test_keys_are_changed_without_a_restart(file: Path, key: str) -> None:
    now = [0.0]
    keys = ApiKeys(file, clock=lambda: now[0])
    assert keys.name_of(key) == "shop"
    other = add_key(file, "page")
    remove_key(file, "shop")
    now[0] += 2.0
    assert (keys.name_of(key), keys.name_of(other)) == (None, "page")


@pytest.mark.parametrize("loss", ["removed", "broken"])
def test_nobody_is_let_in_while_the_file_is_lost(
    file: Path, key: str, loss: str, caplog: pytest.LogCaptureFixture
) -> None:
    now = [0.0]
    keys = ApiKeys(file, clock=lambda: now[0])
    before = file.read_text()
    file.unlink() if loss == "removed" else file.write_text("shop plain-text-secret\n")
    for _ in range(2):
        now[0] += 2.0
        with pytest.raises(StoreUnavailable):
            keys.name_of(key)
    assert [record.levelno for record in caplog.records] == [logging.ERROR]
    assert "plain-text-secret" not in caplog.text
    file.write_text(before)
    now[0] += 2.0
    assert keys.name_of(key) == "shop"


def test_a_service_does_not_start_without_its_file_of_keys(make_app: MakeApp, file: Path) -> None:
    with pytest.raises(NotFound, match="sinkrank keys add"):
        make_app(Settings(api_keys=file), None)
    file.write_text("shop plain-text-secret\n")
    with pytest.raises(BadInput, match="line 1 is not an API key"):
        make_app(Settings(api_keys=file), None)


def test_the_log_has_the_name_of_a_key_and_not_the_key(
    client: FlaskClient, key: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        client.post("/v1/rerank", json=RERANK, headers={"X-Api-Key": key})
    (record,) = [record for record in caplog.records if record.name == "sinkrank.access"]
    assert record.fields["api_key"] == "shop"  # type: ignore[attr-defined]
    assert key not in str([vars(one) for one in caplog.records])


def test_a_key_is_enough_to_weigh_texts_as_an_index_does(embeddings: Embeddings, file: Path, key: str) -> None:
    """A search pipeline has a key, and no user of the engine; the texts are its own."""
    from tests.api.test_callers import engine

    with engine(embeddings) as (node, store, _):
        settings = Settings(api_keys=file, store=node.address, store_username="service", threads=1)
        client = create_app(settings, store, embeddings).test_client()
        body = {**RERANK, "index": "docs"}
        assert client.post("/v1/rerank", json=body, headers={"X-Api-Key": key}).status_code == 200
        wrong = {"X-Api-Key": key, "Authorization": "Negotiate YII="}
        assert client.post("/v1/rerank", json=body, headers=wrong).status_code == 401
        search = client.post("/v1/search", json={"query": "cat", "index": "docs"}, headers={"X-Api-Key": key})
        assert search.status_code == 401
