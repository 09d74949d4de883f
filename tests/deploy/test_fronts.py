"""HAProxy, nginx and Envoy with the configurations that we ship, before a real Sinkrank and a real node."""

from __future__ import annotations

import json
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest
import regex
import urllib3

from reranker.api.openapi import ROUTES
from tests.deploy.conftest import Instance
from tests.deploy.fronts import CONFIGURATIONS, Front, running
from tests.support.engines.sources import Engine
from tests.support.waiting import wait_until

STATUS = "X-Rerank-Status"
JSON = {"Content-Type": "application/json"}
QUERY = {"query": {"match": {"text.en": "cat"}}}
MAX_BODY_BYTES = 100 * 2**20


@pytest.fixture(scope="module")
def front(
    front_name: str,
    instance: Instance,
    first_engine: Engine,
    certificates: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Front]:
    engine = first_engine.url.removeprefix("http://")
    folder = tmp_path_factory.mktemp(front_name)
    with running(front_name, folder, instance.address, engine, certificates / "server.pem") as started:
        wait_until(lambda: STATUS in search(started, instance.index).headers, "searches reach Sinkrank")
        yield started


def send(front: Front, method: str, path: str, body: bytes | None = None) -> urllib3.BaseHTTPResponse:
    return urllib3.request(method, front.url + path, body=body, headers=JSON, timeout=120, retries=False)


def search(front: Front, index: str) -> urllib3.BaseHTTPResponse:
    return send(front, "POST", f"/{index}/_search", json.dumps(QUERY).encode())


def requests_of(instance: Instance) -> float:
    """How many requests Sinkrank has answered, but for health and metrics."""
    text = urllib3.request("GET", f"http://{instance.address}/-/metrics", timeout=60).data.decode()
    counted = regex.findall(r'^sinkrank_http_requests_total\{.*route="([^"]+)".*\} (\S+)$', text, regex.M)
    return sum(float(value) for route, value in counted if not route.startswith("/-/"))


@pytest.mark.parametrize("path", ["/{}/_search", "/{}/_search/", "/{}/_search?size=1", "/_search"])
def test_a_search_goes_through_sinkrank(front: Front, instance: Instance, path: str) -> None:
    answer = send(front, "POST", path.format(instance.index), json.dumps(QUERY).encode())
    assert answer.status == 200
    assert answer.headers[STATUS] == "applied"


@pytest.mark.parametrize("path", ["/{}/_msearch", "/_msearch"])
def test_a_multi_search_goes_through_sinkrank(front: Front, instance: Instance, path: str) -> None:
    lines = f"{json.dumps({'index': instance.index})}\n{json.dumps(QUERY)}\n"
    answer = send(front, "POST", path.format(instance.index), lines.encode())
    assert answer.status == 200
    assert answer.headers[STATUS] == "applied"


@pytest.mark.parametrize(
    "path",
    ["/", "/{}/_doc/cat-en", "/{}/_count", "/_cat/indices", "/{}/_doc/_search", "/v1/_doc/1", "/-/metrics", "/-/ready"],
)
def test_all_else_goes_to_the_engine(front: Front, instance: Instance, first_engine: Engine, path: str) -> None:
    before = requests_of(instance)
    answer = send(front, "GET", path.format(instance.index))
    direct = urllib3.request("GET", first_engine.url + path.format(instance.index), timeout=60, retries=False)
    assert STATUS not in answer.headers
    assert answer.status == direct.status
    assert requests_of(instance) == before


def test_a_write_goes_to_the_engine(front: Front, instance: Instance) -> None:
    before = requests_of(instance)
    answer = send(front, "POST", f"/{instance.index}/_bulk", b'{"delete": {"_id": "nobody"}}\n')
    assert answer.status == 200
    assert not json.loads(answer.data)["errors"]
    assert requests_of(instance) == before


def test_own_routes_are_sinkranks(front: Front) -> None:
    body = json.dumps({"query": "cat", "documents": ["pain", "chat"]}).encode()
    for path in ("/v1/rerank", "/v2/rerank", "/rerank"):
        assert len(json.loads(send(front, "POST", path, body).data)["results"]) == 2
    for path in ("/-/openapi.json", "/-/ui"):
        assert send(front, "GET", path).status == 200


class Warned(BaseHTTPRequestHandler):
    """An engine that warns of much."""

    def do_GET(self) -> None:
        self.send_response(200)
        for n in range(10):
            self.send_header("Warning", f'299 OpenSearch "{n} {"deprecated " * 100}"')
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


def test_an_answer_with_many_warnings_comes_through(front_name: str, certificates: Path, tmp_path: Path) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Warned) as engine:
        threading.Thread(target=engine.serve_forever, daemon=True).start()
        try:
            address = f"127.0.0.1:{engine.server_port}"
            with running(front_name, tmp_path, address, address, certificates / "server.pem") as started:
                answer = send(started, "GET", "/pages/_doc/1")
        finally:
            engine.shutdown()
    assert answer.status == 200
    assert len(answer.headers.getlist("Warning")) == 10


class NotesHeaders(Warned):
    """An engine that notes who is impersonated."""

    users: ClassVar[list[str | None]] = []

    def do_GET(self) -> None:
        if self.path.startswith("/pages/"):  # HAProxy asks for others too
            self.users.append(self.headers.get("opendistro_security_impersonate_as"))
        super().do_GET()


def test_a_header_with_underscores_reaches_the_engine(front_name: str, certificates: Path, tmp_path: Path) -> None:
    """Without it the caller would have the rights of the user who is to act for another."""
    with (
        node(NotesHeaders) as engine,
        running(front_name, tmp_path, engine, engine, certificates / "server.pem") as up,
    ):
        wait_until(lambda: send(up, "GET", "/pages/_doc/1").status == 200, "the node is reached")
        NotesHeaders.users.clear()
        for path in ("/pages/_doc/1", "/pages/_search"):
            headers = {"opendistro_security_impersonate_as": "anna"}
            assert urllib3.request("GET", up.url + path, headers=headers, retries=False).status == 200
    assert NotesHeaders.users == ["anna", "anna"]


class DiesOfWrites(BaseHTTPRequestHandler):
    """A node that takes a write whole, and closes the connection without an answer; notes the writes."""

    writes: ClassVar[list[tuple[str, str]]] = []

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def write(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.writes.append((self.command, self.path))

    do_POST = do_PUT = do_DELETE = write

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def node(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """The address of a server; it answers each connection in a thread of its own."""

    class Server(ThreadingHTTPServer):
        request_queue_size = 200

    with Server(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


@pytest.mark.parametrize("method", ["PUT", "POST", "DELETE"])
def test_a_write_that_reached_a_node_is_not_sent_to_the_next(
    front_name: str, method: str, certificates: Path, tmp_path: Path
) -> None:
    DiesOfWrites.writes.clear()
    path = "/pages/_doc/a%2Fb?routing=c"
    with node(DiesOfWrites) as engine, running(front_name, tmp_path, engine, engine, certificates / "server.pem") as up:
        wait_until(lambda: send(up, "GET", "/pages/_doc/1").status == 200, "the node is reached")
        with suppress(urllib3.exceptions.ProtocolError):  # HAProxy closes the connection, as the node did
            assert send(up, method, path, b'{"text": "cat"}').status in (502, 503)
    assert DiesOfWrites.writes == [(method, path)]


class Waits(BaseHTTPRequestHandler):
    """A node whose documents take a while, so that many are under way at once; notes which nodes were asked."""

    asked: ClassVar[set[int]] = set()

    def do_GET(self) -> None:
        if self.path == "/pages":
            self.asked.add(self.connection.getsockname()[1])
        elif self.path != "/":
            time.sleep(0.5)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


def test_requests_go_to_the_other_node_when_one_is_away(front_name: str, certificates: Path, tmp_path: Path) -> None:
    Waits.asked.clear()
    statuses: list[int] = []

    def ask(front: Front, path: str) -> None:
        statuses.append(send(front, "GET", path).status)

    with ExitStack() as stack:
        one = stack.enter_context(node(Waits))
        with ExitStack() as other:
            two = other.enter_context(node(Waits))
            host, _, port = two.partition(":")
            more = {"ENGINE_TWO": two, "ENGINE_TWO_HOST": host, "ENGINE_TWO_PORT": port, "CHECK_INTERVAL": "60s"}
            up = stack.enter_context(running(front_name, tmp_path, one, one, certificates / "server.pem", **more))
            wait_until(lambda: send(up, "GET", "/pages") and len(Waits.asked) == 2, "both nodes are reached")
        clients = [threading.Thread(target=ask, args=(up, "/pages/_doc/1")) for _ in range(30)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
    assert statuses == [200] * len(clients)


def test_a_body_above_the_limit_is_refused(front: Front, front_name: str, instance: Instance) -> None:
    if front_name == "envoy":
        pytest.skip("Envoy passes bodies on as they come, and the engine refuses them")
    # The length alone is sent: the refusal comes before the body.
    with closing(HTTPConnection("127.0.0.1", int(front.url.rpartition(":")[2]), timeout=60)) as http:
        http.putrequest("POST", f"/{instance.index}/_bulk")
        http.putheader("Content-Length", str(MAX_BODY_BYTES + 1))
        http.endheaders()
        assert http.getresponse().status == 413


def test_searches_go_to_the_engine_while_sinkrank_is_away_and_none_fails(front: Front, instance: Instance) -> None:
    ended = threading.Event()
    answers: list[object] = []

    def ask() -> None:
        while not ended.wait(0.2):
            try:
                answer = search(front, instance.index)
                answers.append((answer.status, STATUS in answer.headers))
            except urllib3.exceptions.HTTPError as error:
                answers.append("cut" if "IncompleteRead" in repr(error) else repr(error))

    def come(answer: tuple[int, bool], n: int = 20) -> None:
        """Waits for so many answers, the last of them this one."""
        start = len(answers)
        wait_until(lambda: len(answers) > start + n and answers[-1] == answer, f"{answer} comes")

    clients = [threading.Thread(target=ask) for _ in range(4)]
    for client in clients:
        client.start()
    try:
        come((200, True))
        instance.kill()
        come((200, False))
        instance.start()
        come((200, True))
    finally:
        ended.set()
        for client in clients:
            client.join()
    assert set(answers) - {"cut"} == {(200, True), (200, False)}
    assert answers.count("cut") <= len(clients)  # an answer was on its way when the instance was killed


def tls(certificates: Path, client: str | None = None) -> ssl.SSLContext:
    """Trusts the tests' authority, and may present a certificate."""
    context = ssl.create_default_context(cafile=str(certificates / "ca.pem"))
    if client is not None:
        context.load_cert_chain(certificates / client, certificates / f"{client}.key")
    return context


def search_with_tls(port: int, index: str, context: ssl.SSLContext) -> urllib3.BaseHTTPResponse:
    with urllib3.PoolManager(ssl_context=context, retries=False) as http:
        url = f"https://localhost:{port}/{index}/_search"
        return http.request("POST", url, body=json.dumps(QUERY), headers=JSON, timeout=120)


def test_clients_come_with_tls(front: Front, instance: Instance, certificates: Path) -> None:
    def status() -> str | None:
        return search_with_tls(front.tls_port, instance.index, tls(certificates)).headers.get(STATUS)

    # Sinkrank was away, and each thread of Envoy learns by itself that it is back.
    wait_until(lambda: status() == "applied", "searches by TLS reach Sinkrank")
    old = tls(certificates)
    old.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.deprecated_call():
        old.minimum_version = ssl.TLSVersion.TLSv1
        old.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises(urllib3.exceptions.HTTPError):
        search_with_tls(front.tls_port, instance.index, old)


# How the configurations are told that clients need a certificate: the lines that stand there as comments.
CLIENT_LINES = {"haproxy": ["bind"], "nginx": ["ssl_client", "ssl_verify"], "envoy": ["require_client", "validation"]}


def demanding(name: str) -> str:
    """The configuration with the lines about certificates of clients."""
    text = CONFIGURATIONS[name].read_text(encoding="utf-8")
    if name == "haproxy":
        text = regex.sub(r"(?m)^ *bind \S+ ssl crt \S+ alpn.*\n", "", text)
    for start in CLIENT_LINES[name]:
        text, n = regex.subn(rf"(?m)^( *)# ({start})", r"\1\2", text)
        assert n == 1
    return text


def test_clients_without_a_certificate_can_be_refused(
    front_name: str, instance: Instance, first_engine: Engine, certificates: Path, tmp_path: Path
) -> None:
    engine = first_engine.url.removeprefix("http://")
    authority = str(certificates / "ca.pem")
    with running(
        front_name, tmp_path, instance.address, engine, certificates / "server.pem", demanding(front_name),
        CLIENT_CA=authority,
    ) as started:  # fmt: skip
        assert search_with_tls(started.tls_port, instance.index, tls(certificates, "client.pem")).status == 200
        try:
            refused = search_with_tls(started.tls_port, instance.index, tls(certificates))
        except urllib3.exceptions.HTTPError:
            return
        assert refused.status == 400  # nginx says it in HTTP


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_each_route_of_ours_that_is_for_clients_is_in_the_configuration(name: str) -> None:
    text = CONFIGURATIONS[name].read_text(encoding="utf-8")
    for route in ROUTES:
        if route.path not in ("/-/live", "/-/ready", "/-/metrics"):
            assert is_routed(text, route.path, name), route.path


def is_routed(text: str, path: str, name: str) -> bool:
    if name == "haproxy":
        return path in text.split()
    pattern = regex.search(r"(?:location ~ \^|regex: \")(/\(v1/.*?)(?:\$ \{|\"\})", text).group(1)
    return regex.fullmatch(pattern.replace(r"\\", "\\"), path) is not None
