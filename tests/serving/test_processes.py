"""Several processes, and instances that are restarted in turn behind a balancer: all of them real."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import urllib3

from tests.commands.test_serve import serving
from tests.deploy import fronts
from tests.serving.engines import Clients, engine, get
from tests.support.listening import closed_port, server_ports
from tests.support.waiting import PATIENCE_S, wait_until

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
BODY = {"query": "cat", "documents": ["pain", "chat"], "language": "en", "document_languages": "fr"}
# Far longer than anything here takes: a hang ends, and no figure is tested.


def metric(address: str, line: str) -> float:
    text = urllib3.request("GET", f"{address}/-/metrics", timeout=60).data.decode()
    found = re.search(rf"^{re.escape(line)} (\S+)$", text, re.M)
    return float(found.group(1)) if found else 0.0


def children(pid: int) -> list[int]:
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    return [int(one) for one in found.stdout.split()]


def memory_of(pid: int, path: str | None = None) -> tuple[int, int]:
    """Resident and proportional size in kB: of what a process has mapped of a path, or of all of it."""
    text = Path(f"/proc/{pid}/smaps").read_text()
    mappings = re.split(r"^(?=[0-9a-f]+-[0-9a-f]+ )", text, flags=re.M)
    chosen = "".join(one for one in mappings if path is None or path in one.partition("\n")[0])
    resident, proportional = (
        sum(int(size) for size in re.findall(rf"^{name}: +(\d+) kB$", chosen, re.M)) for name in ("Rss", "Pss")
    )
    return resident, proportional


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="only Linux says how memory is shared")
def test_processes_add_up_share_their_memory_are_replaced_when_killed_and_end_when_drained(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    n_requests = 40
    monkeypatch.setenv("SINKRANK_DRAIN_S", "0.5")
    with serving(home, "--processes", "2") as (process, address):
        wait_until(lambda: urllib3.request("GET", f"{address}/-/ready", timeout=60).status == 200, "it is ready")
        wait_until(lambda: len(children(process.pid)) == 2, "both processes are there")
        workers = children(process.pid)
        answers: list[urllib3.BaseHTTPResponse] = []

        def all_have_read() -> bool:
            answers.append(http.request("POST", f"{address}/v1/rerank", json=BODY, timeout=60))
            return len(answers) >= n_requests and all(memory_of(pid, "/embeddings/")[0] for pid in workers)

        with urllib3.PoolManager(headers={"Connection": "close"}) as http:
            wait_until(all_have_read, "each process has read the embeddings")
        searched = urllib3.request("POST", f"{address}/v1/search", json={"query": "cat"}, timeout=60)
        counted = metric(address, 'sinkrank_http_requests_total{method="POST",route="/v1/rerank",status="200"}')
        embeddings = [memory_of(pid, "/embeddings/") for pid in workers]
        whole = [memory_of(pid) for pid in workers]
        os.kill(workers[0], signal.SIGKILL)
        wait_until(lambda: len(set(children(process.pid)) - set(workers)) == 1, "there is another")
        after = [urllib3.request("GET", f"{address}/-/live", timeout=60, retries=False).status for _ in range(20)]
        workers += children(process.pid)
        process.send_signal(signal.SIGTERM)
        _, stderr = process.communicate(timeout=PATIENCE_S)

    assert [[result["index"] for result in answer.json()["results"]] for answer in answers] == [[1, 0]] * len(answers)
    assert searched.status == 503  # there is no store
    assert counted == len(answers)
    # Of a page that n processes have each has 1/n in its proportional size; here they are three, with the first one.
    assert all(0 < proportional <= resident / 2 for resident, proportional in embeddings), embeddings
    # Imported modules are shared too: of each process more than 40 % is.
    assert all(proportional < 0.6 * resident for resident, proportional in whole), whole
    assert after == [200] * 20
    assert f"server process {workers[0]} ended (signal 9)" in stderr
    assert process.returncode == 0
    assert stderr.endswith("stopped\n")
    assert not [pid for pid in workers if Path(f"/proc/{pid}").exists()]


def is_running(pid: int) -> bool:
    """Whether a process is there, and has not ended."""
    try:
        return " Z " not in Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False


needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only Linux has /proc")


@needs_proc
@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.conformance)])
def test_health_is_answered_while_an_engine_is_stuck_and_a_signal_to_the_group_lets_requests_finish(
    home: Path, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SINKRANK_STORE_TIMEOUT_S", "1")
    monkeypatch.setenv("SINKRANK_GRACE_S", str(PATIENCE_S))
    with engine(is_stuck=True) as stuck, serving(home, "--processes", "2", "--store", stuck.url) as (process, address):
        wait_until(lambda: len(children(process.pid)) == 2, "both processes are there")
        workers = children(process.pid)
        n_before, clients = stuck.n_waiting, Clients()  # the engine was asked at the start too
        clients.ask(40, "GET", f"{address}/_cluster/health?wait_for_nodes=5&timeout=15s")
        wait_until(lambda: stuck.n_waiting == n_before + 40, "all wait for the engine")
        alive = [get(f"{address}/-/live").status for _ in range(20)]
        os.killpg(process.pid, number)
        wait_until(lambda: is_refused(address), "no process listens any more")
        assert clients.answers == []
        assert process.poll() is None
        stuck.release()
        clients.join()
        process.communicate(timeout=PATIENCE_S)
    assert alive == [200] * 20
    assert clients.answers == [502] * 40  # the service's own answer, and no broken connection
    assert process.returncode == 0
    assert not any(is_running(pid) for pid in workers)


def is_refused(address: str) -> bool:
    try:
        socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2])), timeout=60).close()
    except ConnectionRefusedError:
        return True
    return False


@needs_proc
def test_where_the_parent_is_killed_the_processes_end_too(home: Path) -> None:
    with serving(home, "--processes", "2") as (process, _):
        wait_until(lambda: len(children(process.pid)) == 2, "both processes are there")
        workers = children(process.pid)
        process.kill()
        wait_until(lambda: not any(is_running(pid) for pid in workers), "they have ended")


@contextmanager
def balancing(folder: Path, ports: list[int]) -> Iterator[str]:
    """HAProxy in front of two instances, with the configuration that we ship and no engine; its address."""
    one, two = (f"127.0.0.1:{port}" for port in ports)
    nobody = f"127.0.0.1:{closed_port()}"
    with fronts.running("haproxy", folder, one, nobody, fronts.make_certificates(folder), SINKRANK_TWO=two) as balancer:
        yield balancer.url


def instance(home: Path, port: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "sinkrank", "serve", "--port", str(port), "--processes", "1"],
        cwd=home,
        env={**os.environ, "PYTHONPATH": str(ROOT), "SINKRANK_DRAIN_S": "1.5"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


@pytest.mark.conformance  # it starts four instances
@pytest.mark.skipif(
    not any(map(shutil.which, ("haproxy", "apt-get"))), reason="haproxy is not installed, and this is no Debian"
)
def test_two_instances_are_restarted_in_turn_without_an_error(home: Path, tmp_path: Path) -> None:
    ports = server_ports(2)
    counted = 'sinkrank_http_requests_total{method="POST",route="/v1/rerank",status="200"}'
    running = [instance(home, port) for port in ports]
    ended = threading.Event()
    statuses: list[object] = []

    def ask(url: str) -> None:
        with urllib3.PoolManager(retries=False) as http:
            while not ended.wait(0.02):
                try:
                    statuses.append(http.request("POST", f"{url}/v1/rerank", json=BODY, timeout=30).status)
                except urllib3.exceptions.HTTPError as error:
                    statuses.append(repr(error))

    def has_requests(port: int) -> bool:
        """A process counts from 0: it was started, and the balancer sends to it."""
        return metric(f"http://127.0.0.1:{port}", counted) > 0

    try:
        with balancing(tmp_path, ports) as url:
            for port in ports:
                address = f"http://127.0.0.1:{port}/-/ready"
                wait_until(lambda a=address: urllib3.request("GET", a, timeout=5).status == 200, "both are ready")  # type: ignore[misc]
            # HAProxy too has to see that they are ready.
            wait_until(
                lambda: urllib3.request("POST", f"{url}/v1/rerank", json=BODY, timeout=30, retries=False).status == 200,
                "the balancer sends to one",
            )
            clients = [threading.Thread(target=ask, args=[url]) for _ in range(3)]
            for client in clients:
                client.start()
            try:
                for place, port in enumerate(ports):
                    for each in ports:
                        wait_until(lambda each=each: has_requests(each), "the balancer sends to both")  # type: ignore[misc]
                    running[place].send_signal(signal.SIGTERM)
                    assert running[place].wait(PATIENCE_S) == 0
                    running[place] = instance(home, port)
                wait_until(lambda: has_requests(ports[1]), "the second is back")
            finally:
                ended.set()
                for client in clients:
                    client.join()
    finally:
        for process in running:
            process.kill()
            process.wait()
    assert len(statuses) > 100
    assert set(statuses) == {200}
