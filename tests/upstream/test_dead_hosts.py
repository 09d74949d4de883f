"""A host that loses its power or network while connections to it are open: nothing comes from it, not even an end.

The trial runs in a network of its own, where an address goes away.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from reranker.upstream import connections
from reranker.upstream.addresses import read_address
from reranker.upstream.nodes import EngineUnreachable, Upstream
from tests.support.waiting import PATIENCE_S

ROOT = Path(__file__).resolve().parents[2]
FIRST, SECOND = "10.9.9.1", "10.9.9.2"

_is_stuck = threading.Event()


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


def can_unshare() -> bool:
    if not (shutil.which("unshare") and shutil.which("ip")):
        return False
    return subprocess.run(["unshare", "-rn", "ip", "link"], capture_output=True, check=False).returncode == 0


def serve(host: str) -> None:
    """Answers with its address: `/slow` after three seconds, and `/stuck` on the second host alone."""

    def answer(connection: socket.socket) -> None:
        while asked := connection.recv(65_536):
            if b"/stuck" in asked and host == FIRST:
                _is_stuck.set()
                continue
            if b"/slow" in asked:
                time.sleep(3)
            connection.sendall(f"HTTP/1.1 200 OK\r\nContent-Length: {len(host)}\r\n\r\n{host}".encode())

    def accept() -> None:
        while True:
            threading.Thread(target=answer, args=[listener.accept()[0]], daemon=True).start()

    listener = socket.create_server((host, 9200))
    threading.Thread(target=accept, daemon=True).start()


def trial() -> None:
    """Runs in a network without addresses. A host is away after a second there, and not after ten."""
    connections._AWAY_S = 1
    connections._TRIES = dict.fromkeys(connections._TRIES, 1)
    ip("link", "set", "lo", "up")
    for host in (FIRST, SECOND):
        ip("addr", "add", f"{host}/32", "dev", "lo")
        serve(host)
    upstream = Upstream(read_address(f"opensearch://{FIRST}:9200,{SECOND}:9200"), timeout_s=60)  # type: ignore[arg-type]

    def ask(method: str, path: str) -> None:
        try:
            said = upstream.send(method, path, [], is_read=True).body.decode()
        except EngineUnreachable as error:
            said = str(error)
        answers[method, path] = said

    answers: dict[tuple[str, str], str] = {}
    for _ in range(2):  # two connections are kept
        both = [threading.Thread(target=ask, args=["GET", "/slow"]) for _ in range(2)]
        for thread in both:
            thread.start()
        for thread in both:
            thread.join()
    waiting = threading.Thread(target=ask, args=["GET", "/stuck"])
    waiting.start()
    _is_stuck.wait(PATIENCE_S)
    ip("addr", "del", f"{FIRST}/32", "dev", "lo")
    ask("POST", "/written")
    waiting.join()
    ask("GET", "/read")
    for (method, path), said in answers.items():
        print(method, path, said)


@pytest.mark.slow
def test_a_host_that_is_away_is_noticed_and_one_that_works_on_an_answer_is_waited_for() -> None:
    if not can_unshare():
        pytest.skip("there is no right to make a network")
    program = "from tests.upstream.test_dead_hosts import trial; trial()"
    done = subprocess.run(["unshare", "-rn", sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    said = dict(line.rsplit(" ", 1) for line in done.stdout.splitlines() if not line.startswith("POST"))
    assert said == {"GET /slow": FIRST, "GET /stuck": SECOND, "GET /read": SECOND}
    assert f"POST /written the connection to opensearch://{FIRST}:9200 broke" in done.stdout
