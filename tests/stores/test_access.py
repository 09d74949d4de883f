"""Certificates, API keys and AWS signatures as they reach an engine."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import logging
import socket
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from reranker.base.errors import BadInput, MissingPackage, StoreUnavailable
from reranker.stores import EngineAccess, open_store
from reranker.upstream.addresses import EngineAddress, read_address
from reranker.upstream.rights import Rights
from tests.stores.fake_engine import serve
from tests.stores.samples import MAPPING
from tests.support.tls_server import certificates, demanding_client

__all__ = ["certificates"]

SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"


@pytest.fixture
def _credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("boto3", reason="signing for AWS needs the extra aws")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_SESSION_TOKEN", "session-token")


def test_an_api_key_reaches_the_engine_and_no_message() -> None:
    access = EngineAccess(api_key="VnVhQ2ZHY0JDZGJrUW0=")
    with serve(lambda *request: (503, {})) as node:
        store = open_store(node.address, access=access)
        with pytest.raises(StoreUnavailable) as caught:
            store.indices()
        store.close()
        assert {headers["authorization"] for headers in node.headers} == {"ApiKey VnVhQ2ZHY0JDZGJrUW0="}
    assert "VnVhQ2ZHY0JDZGJrUW0=" not in f"{caught.value} {access}"


def test_a_password_that_is_not_utf_8_reaches_the_engine_as_the_environment_has_it() -> None:
    address = read_address("https://me@node")
    assert isinstance(address, EngineAddress)
    given = b"p\xe4ss".decode("utf-8", "surrogateescape")  # as Python reads variables
    (sent,) = EngineAccess().headers(address.with_credentials(None, given)).values()
    assert base64.b64decode(sent.removeprefix("Basic ")) == b"me:p\xe4ss"


@pytest.mark.usefixtures("_credentials")
def test_a_callers_credentials_are_sent_as_they_are_in_place_of_a_signature() -> None:
    anna = Rights({"authorization": "Basic YW5uYTpi"})
    with serve(lambda _, path, *__: (200, {"count": 1} if "_count" in path else MAPPING)) as node:
        store = open_store(node.address, access=EngineAccess(aws_region="eu-west-1"))
        docs = store.open("docs")
        docs.count(rights=anna)
        docs.count()
        store.close()
    mapping, of_anna, own = node.headers
    assert of_anna["authorization"] == "Basic YW5uYTpi"
    assert "x-amz-date" not in of_anna
    for signed in (mapping, own):
        assert signed["authorization"].startswith("AWS4-HMAC-SHA256 ")


@pytest.mark.usefixtures("_credentials")
@pytest.mark.parametrize("is_second", [False, True])
def test_requests_are_signed_for_aws_and_the_node_that_gets_them(is_second: bool) -> None:
    asked: list[tuple[str, str, str]] = []

    def answer(method: str, path: str, body: str) -> tuple[int, object]:
        asked.append((method, path, body))
        return 200, {"docs": [{"found": False}]} if "_mget" in path else MAPPING

    with socket.create_server(("127.0.0.1", 0)) as listener:
        closed_port = listener.getsockname()[1]
    with serve(answer) as node:
        address = f"http://127.0.0.1:{closed_port},127.0.0.1:{node.port}" if is_second else node.address
        store = open_store(address, access=EngineAccess(aws_region="eu-west-1"))
        assert store.indices() == ["docs"]
        store.release("docs", "nobody")
        store.close()
        signed = list(zip(asked, node.headers, strict=True))
    assert any(body for (_, _, body), _ in signed)
    for request, headers in signed:
        assert headers["x-amz-security-token"] == "session-token"
        assert headers["host"] == f"127.0.0.1:{node.port}"
        assert headers["authorization"] == signature(*request, headers)


@pytest.mark.usefixtures("_credentials")
@pytest.mark.parametrize(
    ("host", "service"),
    [
        ("abc123.eu-west-1.aoss.amazonaws.com", "aoss"),
        ("search-pages-abc123.eu-west-1.es.amazonaws.com", "es"),
        ("aoss.amazonaws.com.search.example", "es"),
    ],
)
def test_a_request_is_signed_for_the_service_that_the_host_is_of(host: str, service: str) -> None:
    address = read_address(f"https://{host}")
    assert isinstance(address, EngineAddress)
    sign = EngineAccess(aws_region="eu-west-1").credentials(address)
    assert f"/eu-west-1/{service}/aws4_request" in sign("GET", f"https://{host}/", None)["Authorization"]


@pytest.mark.usefixtures("_credentials")
def test_no_level_of_the_log_shows_what_requests_are_signed_with(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    address = read_address("https://node")
    assert isinstance(address, EngineAddress)
    headers = EngineAccess(aws_region="eu-west-1").credentials(address)("GET", "https://node/", None)
    assert headers["X-Amz-Security-Token"] == "session-token"
    assert "session-token" not in caplog.text
    with caplog.at_level(logging.ERROR, "botocore"):
        EngineAccess(aws_region="eu-west-1").credentials(address)
        assert logging.getLogger("botocore").level == logging.ERROR


def signature(method: str, path: str, body: str, headers: dict[str, str]) -> str:
    """As AWS describes Signature Version 4, step by step, over the headers that the request itself names."""
    named = headers["authorization"].partition("SignedHeaders=")[2].partition(",")[0]
    parts = urlsplit(path)
    query = "&".join(sorted(parts.query.split("&"))) if parts.query else ""
    hashed = hashlib.sha256(body.encode()).hexdigest()
    assert headers["x-amz-content-sha256"] == hashed
    lines = "".join(f"{name}:{headers[name].strip()}\n" for name in named.split(";"))
    assert {"host", "x-amz-date"} <= set(named.split(";"))
    canonical = "\n".join([method, parts.path, query, lines, named, hashed])
    date = headers["x-amz-date"]
    scope = f"{date[:8]}/eu-west-1/es/aws4_request"
    to_sign = "\n".join(["AWS4-HMAC-SHA256", date, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = f"AWS4{SECRET}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    signed = hmac.digest(key, to_sign.encode(), "sha256").hex()
    return f"AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/{scope}, SignedHeaders={named}, Signature={signed}"


def test_without_boto3_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "boto3", None)
    with pytest.raises(MissingPackage, match=r"sinkrank\[aws\]"):
        open_store("https://node", access=EngineAccess(aws_region="eu-west-1"))


def test_where_the_source_of_credentials_is_away_the_store_is_unavailable(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("boto3", reason="signing for AWS needs the extra aws")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    config, source = tmp_path / "config", tmp_path / "source.json"
    config.write_text(f"[default]\ncredential_process = cat {source}\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    # They run out within ten minutes, so that botocore renews them before each request.
    until = (datetime.now(UTC) + timedelta(minutes=1)).isoformat()
    named = {"Version": 1, "AccessKeyId": "AKIDEXAMPLE", "SecretAccessKey": SECRET, "Expiration": until}
    source.write_text(json.dumps(named))
    with serve(lambda *request: (200, MAPPING)) as node:
        store = open_store(node.address, access=EngineAccess(aws_region="eu-west-1"))
        assert store.indices() == ["docs"]
        source.unlink()
        with pytest.raises(StoreUnavailable, match="boto3 cannot renew the AWS credentials"):
            store.indices()
        store.close()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "set AWS_ACCESS_KEY_ID"),
        ({"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE"}, r"missing: AWS_SECRET_ACCESS_KEY\); see the variables"),
        ({"AWS_PROFILE": "other"}, r"profile \(other\) could not be found\); see the variables"),
    ],
)
def test_without_credentials_it_says_where_they_are_looked_for(
    given: dict[str, str], words: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("boto3", reason="signing for AWS needs the extra aws")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with pytest.raises(BadInput, match=words):
        open_store("https://node", access=EngineAccess(aws_region="eu-west-1"))


@pytest.mark.parametrize(
    ("address", "access", "words"),
    [
        ("https://me:secret-word@node", EngineAccess(api_key="k"), "one of user and password"),
        ("https://node", EngineAccess(api_key="k", aws_region="eu-west-1"), "one of user and password"),
        ("https://node", EngineAccess(client_key=Path(__file__)), "without its certificate"),
        ("http://node", EngineAccess(client_cert=Path(__file__)), "is for TLS"),
        ("https://node", EngineAccess(client_cert=Path("nowhere.pem")), "nowhere.pem"),
        ("https://node", EngineAccess(ca_certs=Path("none.pem")), "none.pem.*PEM"),
        ("https://node", EngineAccess(api_key="secret-word\n"), "no header may hold"),
    ],
)
def test_what_does_not_go_together_is_said_before_anything_is_sent(
    address: str, access: EngineAccess, words: str
) -> None:
    with pytest.raises(BadInput, match=words) as caught:
        open_store(address, access=access)
    assert "secret-word" not in str(caught.value)


def test_a_node_that_asks_for_a_client_certificate_is_shown_it(certificates: Path) -> None:
    context = demanding_client(certificates)
    trusted, own, key = (certificates / name for name in ("ca.pem", "client.pem", "client.key"))
    with serve(lambda *request: (200, MAPPING), context) as node:
        known = open_store(node.address, access=EngineAccess(ca_certs=trusted, client_cert=own, client_key=key))
        assert known.indices() == ["docs"]
        unknown = open_store(node.address, access=EngineAccess(ca_certs=trusted))
        with pytest.raises(StoreUnavailable):
            unknown.indices()
        known.close()
        unknown.close()


def test_a_certificate_that_is_not_checked_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        open_store("https://node", access=EngineAccess(verify_certs=False)).close()
    assert "the certificate of https://node:443 is not checked" in caplog.text
