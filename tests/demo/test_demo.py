"""The demo from end to end on the shipped texts, as on a machine without apt."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from rich.console import Console

from reranker.base.errors import BadInput
from reranker.embeddings import Embeddings
from reranker.service.settings import Settings
from reranker.stores import open_store
from sinkrank.commands import demo_run
from sinkrank.commands.demo_run import run_demo
from sinkrank.console.steps import step
from tests.stores.samples import make_index
from tests.support.tiny import tiny_embeddings

pytestmark = pytest.mark.slow

# 16 held-out texts in three languages.
N_DOCUMENTS = 48


def demo_command(home: Path, *more: str) -> list[str]:
    return [sys.executable, "-m", "sinkrank", "demo", "--home", str(home), *more]


def environment_without_apt(folder: Path) -> dict[str, str]:
    empty = folder / "empty"
    empty.mkdir(exist_ok=True)
    return {**os.environ, "PATH": str(empty)}


@pytest.fixture(scope="module")
def first_run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    done = subprocess.run(
        demo_command(folder / "home", "--no-serve"),
        env=environment_without_apt(folder),
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder / "home", done


@pytest.fixture
def home(first_run, tmp_path, monkeypatch):
    """A copy of what the first run left, and no apt."""
    monkeypatch.setenv("PATH", environment_without_apt(tmp_path)["PATH"])
    return Path(shutil.copytree(first_run[0], tmp_path / "home"))


def run_again(home: Path) -> str:
    said = io.StringIO()
    run_demo(Settings(home=home), Console(file=said, width=200), serve=False)
    return said.getvalue()


def n_documents(home: Path) -> int:
    store = open_store(str(home / "store"))
    try:
        return store.open("texts").count()
    finally:
        store.close()


def test_without_apt_it_says_what_to_do_and_goes_on_with_the_shipped_texts(first_run):
    home, done = first_run

    assert "there is no apt-get" in done.stderr
    assert "debian:bookworm" in done.stderr
    assert Embeddings.open(home / "embeddings").languages
    assert n_documents(home) == N_DOCUMENTS


def test_in_a_pipe_each_step_is_one_line_on_standard_error_with_its_time(first_run):
    _, done = first_run

    for name in ("training embeddings on", "indexing 48 held-out pages"):
        assert re.search(rf"^{name}.* … done in \d+ s$", done.stderr, re.MULTILINE)
    assert "\x1b" not in done.stderr


def test_one_search_in_both_orders_one_across_languages_and_what_to_type_next_are_printed(first_run):
    home, done = first_run

    headings = [line.partition(" near: ")[0] for line in done.stdout.splitlines() if line and line[0] != " "]
    assert [line for line in headings if not line.startswith("What brought “")] == [
        "“light for young plants”: English query, English pages",
        "“un billet d'autobus pour les enfants”: French query, English pages",
        "Next, your own index:",
        "The page with these searches:",
    ]
    assert re.search(r"^What brought “.*” near: .* → .*$", done.stdout, re.MULTILINE)
    assert re.search(r"by BM25 +by Sinkrank +was", done.stdout)
    assert re.search(r"English page +in English", done.stdout)
    assert f"  sinkrank demo --home {home}" in done.stdout.splitlines()
    assert "\x1b" not in done.stdout
    assert "done in" not in done.stdout


def test_its_queries_are_kept_for_the_page_to_offer(first_run):
    home, _ = first_run
    offered = json.loads((home / "examples.json").read_text(encoding="utf-8"))["texts"]
    assert offered[0] == {"query": "light for young plants", "language": "en", "target": "en"}
    assert len(offered) == 3


def test_the_next_commands_can_be_typed_as_they_stand(home, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["a folder/.venv/bin/sinkrank", "demo"])  # in no active environment
    run_again(home)
    lines = capsys.readouterr().out.splitlines()
    (prepare,) = [shlex.split(line) for line in lines if " embeddings prepare " in line]
    assert prepare[:3] == ["a folder/.venv/bin/sinkrank", "embeddings", "prepare"]
    # The demo's folder has embeddings already.
    assert prepare[prepare.index("--home") + 1] != str(home)
    assert shlex.split(lines[-1]) == ["a folder/.venv/bin/sinkrank", "demo", "--home", str(home)]


def test_a_second_run_uses_what_is_there(home, capsys):
    before = (home / "embeddings" / "meta.json").stat()

    said = run_again(home)

    assert "training" not in said
    assert "indexing" not in said
    after = (home / "embeddings" / "meta.json").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert capsys.readouterr().out.count(" query, English pages") == 2


def test_a_run_that_was_stopped_while_indexing_is_done_again(home):
    state_file = home / "demo.json"
    whole = json.loads(state_file.read_text())
    state_file.write_text(json.dumps({"index": "texts"}))

    said = run_again(home)

    assert "training" not in said
    assert "indexing 48" in said
    assert json.loads(state_file.read_text()) == whole


def test_an_index_of_fewer_documents_than_it_should_hold_is_made_anew(home):
    store = open_store(str(home / "store"))
    made = store.open("texts").description
    store.drop("texts")
    make_index(store, "texts", made)
    store.close()

    assert "indexing 48" in run_again(home)
    assert n_documents(home) == N_DOCUMENTS


def test_the_demo_of_another_corpus_makes_way(home):
    store = open_store(str(home / "store"))
    make_index(store, "libreoffice", store.open("texts").description)
    store.drop("texts")
    store.close()
    state_file = home / "demo.json"
    state_file.write_text(json.dumps({**json.loads(state_file.read_text()), "index": "libreoffice"}))
    meta = home / "embeddings" / "meta.json"
    changed = json.loads(meta.read_text())
    changed["source"]["corpus"] = "libreoffice"
    meta.write_text(json.dumps(changed))

    assert "training" in run_again(home)

    store = open_store(str(home / "store"))
    assert store.indices() == ["texts"]  # the only one, so that a search need not name it
    store.close()


def test_embeddings_that_the_demo_has_not_made_are_left_alone(home):
    shutil.rmtree(home / "embeddings")
    theirs = tiny_embeddings(home / "embeddings")

    with pytest.raises(BadInput, match="not replaced"):
        run_again(home)

    assert Embeddings.open(theirs.path).version == theirs.version


def test_an_index_that_the_demo_has_not_made_is_left_alone(home):
    (home / "demo.json").unlink()

    with pytest.raises(BadInput, match="did not make"):
        run_again(home)

    assert n_documents(home) == N_DOCUMENTS


def test_it_serves_until_it_is_interrupted_and_ends_with_zero(home, tmp_path):
    command = demo_command(home, "--port", "0")
    with subprocess.Popen(
        command, env=environment_without_apt(tmp_path), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stderr is not None
        try:
            lines = iter(process.stderr.readline, "")
            address = next(line.split()[-1] for line in lines if line.startswith("sinkrank serves "))
            page = next(lines).split()
            body = json.dumps({"query": "un billet", "language": "fr", "languages": ["en"]}).encode()
            request = urllib.request.Request(f"{address}/v1/search", body, {"Content-Type": "application/json"})
            with urllib.request.urlopen(request, timeout=30) as response:
                hits = json.load(response)["hits"]
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=30)
    assert process.returncode == 0
    assert page == ["the", "page:", f"{address}/-/ui?query=light+for+young+plants&language=en&target=en"]
    assert {hit["language"] for hit in hits} == {"en"}


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="only Linux shows the open files of a process")
def test_the_service_is_given_no_connection_that_was_used_before_its_processes_start(home, monkeypatch):
    opened = []

    def note_open_files(*_):
        for descriptor in list(Path("/proc/self/fd").iterdir()):
            with contextlib.suppress(FileNotFoundError):  # that of the list itself
                opened.append(descriptor.readlink())

    monkeypatch.setattr(demo_run, "run_service", note_open_files)
    run_demo(Settings(home=home), Console(file=io.StringIO()), serve=True)
    assert opened
    assert not [path for path in opened if path.is_relative_to(home / "store")]


def test_a_step_that_fails_says_so_and_lets_the_error_through():
    said = io.StringIO()
    console = Console(file=said, width=80)

    with pytest.raises(OSError, match="disk full"), step(console, "writing"):
        raise OSError("disk full")

    assert said.getvalue() == "writing … stopped\n"


def test_on_a_terminal_a_step_shows_a_bar():
    shown = io.StringIO()
    console = Console(file=shown, width=120, force_terminal=True, highlight=False)

    with step(console, "training") as progress:
        progress(3, 4, "counting words")

    assert "3/4" in shown.getvalue()
    assert re.search(r"training … done in \d+ s", shown.getvalue())
