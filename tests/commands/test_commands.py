"""What all commands have in common: help, exit codes, what goes where."""

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest

from reranker.base.errors import BadInput
from tests.support.commands import DOCUMENTS, Run, write_rows

ROOT = Path(__file__).resolve().parents[2]


def process(home: Path, *arguments: str, stdout: int | IO[str] = subprocess.PIPE) -> subprocess.CompletedProcess[str]:
    """Runs the command line as a user's shell does, with its output in pipes."""
    return _interpreter(home, "-m", "sinkrank", *arguments, stdout=stdout)


def python(home: Path, script: str) -> subprocess.CompletedProcess[str]:
    """Runs a script that can import the project."""
    return _interpreter(home, "-c", script)


def _interpreter(
    home: Path, *arguments: str, stdout: int | IO[str] = subprocess.PIPE
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=home,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize(
    "arguments", [["serach"], ["search"], ["search", "cat", "--no-such-flag"], ["embeddings", "x"]]
)
def test_wrong_use_is_exit_code_2(run: Run, arguments: list[str]) -> None:
    run(*arguments, exits=2)


def test_a_folder_for_reports_that_cannot_be_written_is_refused_before_anything_is_read(
    empty_home: Path, run: Run
) -> None:
    (empty_home / "report").write_text("a file")
    result = run("evaluate", "--qrels", "no-such-file", "--output", "report", exits=1)
    assert result.stderr == "sinkrank: report: File exists; name another, or move what is there away\n"


def test_the_version_needs_no_command(run: Run) -> None:
    result = run("--version")
    assert result.stderr == ""
    assert result.stdout == f"{importlib.metadata.version('sinkrank')}\n"


def test_help_imports_nothing_heavy(empty_home: Path) -> None:
    heavy = {"numpy", "scipy", "flask", "opensearchpy", "waitress"}
    result = python(empty_home, "import sys, sinkrank.commands.app; print(*sys.modules)")
    assert "typer" in result.stdout.split(), result.stderr
    assert set(result.stdout.split()) & heavy == set()


@pytest.mark.slow
@pytest.mark.parametrize("more", [[], ["--json"]])
def test_output_into_a_pipe_is_utf_8_whatever_the_locale_and_takes_any_text(
    home: Path, run: Run, more: list[str]
) -> None:
    """A byte that is no UTF-8 is half a surrogate pair as an argument, of which JSON may hold the escape alone."""
    name = os.fsdecode(b"Fran\xe7ais.jsonl")
    write_rows(home / name, [{"id": "1", "language": "en", "title": "Γάτα 😺", "text": "cat"}, "no row"])

    def output_of(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "sinkrank", *arguments, *more],
            cwd=home,
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "cp1252"},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=120,
            check=False,
        )
        return done.stdout.decode("utf-8")

    ingested, found = output_of("ingest", name), output_of("search", "cat", "--lang", "en")
    if more:
        assert json.loads(ingested)["rejects"] == f"{name}.rejects"
        assert json.loads(found)["hits"][0]["title"] == "Γάτα 😺"
    else:
        assert "Fran\\udce7ais.jsonl.rejects" in ingested
    assert "Γάτα 😺" in found


def test_an_error_has_no_traceback_unless_asked_for(empty_home: Path) -> None:
    quiet = process(empty_home, "search", "cat")
    assert (quiet.returncode, quiet.stdout) == (1, "")
    assert quiet.stderr.startswith("sinkrank: there are no embeddings at ")
    assert "Traceback" not in quiet.stderr

    loud = process(empty_home, "--debug", "search", "cat")
    assert loud.returncode == 1
    assert "Traceback" in loud.stderr


def test_in_a_pipe_results_are_alone_on_standard_output_and_there_is_no_bar(home: Path) -> None:
    write_rows(home / "in.jsonl", DOCUMENTS)
    ingested = process(home, "ingest", "in.jsonl", "--json")
    assert (ingested.returncode, ingested.stderr) == (0, "")
    assert json.loads(ingested.stdout)["indexed"] == 4

    found = process(home, "search", "cat", "--lang", "en", "--json")
    assert (found.returncode, found.stderr) == (0, "")
    assert json.loads(found.stdout)["hits"][0]["id"] == "fr/chat"


def test_ctrl_c_ends_with_code_130(home: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("sinkrank.console.resources.open_embeddings", interrupted)
    assert run("search", "cat", exits=130).stderr == "sinkrank: stopped\n"


def test_ctrl_c_while_the_commands_are_imported_ends_without_a_traceback(empty_home: Path) -> None:
    # `sinkrank.commands.app` is what is imported when Ctrl-C comes in the first tenth of a second.
    script = """
import sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "sinkrank.commands.app":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupting())
from sinkrank.__main__ import main
main()
"""
    result = python(empty_home, script)
    assert (result.returncode, result.stderr) == (130, "sinkrank: stopped\n")


@pytest.mark.parametrize(("name", "code", "said"), [("SIGINT", 130, "sinkrank: stopped\n"), ("SIGTERM", 143, "")])
def test_a_signal_that_a_destructor_swallows_is_not_lost(empty_home: Path, name: str, code: int, said: str) -> None:
    script = f"""
import os, signal, sys, time, types

class Destroyed:
    def __del__(self):
        os.kill(os.getpid(), signal.{name})  # the error of its handler is raised in here
        for _ in range(1_000_000):
            pass

def app(prog_name):
    def end(number, frame):
        raise SystemExit(128 + number)

    signal.signal(signal.SIGTERM, end)  # as `sinkrank ingest`
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have started the tests in the background
    Destroyed()
    time.sleep(20)

sys.modules["sinkrank.commands.app"] = types.SimpleNamespace(app=app)
from sinkrank.__main__ import main
main()
"""
    result = python(empty_home, script)
    assert (result.returncode, result.stderr) == (code, said)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_is_named_with_the_cure(empty_home: Path) -> None:
    with Path("/dev/full").open("w") as full:
        result = process(empty_home, "serve", "--print-settings", stdout=full)
    assert result.returncode == 1
    assert result.stderr == "sinkrank: No space left on device; free some space, and give the command again\n"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            FileNotFoundError(2, "No such file or directory", "a"),
            "a: No such file or directory; check the path, and that the folder is there",
        ),
        (
            PermissionError(13, "Permission denied", "b"),
            "b: Permission denied; check its permissions, or name another",
        ),
        (IsADirectoryError(21, "Is a directory", "c"), "c: Is a directory; name a file"),
        (ConnectionRefusedError(111, "Connection refused"), "Connection refused"),
        (OSError("one\n  two"), "one two"),
        (BadInput("one\n  two"), "one two"),
    ],
    ids=["missing", "forbidden", "folder", "no file at all", "no number", "of ours"],
)
def test_an_error_is_told_in_one_line_and_one_of_the_system_with_the_file_and_the_cure(
    home: Path, run: Run, monkeypatch: pytest.MonkeyPatch, error: Exception, said: str
) -> None:
    def fails(*_: object) -> None:
        raise error

    monkeypatch.setattr("sinkrank.console.resources.open_embeddings", fails)
    assert run("search", "cat", exits=1).stderr == f"sinkrank: {said}\n"


def test_json_has_the_shape_of_the_service(indexed: Path, run: Run) -> None:
    from reranker.api.app import create_app
    from reranker.embeddings import Embeddings
    from reranker.service.settings import Settings
    from reranker.stores import open_store

    store = open_store(".sinkrank/store")
    client = create_app(Settings(), store, Embeddings.open(Path(".sinkrank/embeddings"))).test_client()
    served = client.post("/v1/search", json={"query": "cat", "language": "en"}).get_json()
    printed = json.loads(run("search", "cat", "--lang", "en", "--json").stdout)
    del served["took_ms"], printed["took_ms"]
    assert printed == served

    served = client.post("/v1/explain", json={"query": "cat", "language": "en", "id": "fr/animaux"}).get_json()
    assert json.loads(run("explain", "cat", "fr/animaux", "--lang", "en", "--json").stdout) == served
    store.close()
