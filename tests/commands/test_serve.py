"""`sinkrank serve`: the settings it shows, and how it starts and ends."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import urllib3
from flask import Flask

from reranker.base.errors import BadInput
from reranker.service.settings import Settings
from sinkrank.serving.server import address_of, bind, serve_until_stopped
from tests.support.commands import Run
from tests.support.listening import closed_port

ROOT = Path(__file__).resolve().parents[2]


def test_print_settings_shows_each_value_and_where_it_came_from(
    empty_home: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    (empty_home / "sinkrank.toml").write_text("depth = 50\ngrace_s = 3\nport = 1\nindex = 'pages'\n")
    monkeypatch.setenv("SINKRANK_GRACE_S", "7")
    monkeypatch.setenv("SINKRANK_PORT", "8")
    monkeypatch.setenv("SINKRANK_INDEX", "")  # as compose files write a variable that is not set

    settings = json.loads(run("serve", "--print-settings", "--json", "--port", "0").stdout)
    assert settings["depth"] == {"value": 50, "from": "sinkrank.toml"}
    assert settings["grace_s"] == {"value": 7, "from": "environment"}
    assert settings["port"] == {"value": 0, "from": "flag"}
    assert settings["index"] == {"value": "pages", "from": "sinkrank.toml"}
    assert settings["method"] == {"value": "auto", "from": "default"}
    assert set(settings) == set(Settings.model_fields)


def test_json_without_print_settings_is_wrong_use(empty_home: Path, run: Run) -> None:
    run("serve", "--json", exits=2)


def test_without_embeddings_and_without_an_engine_it_ends_with_the_command_that_helps(
    empty_home: Path, run: Run
) -> None:
    assert "sinkrank embeddings prepare FILE" in run("serve", "--port", "0", exits=1).stderr


def test_the_start_ends_by_a_signal_also_as_process_1_of_a_container(
    empty_home: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Signals without a handler do nothing to such a process (man 2 kill)."""
    handled: list[object] = []
    monkeypatch.setattr(
        "sinkrank.commands.serve.run_service", lambda *_: handled.append(signal.getsignal(signal.SIGTERM))
    )
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        assert run("serve").exit_code == 0
    finally:
        signal.signal(signal.SIGTERM, before)
    assert callable(handled[0])


def test_a_port_that_is_taken_is_an_error_with_the_cure() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(BadInput, match=r"cannot listen at .*--port"):
        bind("127.0.0.1", taken.getsockname()[1])


def test_a_host_that_cannot_be_a_name_is_an_error_with_the_cure() -> None:
    with pytest.raises(BadInput, match=r"cannot listen at .*--host"):
        bind("bücher..example", 0)


@contextmanager
def serving(home: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A real process of `sinkrank serve` in a process group of its own, and its address once it is ready."""
    process = subprocess.Popen(
        [sys.executable, "-m", "sinkrank", "serve", "--port", "0", *arguments],
        cwd=home,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
    )
    assert process.stderr is not None
    try:
        for line in process.stderr:
            if found := re.search(r"sinkrank serves (http://\S+)", line):
                yield process, found.group(1)
                break
        else:
            pytest.fail("the service ended before it was ready")
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


@pytest.mark.slow
@pytest.mark.parametrize("stop", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.conformance)])
def test_the_service_answers_drains_and_ends_with_code_0_when_told_to(
    indexed: Path, stop: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SINKRANK_DRAIN_S", "600")  # longer than the test waits
    with serving(indexed) as (process, address):
        ready = urllib3.request("GET", f"{address}/-/ready", timeout=60)
        process.send_signal(stop)
        while (draining := urllib3.request("GET", f"{address}/-/ready", timeout=60)).status == 200:
            time.sleep(0.02)
        found = urllib3.request("POST", f"{address}/v1/search", json={"query": "cat", "language": "en"}, timeout=60)
        process.send_signal(stop)  # the second one ends the drain
        stdout, stderr = process.communicate(timeout=120)

    assert ready.status == 200
    assert draining.status == 503
    assert [name for name, check in draining.json()["checks"].items() if not check["ready"]] == ["running"]
    assert found.json()["hits"][0]["id"] == "fr/chat"
    assert process.returncode == 0
    assert stdout == ""
    assert stderr.endswith("stopped\n")


def test_an_engine_that_is_down_is_said_before_the_first_search(
    home: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # and does not listen
        address = f"opensearch://127.0.0.1:{nobody.getsockname()[1]}"
        monkeypatch.setattr("sinkrank.commands.serve.run_service", lambda settings, store: None)
        result = run("serve", "--port", "0", "--store", address)
    assert f"nothing answers at {address}" in result.stderr
    # Another address may have been given to a command (`ingest --from-index`).
    assert "of this address (the setting store, or what the command names)" in " ".join(result.stderr.split())
    assert "/-/ready says 503 until it answers" in result.stderr


def test_what_is_set_wrong_for_the_engine_ends_the_start_and_is_said_once(
    home: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SINKRANK_STORE_CA_CERTS", "none.pem")
    result = run("serve", "--port", "0", "--store", f"https://127.0.0.1:{closed_port()}", exits=1)
    cure = "store_ca_certs 'none.pem' cannot be used (No such file or directory); give a PEM file of authorities"
    assert " ".join(result.stderr.split()) == f"sinkrank: {cure}"


@pytest.mark.slow
def test_each_line_of_a_log_in_json_is_an_object_from_the_first_to_the_last(
    empty_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SINKRANK_LOG_FORMAT", "json")
    monkeypatch.setenv("SINKRANK_STORE_VERIFY_CERTS", "false")
    address = f"https://127.0.0.1:{closed_port()}"
    process = subprocess.Popen(
        [sys.executable, "-m", "sinkrank", "serve", "--port", "0", "--processes", "1", "--store", address],
        cwd=empty_home,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    messages: list[tuple[str, str]] = []
    try:
        for line in process.stderr:
            record = json.loads(line)
            messages.append((record["level"], record["message"]))
            if record["message"].startswith("sinkrank serves http://"):
                process.terminate()
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 0
    assert messages[0] == ("warning", f"the certificate of {address} is not checked")
    assert any(level == "warning" and f"nothing answers at {address}" in message for level, message in messages)
    assert messages[-1] == ("info", "stopped")


def stopped_meanwhile(handle: Callable[[], str], grace_s: float) -> list[bytes]:
    """Serves one route, asks it, sends SIGTERM while it works, and returns the answers after the server has ended."""
    begun = threading.Event()
    answers: list[bytes] = []
    app = Flask(__name__)

    @app.get("/")
    def route() -> str:
        begun.set()
        return handle()

    def ask(address: str) -> None:
        with suppress(urllib3.exceptions.HTTPError):
            answers.append(urllib3.request("GET", address, timeout=60, retries=False).data)

    def stop() -> None:
        begun.wait(60)
        os.kill(os.getpid(), signal.SIGTERM)

    with bind("127.0.0.1", 0) as listener:
        threads = [threading.Thread(target=ask, args=[address_of(listener)]), threading.Thread(target=stop)]

        def start() -> None:
            for thread in threads:
                thread.start()

        serve_until_stopped(app, Settings(grace_s=grace_s), listener, start)
    for thread in threads:
        thread.join()
    return answers


def test_a_running_request_is_answered_after_the_signal() -> None:
    def slow() -> str:
        time.sleep(2)  # longer than waitress itself waits
        return "whole"

    answers = stopped_meanwhile(slow, grace_s=10)

    assert answers == [b"whole"]


def test_a_request_that_does_not_end_is_not_waited_for_longer_than_the_grace() -> None:
    release = threading.Event()

    def stuck() -> str:
        release.wait()
        return "late"

    # It would wait for ever otherwise.
    answers = stopped_meanwhile(stuck, grace_s=0.5)
    release.set()

    assert answers == []
