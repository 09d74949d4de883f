"""A local Ray with two workers does what processes do, document for document, and goes on where it was killed."""

from __future__ import annotations

import importlib.util
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import SimpleNamespace

import pytest

from ingest.ray_workers import RayWorkers
from reranker.base.errors import BadInput, MissingPackage, NoEmbeddings, SinkrankError
from reranker.stores import open_store
from reranker.stores.base.protocol import WritableStore
from tests.ingest.faulty_proxy import Fault, faulty_proxy
from tests.ingest.runs import N_MANY, Runs, assert_equal, start
from tests.support.engines.sources import Engine
from tests.support.listening import closed_port

ON_RAY = ("--ray", "local", "--workers", "2")


NEEDS_RAY = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed (extra ray)")


def assert_as_by_a_process(store: WritableStore, index: str, other: str, runs: Runs) -> None:
    """The index has what a run in this process makes under the other name."""
    runs.assert_whole(store, index)
    (runs.folder / "process").mkdir()
    assert replace(runs, folder=runs.folder / "process")(store, other).indexed == N_MANY
    assert store.open(index).idf().version == store.open(other).idf().version
    assert store.open(index).hubness_sample() == store.open(other).hubness_sample()
    for number in (*range(0, N_MANY, 300), N_MANY - 1):
        assert_equal(*(store.open(name).fetch(str(number)) for name in (index, other)))


@pytest.fixture
def two_indices(first_engine: Engine, new_index: Callable[[], str]) -> Iterator[tuple[WritableStore, str, str]]:
    """A store, and the names of two indices that are dropped at the end."""
    store, one, two = open_store(first_engine.url), new_index(), new_index()
    yield store, one, two
    for name in {one, two} & set(store.indices()):
        store.drop(name)
    store.close()


def ray_workers_of(pid: int) -> list[int]:
    """Descendants of a process that hold an actor of ours: Ray writes its class into their command lines."""
    listed = subprocess.run(["ps", "-eo", "pid=,ppid=,args="], capture_output=True, text=True, check=True).stdout
    rows = [(int(row[0]), int(row[1]), row[2]) for line in listed.splitlines() if len(row := line.split(None, 2)) == 3]
    family = {pid}
    while more := {one for one, parent, _ in rows if parent in family} - family:
        family |= more
    return [one for one, _, arguments in rows if one in family and arguments.startswith("ray::_Worker")]


def until_ray_starts(attempt: Callable[[], str]) -> None:
    """Makes the attempt again where Ray did not start in it; it gives what the run said."""
    for _ in range(3):
        if "timed out during startup" not in attempt():
            return
    pytest.skip("Ray starts in 30 s or not at all, and this machine is too busy")


@pytest.mark.slow
@NEEDS_RAY
def test_two_ray_workers_make_the_same_index_also_after_one_of_them_was_killed(
    first_engine: Engine, two_indices: tuple[WritableStore, str, str], many_runs: Runs
) -> None:
    store, by_ray, by_process = two_indices
    started: list[subprocess.Popen[str]] = []
    killed: list[int] = []
    stdout = ""

    def kill(number: int) -> Fault:
        """Before the first documents are written, when most of them are still to be handed out."""
        if number == 0:
            killed.extend(ray_workers_of(started[-1].pid)[:1])
            for pid in killed:
                os.kill(pid, signal.SIGKILL)
        return "pass"

    def run() -> str:
        nonlocal stdout
        started.append(start(many_runs.command(proxy.address, by_ray, *ON_RAY)))
        stdout, stderr = started[-1].communicate(timeout=500)
        return stderr

    with faulty_proxy(first_engine.url, kill) as proxy:
        until_ray_starts(run)
    assert len(killed) == 1
    assert "3,000 of 3,007 documents are in index" in stdout
    assert_as_by_a_process(store, by_ray, by_process, many_runs)


@pytest.mark.conformance  # a cluster takes twenty seconds to start
@NEEDS_RAY
def test_workers_for_which_a_cluster_has_no_processor_get_nothing_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    from ray.cluster_utils import Cluster

    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    clusters: list[Cluster] = []

    def begin() -> str:
        try:
            clusters.append(Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False}))
        except Exception as error:  # Ray raises nothing narrower
            return str(error)
        return ""

    until_ray_starts(begin)
    (cluster,) = clusters
    try:
        with RayWorkers(10, 3, cluster.address) as workers:
            assert list(workers.map(pow, range(1, 8))) == [(power, 10**power) for power in range(1, 8)]
    finally:
        cluster.shutdown()


@pytest.mark.parametrize(
    "address", ["127.0.0.1:{}", "ray://127.0.0.1:{}", "[::1]:{}", "a b", "host:port", "ray://", "127.0.0.1:70000", ""]
)
def test_ray_is_not_asked_for_a_cluster_that_does_not_answer(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    """It would try for over a minute."""

    def init(**options: object) -> None:
        raise AssertionError("Ray was asked")

    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(init=init))
    address = address.format(closed_port())
    with pytest.raises(BadInput, match=r"no Ray cluster answers at .* give local, auto, HOST:6379 or ray://HOST:10001"):
        RayWorkers(None, 1, address).__enter__()


def test_ray_is_asked_for_a_cluster_whose_host_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    def init(**options: object) -> None:
        raise ConnectionError(f"asked for {options['address']}")

    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(init=init))
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"ray://127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(BadInput, match=f"asked for {address}.* RAY_AUTH_MODE=token"):
            RayWorkers(None, 1, address).__enter__()


def test_sigterm_ends_a_run_on_ray_as_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray has a handler that writes a trace of the stack and aborts."""

    def init(**options: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)

    actor = SimpleNamespace(remote=lambda shared: None)
    ray = SimpleNamespace(
        init=init, available_resources=dict, remote=lambda **options: lambda kind: actor, shutdown=lambda: None
    )
    monkeypatch.setitem(sys.modules, "ray", ray)
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with RayWorkers(None, 1, "local"):
            assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingPackage, match=r"sinkrank\[ray\]"):
        RayWorkers(None, 2, "local")


@NEEDS_RAY
def test_a_ray_that_does_not_start_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def init(**options: object) -> None:
        raise Exception("The current node timed out\nduring startup.")  # Ray raises it so

    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(init=init))
    with pytest.raises(BadInput, match=r"does not start here \(The current node timed out during startup\.\)"):
        RayWorkers(None, 2, "local").__enter__()


@NEEDS_RAY
def test_workers_that_cannot_open_the_embeddings_are_said_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    import ray
    from ray.exceptions import ActorDiedError, RayTaskError

    reason = "there are no embeddings at /data/embeddings"
    trace = f'Traceback (most recent call last):\n  File "store.py", line 97, in open\nNoEmbeddings: {reason}'

    def get(reference: object) -> None:  # as where the creation of a worker fails
        raise ActorDiedError(RayTaskError("_Worker.__init__", trace, NoEmbeddings(reason)))

    monkeypatch.setattr(ray, "get", get)
    with pytest.raises(SinkrankError, match=rf"\(NoEmbeddings: {reason}\); .* embeddings at the same path"):
        RayWorkers(None, 1, "local")._result(None)
