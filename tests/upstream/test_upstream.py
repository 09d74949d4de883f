"""The connections to the engine: kept alive, more than one node, repeated only where that is safe."""

from __future__ import annotations

import gzip
import socket
import ssl
import threading
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from reranker.base.leaving import Client, set_client
from reranker.base.request_context import RequestContext, set_current_request
from reranker.upstream.access import EngineAccess
from reranker.upstream.addresses import EngineAddress, read_address
from reranker.upstream.node_order import REST_S
from reranker.upstream.nodes import EngineUnreachable, NoTls, Passing, Upstream
from reranker.upstream.tls import reason
from tests.serving.engines import engine
from tests.support.certificates import make_certificates
from tests.support.listening import closed_port, listening
from tests.support.tls_server import certificates
from tests.support.waiting import PATIENCE_S, wait_until

__all__ = ["certificates"]


@dataclass
class KeptAlive:
    """A node that answers any number of requests on a connection, at most `per_connection` of them.

    Attributes:
        n_broken: so many connections, the first ones, break without an answer.
        dumb_after: the path that it answers with 400, and nothing more on that connection.
        statuses: of its next answers; 200 for all others.
    """

    url: str = ""
    n_connections: int = 0
    n_closed: int = 0
    lines: list[str] = field(default_factory=list)
    per_connection: int = 1_000
    dumb_after: str = ""
    n_broken: int = 0
    statuses: list[int] = field(default_factory=list)


@contextmanager
def node() -> Iterator[KeptAlive]:
    found = KeptAlive()

    def answer(connection: socket.socket, n_requests: int) -> None:
        # One who does not want the rest of an answer resets the connection.
        with suppress(ConnectionResetError), connection, connection.makefile("rb") as stream:
            for _ in range(n_requests):
                line = stream.readline()
                if not line:
                    return
                length = 0
                while (row := stream.readline().strip()) != b"":
                    if row.lower().startswith(b"content-length:"):
                        length = int(row.split(b":")[1])
                stream.read(length)
                found.lines.append(line.decode().strip())
                is_bad = bool(found.dumb_after) and found.dumb_after in found.lines[-1]
                status = 400 if is_bad else found.statuses.pop(0) if found.statuses else 200
                connection.sendall(f"HTTP/1.1 {status} X\r\nContent-Length: 2\r\n\r\n".encode())
                if not line.startswith(b"HEAD"):
                    connection.sendall(b"ok")
                if is_bad:
                    stream.read()

    def answer_and_close(connection: socket.socket, n_requests: int) -> None:
        answer(connection, n_requests)
        found.n_closed += 1

    def accepted(connection: socket.socket) -> None:
        found.n_connections += 1
        n_requests = 0 if found.n_connections <= found.n_broken else found.per_connection
        threading.Thread(target=answer_and_close, args=(connection, n_requests), daemon=True).start()

    with listening(accepted) as found.url:
        yield found


def upstream(*urls: str, clock: Callable[[], float] = lambda: 1_000.0) -> Upstream:
    store = ",".join([urls[0], *(url.removeprefix("opensearch://") for url in urls[1:])])
    address = read_address(store)
    assert isinstance(address, EngineAddress)
    return Upstream(address, clock=clock)


def ask(to: Upstream, method: str = "GET", body: bytes | Iterator[bytes] | None = None) -> bytes:
    passing = Passing(to.send(method, "/a", [], body))
    data = b"".join(passing)
    passing.close()
    return data


def status_of(to: Upstream, method: str = "GET", body: bytes | None = None) -> int:
    with closing(to.send(method, "/a", [], body)) as answer:
        return answer.status


def closed() -> str:
    return f"opensearch://127.0.0.1:{closed_port()}"


def test_a_connection_is_kept_for_the_next_request() -> None:
    with node() as one:
        to = upstream(one.url)
        assert [ask(to) for _ in range(5)] == [b"ok"] * 5
        assert ask(to, "POST", b"abc") == b"ok"
        assert one.n_connections == 1
        to.close()


def test_a_connection_is_kept_after_answers_that_nobody_reads_since_they_have_no_body() -> None:
    with node() as one:
        to = upstream(one.url)
        for _ in range(3):
            Passing(to.send("HEAD", "/a", [])).close()
        assert one.n_connections == 1
        to.close()


def test_a_connection_that_the_engine_closed_is_replaced() -> None:
    with node() as one:
        one.per_connection = 1
        to = upstream(one.url)
        for number in range(1, 4):
            assert ask(to, "POST", b"abc") == b"ok"
            wait_until(lambda number=number: one.n_closed == number, "it is closed")  # type: ignore[misc]
        # What changes nothing is sent again where the close comes in between.
        assert [ask(to) for _ in range(20)] == [b"ok"] * 20
        assert one.n_connections >= 23


@pytest.mark.parametrize("body", [None, b"abc"])
def test_the_next_node_is_asked_where_one_is_down(body: bytes | None, caplog: pytest.LogCaptureFixture) -> None:
    down = closed()
    with node() as other:
        to = upstream(down, other.url)
        assert [ask(to, "POST" if body else "GET", body) for _ in range(3)] == [b"ok"] * 3
        assert len(other.lines) == 3
    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == 1
    assert down in messages[0]


def test_a_request_whose_connection_breaks_goes_to_the_next_node_if_it_changes_nothing() -> None:
    with node() as dying, node() as other:
        dying.n_broken = 10
        to = upstream(dying.url, other.url)
        assert ask(to) == b"ok"
        with pytest.raises(EngineUnreachable, match=dying.url):
            ask(to, "POST", b"abc")
        assert other.lines == ["GET /a HTTP/1.1"]
        assert dying.n_connections == 2


def test_a_request_whose_connection_breaks_goes_to_the_same_node_where_no_other_takes_it() -> None:
    for others in ([], [closed()]):
        with node() as one:
            one.n_broken = 1
            assert ask(upstream(one.url, *others)) == b"ok"
            assert one.n_connections == 2


@pytest.mark.parametrize("status", [502, 503, 504])
def test_what_changes_nothing_is_asked_of_the_next_node_once_where_one_is_away(status: int) -> None:
    with node() as one, node() as other:
        to = upstream(one.url, other.url)
        one.statuses = [status] * 3
        assert status_of(to) == 200
        assert (len(one.lines), len(other.lines)) == (1, 1)
        other.statuses = [status]
        assert status_of(to) == status  # of the second node
        assert (len(one.lines), len(other.lines)) == (2, 2)
        assert status_of(to, "POST", b"abc") == status
        assert (len(one.lines), len(other.lines)) == (3, 2)


def test_the_first_node_is_asked_again_where_it_is_away_and_no_other_takes_a_connection() -> None:
    with node() as one:
        one.statuses = [503]
        assert status_of(upstream(one.url, closed())) == 200
        one.statuses = [503]
        assert status_of(upstream(one.url)) == 503
        assert len(one.lines) == 3


def test_an_answer_that_breaks_off_is_read_from_the_next_node() -> None:
    """Where the answer is read to its end before anybody sees it."""

    def cut(connection: socket.socket) -> None:
        with connection:
            connection.recv(65_536)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok")

    with listening(cut) as dying, node() as other:
        assert upstream(dying, other.url).send("GET", "/a", [], is_read=True).body == b"ok"
        with pytest.raises(EngineUnreachable, match=dying):
            upstream(dying, other.url).send("POST", "/a", [], b"abc", is_read=True)


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_an_answer_that_a_server_between_has_compressed_is_read(encoding: str) -> None:
    packed = gzip.compress(b"whole") if encoding == "gzip" else zlib.compress(b"whole")
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: {encoding}\r\nContent-Length: {len(packed)}\r\n\r\n".encode()

    def answer(connection: socket.socket) -> None:
        with connection:
            connection.recv(65_536)
            connection.sendall(head + packed)

    with listening(answer) as one:
        assert upstream(one).send("GET", "/a", [], is_read=True).body == b"whole"


def test_a_streamed_body_is_not_touched_before_a_node_takes_it() -> None:
    taken: list[bytes] = []

    def blocks() -> Iterator[bytes]:
        for block in (b"abc", b"def"):
            taken.append(block)
            yield block

    with pytest.raises(EngineUnreachable):
        ask(upstream(closed()), "POST", blocks())
    assert taken == []


def test_a_node_that_was_down_is_tried_again_later() -> None:
    now = [1_000.0]
    with node() as second, socket.socket() as first:
        first.bind(("127.0.0.1", 0))
        to = upstream(f"opensearch://127.0.0.1:{first.getsockname()[1]}", second.url, clock=lambda: now[0])
        ask(to)
        first.listen()
        ask(to)
        assert len(second.lines) == 2  # the first one rests
        now[0] += REST_S + 1
        answered = threading.Thread(target=_answer_once, args=(first,), daemon=True)
        answered.start()
        assert ask(to) == b"hi"
        answered.join(PATIENCE_S)


def _answer_once(listener: socket.socket) -> None:
    connection, _ = listener.accept()
    with connection:
        connection.recv(65_536)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi")


def test_a_node_that_goes_away_before_tls_is_spoken_has_received_nothing() -> None:
    """So a request that changes something goes to the next node too."""
    tried: list[str] = []

    def leaving(name: str) -> Callable[[socket.socket], None]:
        def leave(connection: socket.socket) -> None:
            tried.append(name)
            connection.close()

        return leave

    with listening(leaving("first")) as one, listening(leaving("second")) as other:
        first, second = (url.removeprefix("opensearch://") for url in (one, other))
        with pytest.raises(EngineUnreachable, match="no node of"):
            upstream(f"opensearch+https://{first}", second).send("POST", "/a", [], b"abc")
    assert tried == ["first", "second"]


@contextmanager
def without_tls() -> Iterator[str]:
    """Host and port of a node that speaks HTTP alone."""

    def answer(connection: socket.socket) -> None:
        with connection, suppress(ConnectionResetError):
            connection.recv(65_536)
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")

    with listening(answer) as url:
        yield url.removeprefix("opensearch://")


@contextmanager
def refused_by_us(folder: Path, hosts: str = "IP:127.0.0.1") -> Iterator[str]:
    """Host and port of a node whose certificate another authority has signed, for these hosts."""
    make_certificates(folder, "node", hosts=hosts)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(folder / "node.pem", folder / "node.key")

    def accepted(connection: socket.socket) -> None:
        with connection, suppress(OSError):  # it is refused
            tls.wrap_socket(connection, server_side=True)

    with listening(accepted) as url:
        yield url.removeprefix("opensearch://")


def test_the_next_node_is_asked_where_one_has_a_bad_certificate_or_no_tls(certificates: Path, tmp_path: Path) -> None:
    """Nothing was sent to it, so a request that changes something goes on too."""
    own = certificates / "node.pem", certificates / "node.key"
    access = EngineAccess(ca_certs=certificates / "ca.pem")
    with engine(tls=own) as sound, refused_by_us(tmp_path) as unknown, without_tls() as plain:
        for bad in (unknown, plain):
            address = read_address(f"opensearch+https://{bad},127.0.0.1:{sound.port}")
            assert isinstance(address, EngineAddress)
            assert ask(Upstream(address, access), "POST", b"abc") == b"{}"
        address = read_address(f"opensearch+https://{plain},{unknown}")
        assert isinstance(address, EngineAddress)
        with pytest.raises(NoTls, match=f"the certificate of opensearch\\+https://{unknown} is not .* and restart"):
            ask(Upstream(address, access))


def test_a_certificate_for_another_host_is_not_said_to_lack_its_authority(tmp_path: Path) -> None:
    with refused_by_us(tmp_path, "DNS:other.example") as node:
        address = read_address(f"opensearch+https://{node}")
        assert isinstance(address, EngineAddress)
        with pytest.raises(NoTls, match=r"not valid for '127\.0\.0\.1'.*name the host as it does"):
            ask(Upstream(address, EngineAccess(ca_certs=tmp_path / "ca.pem")))


def test_a_tls_connection_that_was_closed_is_not_taken_for_a_bad_file() -> None:
    """OpenSSL names no reason where a node closes the connection while we write."""
    assert reason(ssl.SSLEOFError(8, "EOF occurred in violation of protocol (_ssl.c:2427)")) == "it was closed"


def test_where_all_nodes_are_down_the_last_is_named() -> None:
    first, second = closed(), closed()
    with pytest.raises(EngineUnreachable, match=second.removeprefix("opensearch://")):
        ask(upstream(first, second))


def test_a_connection_on_which_the_engine_answered_400_is_not_used_again() -> None:
    with node() as one:
        one.dumb_after = "/bad"
        to = upstream(one.url)
        for target in ("/a", "/b", "/bad", "/c", "/d"):
            answer = to.send("GET", target, [])
            assert (answer.status, answer.read(100)) == (400 if target == "/bad" else 200, b"ok")
        to.close()
    assert one.n_connections == 2


def test_a_refusal_that_a_node_keeps_on_a_connection_does_not_meet_the_next_caller() -> None:
    """OpenSearch 2.19's security plugin, where CORS refuses a request without credentials: 403 now, and 401 for whoever
    asks next on that connection."""
    kept: list[int] = []

    def answer(connection: socket.socket) -> None:
        is_refused_next = False
        with suppress(OSError), connection, connection.makefile("rb") as stream:
            while line := stream.readline():
                while stream.readline().strip():
                    pass
                status = 401 if is_refused_next else 403 if b"/evil" in line else 200
                is_refused_next = status == 403
                kept.append(status)
                connection.sendall(f"HTTP/1.1 {status} X\r\nContent-Length: 0\r\n\r\n".encode())

    with listening(answer) as url, closing(upstream(url)) as to:
        for target in ("/evil", "/mine"):
            to.send("GET", target, [], is_read=True)
    assert kept == [403, 200]


@pytest.mark.parametrize("status", [401, 403])
def test_a_connection_on_which_the_engine_refused_a_caller_is_not_used_again(status: int) -> None:
    with node() as one, closing(upstream(one.url)) as to:
        one.statuses = [status]
        for _ in range(3):
            to.send("GET", "/a", [], is_read=True)
    assert one.n_connections == 2


def test_a_client_that_leaves_does_not_break_the_next_request_on_its_connection() -> None:
    client = Client()

    def body() -> Iterator[bytes]:
        client.leave()
        yield b"x"

    with node() as one, ThreadPoolExecutor(1) as other:
        to = upstream(one.url)
        statuses: list[Future[int]] = []

        @contextmanager
        def waiting(_: str) -> Iterator[None]:
            yield
            # What `Slots.waiting` does here may take long: it waits until the request may compute.
            statuses.append(other.submit(lambda: to.send("POST", "/b", [], body(), 1, is_read=True).status))
            wait([statuses[0]], PATIENCE_S)

        set_client(client)
        set_current_request(RequestContext("a", waiting=waiting))
        try:
            assert to.send("GET", "/a", [], is_read=True).status == 200
        finally:
            set_client(None)
            set_current_request(None)
        assert statuses[0].result() == 200
        to.close()
    assert one.n_connections == 1
