"""A real server process passes bodies and answers of any size in the same memory."""

from __future__ import annotations

import hashlib
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.support.listening import listening
from tests.support.tiny import tiny_embeddings

pytestmark = pytest.mark.slow

N_BYTES = 200_000_000
BLOCK = bytes(range(256)) * 256
# What two hundred times as much may take beside a request of one megabyte; buffers of the server and the sockets.
MOST_BYTES = 48_000_000


def blocks(n_bytes: int) -> Iterator[bytes]:
    for _ in range(n_bytes // len(BLOCK)):
        yield BLOCK
    yield BLOCK[: n_bytes % len(BLOCK)]


def digest_of(n_bytes: int) -> str:
    digest = hashlib.sha256()
    for block in blocks(n_bytes):
        digest.update(block)
    return digest.hexdigest()


@contextmanager
def sink() -> Iterator[str]:
    """An engine that answers a POST by the digest of its body, and a GET by `N_BYTES` bytes."""

    def answer(connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as stream:
            line = stream.readline()
            length = None
            while (row := stream.readline().strip().lower()) != b"":
                if row.startswith(b"content-length:"):
                    length = int(row.split(b":")[1])
            if line.startswith(b"GET"):
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % N_BYTES)
                for block in blocks(N_BYTES):
                    connection.sendall(block)
                return
            digest = hashlib.sha256()
            left = length or 0
            while left and (block := stream.read(min(65_536, left))):
                digest.update(block)
                left -= len(block)
            body = digest.hexdigest().encode()
            connection.sendall(
                b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (len(body), body)
            )

    def accepted(connection: socket.socket) -> None:
        threading.Thread(target=answer, args=(connection,), daemon=True).start()

    with listening(accepted) as address:
        yield address


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, str]]:
    """The process id and the address of `sinkrank serve` in front of the sink."""
    folder = tmp_path_factory.mktemp("memory")
    tiny_embeddings(folder / "embeddings")
    with sink() as engine:
        command = [sys.executable, "-m", "sinkrank", "serve", "--port", "0", "--processes", "1", "--store", engine]
        command += ["--embeddings", str(folder / "embeddings"), "--home", str(folder)]
        environment = {**os.environ, "COLUMNS": "200", "TMPDIR": str(folder)}
        root = Path(__file__).parents[2]
        with subprocess.Popen(command, cwd=root, env=environment, stderr=subprocess.PIPE, text=True) as process:
            try:
                assert process.stderr is not None
                for line in process.stderr:
                    found = re.search(r"serves (http://\S+)", line)
                    if found:
                        break
                else:
                    pytest.fail("the server ended before it served")
                yield process.pid, found.group(1)
            finally:
                process.terminate()


def memory(pid: int, name: str) -> int:
    """Bytes: `VmRSS` now, or `VmHWM`, the most since `forget_peak`."""
    status = Path(f"/proc/{pid}/status").read_text()
    found = re.search(rf"^{name}:\s+(\d+) kB", status, re.MULTILINE)
    assert found, status
    return int(found.group(1)) * 1024


def forget_peak(pid: int) -> None:
    Path(f"/proc/{pid}/clear_refs").write_text("5")


def send(url: str, head: str, body: Iterator[bytes], is_chunked: bool = False) -> tuple[str, int]:
    """The digest of the answer's body and its length."""
    where = urlsplit(url)
    with socket.create_connection((where.hostname, where.port), timeout=120) as connection:
        connection.sendall(f"{head}\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        for block in body:
            connection.sendall(b"%x\r\n%s\r\n" % (len(block), block) if is_chunked and block else block)
        if is_chunked:
            connection.sendall(b"0\r\n\r\n")
        with connection.makefile("rb") as stream:
            while stream.readline().strip():
                pass
            digest, n_bytes = hashlib.sha256(), 0
            first = b""
            while block := stream.read(65_536):
                first = first or block
                digest.update(block)
                n_bytes += len(block)
    return (first.decode() if n_bytes == 64 else digest.hexdigest()), n_bytes


needs_proc = pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="the peak is read from Linux's /proc"
)


@needs_proc
@pytest.mark.parametrize("is_chunked", [False, True])
def test_a_bulk_of_two_hundred_megabytes_fills_no_memory(server: tuple[int, str], is_chunked: bool) -> None:
    pid, url = server
    send(url, "POST /_bulk HTTP/1.1\r\nContent-Length: 1000000", blocks(1_000_000))
    forget_peak(pid)
    before = memory(pid, "VmRSS")
    length = "Transfer-Encoding: chunked" if is_chunked else f"Content-Length: {N_BYTES}"
    digest, _ = send(url, f"POST /_bulk HTTP/1.1\r\n{length}", blocks(N_BYTES), is_chunked)
    assert digest == digest_of(N_BYTES)
    assert memory(pid, "VmHWM") - before < MOST_BYTES


@needs_proc
def test_an_answer_of_two_hundred_megabytes_fills_no_memory(server: tuple[int, str]) -> None:
    pid, url = server
    send(url, "POST /_bulk HTTP/1.1\r\nContent-Length: 1000000", blocks(1_000_000))
    forget_peak(pid)
    before = memory(pid, "VmRSS")
    digest, n_bytes = send(url, "GET /pages/_doc/1 HTTP/1.1", iter([]))
    assert (digest, n_bytes) == (digest_of(N_BYTES), N_BYTES)
    assert memory(pid, "VmHWM") - before < MOST_BYTES
