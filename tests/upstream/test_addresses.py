"""Which address opens which store, and that no password comes out again."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from reranker.base.errors import BadInput, WrongParameter
from reranker.stores import open_store
from reranker.stores.embedded.store import EmbeddedStore
from reranker.stores.engine.store import EngineStore
from reranker.upstream.addresses import EngineAddress, read_address


@pytest.mark.parametrize("path", ["store", "./a/b", "/tmp/x", "C:\\a@b", "C:/a@b", "a:b", "./a:b@c", ".sinkrank/store"])
def test_whatever_has_no_scheme_is_a_folder(path: str) -> None:
    assert read_address(path) == Path(path)
    assert isinstance(open_store(path), EmbeddedStore)


@pytest.mark.parametrize("address", ["localhost:9200", "127.0.0.1:9200", "search.example:443", "a:9200,b:9200"])
def test_a_host_and_port_without_a_scheme_is_no_folder_that_would_be_made(address: str) -> None:
    with pytest.raises(
        WrongParameter, match=rf"give opensearch://{address}, elasticsearch://{address}, or ./{address}"
    ):
        read_address(address)
    assert read_address(f"./{address}") == Path(address)


@pytest.mark.parametrize(
    ("address", "shown", "use_tls", "distribution"),
    [
        ("opensearch://node", "opensearch://node:9200", False, "opensearch"),
        ("elasticsearch://node:9201", "elasticsearch://node:9201", False, "elasticsearch"),
        ("opensearch+https://node:9200", "opensearch+https://node:9200", True, "opensearch"),
        ("elasticsearch+https://node:9200", "elasticsearch+https://node:9200", True, "elasticsearch"),
        ("http://node", "http://node:9200", False, None),
        ("https://node", "https://node:443", True, None),
        ("HTTPS://Node:9200/", "HTTPS://node:9200", True, None),
        ("https://node:9200/search/", "https://node:9200/search", True, None),
        ("http://[::1]:9200", "http://[::1]:9200", False, None),
        ("opensearch://a:9200,b:9201,c", "opensearch://a:9200,b:9201,c:9200", False, "opensearch"),
        ("https://me:x@a,[::1]:9200/search/", "https://a:443,[::1]:9200/search", True, None),
        ("http://bücher.example/a%20b/~c", "http://xn--bcher-kva.example:9200/a%20b/~c", False, None),  # RFC 3490
    ],
)
def test_a_url_is_an_engine(address: str, shown: str, use_tls: bool, distribution: str | None) -> None:
    read = read_address(address)
    assert isinstance(read, EngineAddress)
    assert (read.redacted, read.use_tls, read.distribution) == (shown, use_tls, distribution)
    store = open_store(address)
    assert isinstance(store, EngineStore)
    assert store.address == shown
    store.close()


def test_the_nodes_of_an_address_keep_their_order_and_share_scheme_and_prefix() -> None:
    read = read_address("opensearch+https://me:a,b@a:1,B,a:1,[::1]:3/x")
    assert isinstance(read, EngineAddress)
    assert [(node.host, node.port) for node in read.nodes] == [("a", 1), ("b", 9200), ("::1", 3)]
    assert [node.redacted for node in read.nodes] == [
        "opensearch+https://a:1/x",
        "opensearch+https://b:9200/x",
        "opensearch+https://[::1]:3/x",
    ]
    assert (read.username, read.password) == ("me", "a,b")


def test_credentials_stand_once_before_the_first_node() -> None:
    with pytest.raises(WrongParameter, match="once, before the first node") as caught:
        read_address("https://me:secret@a:9200,me:secret@b:9200")
    assert "secret" not in str(caught.value)


def test_credentials_of_the_address_are_used_and_not_shown() -> None:
    read = read_address("https://some%40one:p%C3%A4ss%2Fword@node:9200/x")
    assert isinstance(read, EngineAddress)
    assert (read.username, read.password) == ("some@one", "päss/word")
    assert read.redacted == "https://node:9200/x"
    assert "word" not in repr(read)


def test_credentials_given_apart_go_before_those_of_the_address() -> None:
    read = read_address("https://a:b@node")
    assert isinstance(read, EngineAddress)
    assert (read.with_credentials("c", "d").username, read.with_credentials("c", "d").password) == ("c", "d")
    assert read.with_credentials(None, None) == read


@pytest.mark.parametrize(
    "address",
    [
        "ftp://someone:secret@node",
        "someone:secret@node:9200",
        "opensearch:someone:secret@node",
        "redis://someone:secret@node",
        "https://",
        "https://someone:secret@",
        "https://someone:secret@node:99999",
        "https://someone:secret@node:port",
        "https://someone:secret@node/?a=b",
        "https://someone:secret@node/#a",
        "https://someone:secret@[node",
        "https://someone:secret@a,,b",
        "https://someone:secret@a:9200,https://b:9200",
        "https://someone:secret@a:9200, b:9200",
        "https://someone:9/secret@node:9200",
        "opensearch://a:9200/x,b:9200",
        "https://someone:secret@node/é",
        "https://someone:secret@node/a b",
        "https://someone:secret@node:0",
        "https://someone:secret@a..b:9200",
        "https://someone:secret@" + 64 * "a" + ":9200",
        "opensearch://" + ",".join(f"n{number}" for number in range(33)),
        "",
        " ",
        "a\0b",
    ],
)
def test_an_address_of_no_known_form_is_bad_input_that_names_the_forms(address: str) -> None:
    with pytest.raises(BadInput, match="opensearch://HOST:PORT") as caught:
        open_store(address)
    assert "secret" not in str(caught.value)


def test_a_folder_is_opened_without_the_client_of_the_engines() -> None:
    program = "import sys, reranker.stores as s; s.open_store('x'); print('opensearchpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
