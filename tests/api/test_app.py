import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
import urllib3
from flask import Flask
from flask.testing import FlaskClient

from reranker.api.app import create_app
from reranker.base.errors import BadInput, ClientLeft, SinkrankError, StoreUnavailable
from reranker.service.service import EXTENSION
from reranker.service.settings import Settings
from reranker.stores.base.protocol import Store
from tests.support.query_encoder import encoder_files, encoding_embeddings
from tests.support.service import serving
from tests.support.waiting import PATIENCE_S


@pytest.mark.parametrize("wrong", [{"method": "sinkorn"}, {"method": "none"}, {"epsilon": 1e-9}, {"tau": 1e309}])
def test_settings_that_no_request_could_do_with_are_refused_at_the_start(
    make_app: Callable[[Settings, Store | None], Flask], wrong: dict[str, Any]
) -> None:
    with pytest.raises(BadInput, match=next(iter(wrong))):
        make_app(Settings(**wrong), None)


def subclasses(kind: type) -> list[type]:
    return [kind, *(one for below in kind.__subclasses__() for one in subclasses(below))]


@pytest.mark.parametrize("kind", subclasses(SinkrankError))
def test_every_error_of_ours_becomes_json(app: Flask, kind: type[SinkrankError]) -> None:
    def fail() -> None:
        raise kind("told so")

    app.add_url_rule("/-/fail", view_func=fail)
    response = app.test_client().get("/-/fail")
    assert response.status_code == kind.http_status
    assert response.content_type == "application/problem+json"
    assert response.get_json() == {
        "type": f"urn:sinkrank:problem:{kind.code}",
        # nginx's name of a status that is not registered
        "title": "Client Closed Request" if kind is ClientLeft else HTTPStatus(kind.http_status).phrase,
        "status": kind.http_status,
        "detail": "told so",
        "code": kind.code,
    }


def test_an_unexpected_error_is_logged_and_tells_nothing(app: Flask, caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> None:
        raise RuntimeError("secret 1234")

    app.add_url_rule("/-/fail", view_func=fail)
    response = app.test_client().get("/-/fail")
    assert response.status_code == 500
    assert "1234" not in response.text
    assert response.get_json()["code"] == "internal_error"
    assert "secret 1234" in caplog.text


def test_it_is_alive_and_ready(app: Flask) -> None:
    client = app.test_client()
    assert client.get("/-/live").status_code == 200
    found = client.get("/-/ready")
    assert (found.status_code, found.get_json()["status"]) == (200, "ready")
    assert found.get_json()["checks"]["embeddings"]["languages"] == ["en", "fr"]


class Down:
    """A store whose nodes are away."""

    address = "opensearch://localhost:9"

    def __init__(self, away: list[str] | None = None) -> None:
        self._away = away

    def indices(self) -> list[str]:
        raise StoreUnavailable("no node at localhost:9")

    def problems(self) -> list[str]:
        return self.indices() if self._away is None else self._away


def test_a_store_that_does_not_answer_is_not_ready(make_app: Callable[..., Flask], settings: Settings) -> None:
    client = make_app(settings, Down()).test_client()
    response = client.get("/-/ready")
    assert response.status_code == 503
    assert response.get_json()["checks"]["store"] == {"ready": False, "message": "no node at localhost:9"}
    page = client.get("/-/ui")
    assert page.status_code == 200
    assert "no node at localhost:9" in page.text


def test_a_store_without_one_of_its_nodes_is_ready_and_names_it(
    make_app: Callable[..., Flask], settings: Settings
) -> None:
    away = ["nothing answers at opensearch://b:9200"]
    response = make_app(settings, Down(away)).test_client().get("/-/ready")
    assert response.status_code == 200
    assert response.get_json()["checks"]["store"] == {"ready": True, "message": away[0]}


def test_a_service_whose_query_encoder_cannot_be_loaded_is_ready_and_says_so(tmp_path: Path) -> None:
    embeddings = encoding_embeddings(tmp_path / "embeddings", encoder_files(onnx=b"no model"))
    app = create_app(Settings(home=tmp_path, threads=1), None, embeddings)
    app.extensions[EXTENSION].start()
    embeddings.query_encoders[0].begin("", "en").result()
    response = app.test_client().get("/-/ready")
    told = response.get_json()["checks"]["embeddings"]
    assert (response.status_code, told["ready"]) == (200, True)
    assert "queries are not encoded: " in told["message"]


def test_a_service_that_was_told_to_stop_is_not_ready_but_alive(app: Flask) -> None:
    app.extensions[EXTENSION].draining.set()
    client = app.test_client()
    response = client.get("/-/ready")
    assert (response.status_code, response.get_json()["checks"]["running"]) == (503, {"ready": False})
    assert client.get("/-/live").status_code == 200
    assert client.post("/v1/search", json={"query": "cat"}).status_code == 200


@pytest.mark.parametrize("path", ["/pages/_search", "/_search", "/_cat/indices", "/pages"])
def test_without_an_engine_its_paths_say_which_setting_brings_one(client: FlaskClient, path: str) -> None:
    response = client.post(path, json={})
    assert response.status_code == 404
    assert "store opensearch://" in response.get_json()["detail"]


def test_a_wrong_method_names_the_right_one(client: FlaskClient) -> None:
    response = client.get("/v1/search")
    assert response.status_code == 405
    assert "POST" in response.headers["Allow"]
    assert "POST" in response.get_json()["detail"]
    assert client.get("/v1/rerank").get_json().keys() == {"id", "message", "detail"}


def test_the_root_leads_to_the_page(client: FlaskClient) -> None:
    response = client.get("/")
    assert (response.status_code, response.headers["Location"]) == (302, "/-/ui")


def test_the_page_loads_nothing_from_elsewhere(client: FlaskClient) -> None:
    response = client.get("/-/ui")
    policy = response.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http:" not in response.text.replace("http-equiv", "")
    assert "https:" not in response.text
    assert "<script>" not in response.text
    assert "style=" not in response.text
    assert "onclick" not in response.text
    for name in ("page.css", "page.js"):
        assert f"/-/static/{name}" in response.text
        with client.get(f"/-/static/{name}") as answer:
            assert answer.status_code == 200
            assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_the_scripts_write_text_only() -> None:
    from pathlib import Path

    import reranker.api.page as page

    scripts = list((Path(page.__file__).parent / "static").glob("*.js"))
    assert len(scripts) > 5
    for script in scripts:
        text = script.read_text(encoding="utf-8")
        for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
            assert way not in text, script.name


def test_threads_get_the_same_answers(app: Flask) -> None:
    barrier = threading.Barrier(4)

    def ask(_: int) -> Any:
        barrier.wait(PATIENCE_S)
        with urllib3.PoolManager() as http:
            return [
                http.request("POST", f"{url}/v1/search", json={"query": query}).json()["hits"]
                for query in ("cat", "chien eau", "car bread") * 3
            ]

    with serving(app) as url, ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(ask, range(4)))
    assert all(answer == answers[0] for answer in answers)


def test_a_body_over_the_limit_is_refused_however_it_comes(app: Flask, settings: Settings) -> None:
    large = b'{"query": "' + b"c" * settings.max_body_bytes + b'"}'
    with serving(app) as url, urllib3.PoolManager() as http:
        for body in (large, iter([large])):
            response = http.request("POST", f"{url}/v1/search", body=body)
            assert response.status == 413
            assert "20000 bytes" in response.json()["detail"]
