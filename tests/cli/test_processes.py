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
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import urllib3

from tests.cli.test_serve import serving

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
BODY = {"query": "cat", "documents": ["pain", "chat"], "language": "en", "document_languages": "fr"}
# Far longer than anything here takes: a hang ends, and no figure is tested.
PATIENCE_S = 300.0


def metric(address: str, line: str) -> float:
    text = urllib3.request("GET", f"{address}/-/metrics", timeout=60).data.decode()
    found = re.search(rf"^{re.escape(line)} (\S+)$", text, re.M)
    return float(found.group(1)) if found else 0.0


def wait_until(holds: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        try:
            if holds():
                return
        except urllib3.exceptions.HTTPError:
            pass
        time.sleep(0.05)
    pytest.fail(f"waited in vain until {what}")


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
def test_the_numbers_of_all_processes_add_up_and_a_signal_ends_them(home: Path) -> None:
    n_requests = 40
    with serving(home, "--processes", "2") as (process, address):
        wait_until(lambda: urllib3.request("GET", f"{address}/-/ready", timeout=60).status == 200, "it is ready")
        wait_until(lambda: len(children(process.pid)) == 2, "both processes are there")
        workers = children(process.pid)
        with urllib3.PoolManager(headers={"Connection": "close"}) as http:
            answers = [http.request("POST", f"{address}/v1/rerank", json=BODY, timeout=60) for _ in range(n_requests)]
        counted = metric(address, 'sinkrank_http_requests_total{method="POST",route="/v1/rerank",status="200"}')
        embeddings = [memory_of(pid, "/embeddings/") for pid in workers]
        whole = [memory_of(pid) for pid in workers]
        process.send_signal(signal.SIGTERM)
        _, stderr = process.communicate(timeout=PATIENCE_S)

    assert [[result["index"] for result in answer.json()["results"]] for answer in answers] == [[1, 0]] * n_requests
    assert counted == n_requests
    # Of a page that n processes have each has 1/n in its proportional size; here they are three, with the first one.
    assert all(0 < proportional <= resident / 2 for resident, proportional in embeddings), embeddings
    # Compiled kernels and imported modules are shared too.
    assert all(proportional < resident / 2 for resident, proportional in whole), whole
    assert process.returncode == 0
    assert stderr.endswith("stopped\n")
    assert not [pid for pid in workers if Path(f"/proc/{pid}").exists()]


def test_while_it_drains_it_says_that_it_is_not_ready_and_answers_all_the_same(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SINKRANK_DRAIN_S", "2")
    with serving(home) as (process, address):
        before = urllib3.request("GET", f"{address}/-/ready", timeout=60).status
        process.send_signal(signal.SIGTERM)
        wait_until(lambda: urllib3.request("GET", f"{address}/-/ready", timeout=60).status == 503, "it drains")
        said = urllib3.request("GET", f"{address}/-/ready", timeout=60).json()
        answer = urllib3.request("POST", f"{address}/v1/rerank", json=BODY, timeout=60)
        process.communicate(timeout=PATIENCE_S)

    assert before == 200
    assert [name for name, check in said["checks"].items() if not check["ready"]] == ["running"]
    assert answer.status == 200
    assert process.returncode == 0


def test_several_processes_drain_after_the_first_signal_and_end_at_the_second(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SINKRANK_DRAIN_S", "600")  # longer than the test waits
    with serving(home, "--processes", "2") as (process, address):
        wait_until(lambda: urllib3.request("GET", f"{address}/-/ready", timeout=10).status == 200, "it is ready")
        process.send_signal(signal.SIGTERM)
        wait_until(lambda: urllib3.request("GET", f"{address}/-/ready", timeout=10).status == 503, "it drains")
        answer = urllib3.request("POST", f"{address}/v1/rerank", json=BODY, timeout=60)
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE_S)

    assert answer.status == 200
    assert process.returncode == 0


def test_several_processes_end_when_they_have_drained(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SINKRANK_DRAIN_S", "0.5")
    with serving(home, "--processes", "2") as (process, address):
        wait_until(lambda: urllib3.request("GET", f"{address}/-/ready", timeout=10).status == 200, "it is ready")
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


@contextmanager
def balancing(folder: Path, ports: list[int]) -> Iterator[str]:
    """A balancer in front of two instances, with the configuration that we ship; its address."""
    balancer = f"127.0.0.1:{free_port()}"
    environment = {
        "BALANCER": balancer,
        "SINKRANK_ONE": f"127.0.0.1:{ports[0]}",
        "SINKRANK_TWO": f"127.0.0.1:{ports[1]}",
        "CHECK_INTERVAL": "200ms",
    }
    command = ["haproxy", "-db", "-f", str(ROOT / "deploy" / "haproxy" / "haproxy.cfg")]
    with (folder / "haproxy.log").open("wb") as log:
        process = subprocess.Popen(command, env={**os.environ, **environment}, stdout=log, stderr=log)
    try:
        yield f"http://{balancer}"
    finally:
        process.kill()
        process.wait()


def instance(home: Path, port: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "sinkrank", "serve", "--port", str(port)],
        cwd=home,
        env={**os.environ, "PYTHONPATH": str(ROOT), "SINKRANK_DRAIN_S": "1.5"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


@pytest.mark.skipif(shutil.which("haproxy") is None, reason="haproxy is not installed (on Debian: apt install haproxy)")
def test_two_instances_are_restarted_in_turn_without_an_error(home: Path, tmp_path: Path) -> None:
    ports = [free_port(), free_port()]
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
            wait_until(lambda: urllib3.request("GET", f"{url}/-/ready", timeout=5).status == 200, "one is ready")
            for port in ports:
                address = f"http://127.0.0.1:{port}/-/ready"
                wait_until(lambda a=address: urllib3.request("GET", a, timeout=5).status == 200, "both are ready")  # type: ignore[misc]
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
