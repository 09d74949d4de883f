"""Every command of the README runs, in an environment that its own line installed, on an index with a few pages in
other scripts."""

from __future__ import annotations

import ast
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import regex
import urllib3

from sinkrank.demo.shipped import load_parallel_texts
from tests.support.calls import make_index
from tests.support.commands import write_rows
from tests.support.engines.assemble import cache_folder
from tests.support.engines.sources import Engine
from tests.test_docs_code import ROOT, code_blocks

# The machine may do much else: these end what hangs.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1_800)]
_LIMIT_S = 600

README = ROOT / "README.md"
BLOCKS = code_blocks(README)
NOT_USED = "7 documents in 3 other languages (zh 4, ru 2, ja 1): not used"
N_PAGES = 200
# Article 1 of the Universal Declaration of Human Rights.
CHINESE = "人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心，并应以兄弟关系的精神相对待。"
JAPANESE = "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。"
RUSSIAN = "Все люди рождаются свободными и равными в своем достоинстве и правах."
PRINTERS = "The printer does not work if there is no paper. Printing needs ink too."

# What the README names without arguments, or leaves to other pages.
ON_THE_ENGINE = [
    "sinkrank doctor --store opensearch://localhost:9200 --index articles",
    'sinkrank search "printer does not work" --store opensearch://localhost:9200 --index articles',
    'sinkrank explain "printer does not work" 0 --store opensearch://localhost:9200 --index articles',
    "sinkrank evaluate --store opensearch://localhost:9200 --index articles --queries queries.jsonl --qrels qrels.txt",
]
ON_FILES = [
    'sinkrank explain "printer does not work" 0 --index pages',
    "sinkrank evaluate --index pages --first-stage bm25 --queries queries.jsonl --qrels qrels.txt",
    "sinkrank tune --index pages --first-stage bm25 --queries queries.jsonl --qrels qrels.txt",
]
EXPECTED = [
    (
        "sinkrank embeddings prepare",
        rf"(?s)passages: the words were mapped.*{regex.escape(NOT_USED)}.*words of the documents without an embedding",
    ),
    ("curl 'localhost:8080/articles", "^applied "),
    ("curl localhost:8080/v2/rerank", r'"results":\[\{"index":1,"relevance_score":0\.'),
    ("sinkrank ingest", "207 of 207 documents are in index"),
    ("sinkrank search", "When the printer does not print"),
    ("sinkrank explain", r"The score is 0\.\d+ = "),
    ("sinkrank evaluate", r"(?m)^ *auto +[01]\.\d"),
    ("sinkrank tune", r"(?m)^ *tuned +[01]\.\d"),
    ("sinkrank doctor", "(?m)^ok +embeddings: "),
]
"""The start of a command, and what each of these commands prints."""


def pages() -> list[dict[str, Any]]:
    """Short pages in English, each of two texts that come along, and seven in other scripts."""
    corpus = load_parallel_texts()
    texts = [
        (page.title, " ".join(paragraph.text for paragraph in page.paragraphs))
        for page in (*corpus.train_pages, *corpus.test_pages)
        if page.language == "en"
    ]
    rows = [
        {
            "title": f"{texts[n % len(texts)][0]} {n}",
            "text": f"{texts[n % len(texts)][1]} {texts[7 * n % len(texts)][1]} {PRINTERS if n % 20 == 0 else ''}",
        }
        for n in range(N_PAGES)
    ]
    rows += [{"title": text[:8], "text": text} for text in [CHINESE] * 4 + [JAPANESE, RUSSIAN, RUSSIAN]]
    return [{"id": str(n)} | row for n, row in enumerate(rows)]


@pytest.fixture(scope="module")
def environment() -> Iterator[Path]:
    """A new environment with what the README's line installs."""
    (line,) = [line for block in BLOCKS for line in block.splitlines() if line.startswith("pip install ")]
    _, _, *what = shlex.split(line, comments=True)
    uv = [sys.executable, "-m", "uv"]
    # As in the Makefile: the index of pip, and the versions that the other tests run with.
    pip = subprocess.run(
        [sys.executable, "-m", "pip", "config", "get", "global.index-url"], capture_output=True, text=True, check=False
    )
    index = os.environ.get("PIP_INDEX_URL") or pip.stdout.strip()
    options = ["--system-certs", "--no-config", "--quiet", "--constraint", "requirements.lock"]
    options += ["--default-index", index] if index else []
    # Not in memory: it takes hundreds of megabytes, most of which uv links from its cache where it can.
    with tempfile.TemporaryDirectory(prefix="readme-", dir=cache_folder()) as folder:
        home = Path(folder, "env")
        for command in (
            [*uv, "venv", "--no-config", "--quiet", "--python", sys.executable, str(home)],
            [*uv, "pip", "install", *options, "--python", str(home), *what],
        ):
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=_LIMIT_S, check=False)
            assert done.returncode == 0, f"{shlex.join(command)}\n{done.stderr}"
        yield home


class Terminal:
    """Runs lines of the README in a folder, with the addresses of this test in place of the README's."""

    def __init__(self, environment: Path, folder: Path, replaced: dict[str, str]) -> None:
        self.folder = folder
        self.replaced = replaced
        self.commands: set[str] = set()
        self._serving: list[subprocess.Popen[bytes]] = []
        inherited = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("SINKRANK_", "PYTHON")) and name != "VIRTUAL_ENV"
        }
        self._environ = {**inherited, "PATH": f"{environment / 'bin'}:{os.environ['PATH']}", "SINKRANK_PORT": "0"}

    def enter(self, name: str) -> None:
        """Goes to a new folder with files of pages and of judgments, and with the models that were fetched before."""
        models = self.folder / ".sinkrank" / "models"
        self.folder = self.folder.parent / name
        self.folder.mkdir()
        if models.exists():
            shutil.copytree(models, self.folder / ".sinkrank" / "models")
        rows = pages()
        write_rows(self.folder / "pages.jsonl", rows)
        judged = rows[:40]
        write_rows(self.folder / "queries.jsonl", [{"id": row["id"], "text": row["title"]} for row in judged])
        (self.folder / "qrels.txt").write_text("".join(f"{row['id']} 0 {row['id']} 1\n" for row in judged))

    def python(self, script: str) -> str:
        return self._done(["python", "-W", "error", "-c", script])

    def run(self, line: str) -> str:
        """What a command prints on standard output and standard error; of curl its status, header and body."""
        words = shlex.split(self._here(line), comments=True)
        if words[0] == "curl":
            return self._curl(*words[1:])
        self.commands.add(words[1])
        if words[1] == "serve":
            return self._serve(words)
        return self._done(words)

    def _here(self, line: str) -> str:
        for shown, here in self.replaced.items():
            line = line.replace(shown, here)
        return line

    def _done(self, words: list[str]) -> str:
        done = subprocess.run(
            words, cwd=self.folder, env=self._environ, capture_output=True, text=True, timeout=_LIMIT_S, check=False
        )
        assert done.returncode == 0, f"{shlex.join(words)}\n{done.stdout}\n{done.stderr}"
        return done.stdout + done.stderr

    def _curl(self, address: str, option: str = "-d", body: str | None = None) -> str:
        """As curl does it; not every machine has it."""
        assert option == "-d"
        return self.fetch(address, body, "application/x-www-form-urlencoded")

    def fetch(self, address: str, body: str | None, content_type: str) -> str:
        answer = urllib3.request(
            "GET" if body is None else "POST",
            f"http://{self._here(address)}",
            body=None if body is None else body.encode(),
            headers=None if body is None else {"Content-Type": content_type},
            timeout=_LIMIT_S,
        )
        assert answer.status == 200, answer.data
        status = [answer.headers.get(f"X-Rerank-{name}", "") for name in ("Status", "Reason")]
        return f"{' '.join(status)}\n{answer.data.decode()}"

    def _serve(self, words: list[str]) -> str:
        log = self.folder / "serve.log"
        with log.open("wb") as written:
            self._serving.append(subprocess.Popen(words, cwd=self.folder, env=self._environ, stderr=written))
        end = time.monotonic() + _LIMIT_S
        while (found := regex.search(r"sinkrank serves http://(\S+)", log.read_text())) is None:
            assert self._serving[-1].poll() is None, log.read_text()
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.1)
        self.replaced["localhost:8080"] = found[1]
        return log.read_text()

    def stop(self) -> list[int]:
        """Ends what serves, and gives the exit codes."""
        for process in self._serving:
            process.terminate()
        return [process.wait(_LIMIT_S) for process in self._serving]


@pytest.fixture
def terminal(environment: Path, first_engine: Engine, tmp_path: Path) -> Iterator[Terminal]:
    index = f"readme-{os.getpid()}"
    replaced = {
        "localhost:9200": first_engine.url.removeprefix("http://"),
        "localhost:8080/articles": f"localhost:8080/{index}",
        "--index articles": f"--index {index}",
    }
    opened = Terminal(environment, tmp_path, replaced)
    with urllib3.PoolManager(timeout=_LIMIT_S) as http:
        make_index(http, first_engine.url, index, {"title": {"type": "text"}, "text": {"type": "text"}}, pages())
        try:
            yield opened
        finally:
            opened.stop()
            http.request("DELETE", f"{first_engine.url}/{index}")


def test_every_command_of_the_readme_runs(terminal: Terminal) -> None:
    printed: dict[str, str] = {}
    for number, block in enumerate(BLOCKS):
        if regex.match("from ", block):
            printed["python"] = terminal.python(block)
            continue
        lines = [line for line in block.splitlines() if line.startswith(("sinkrank ", "curl "))]
        if any("prepare" in line for line in lines):
            terminal.enter(f"block-{number}")
            lines += ON_THE_ENGINE if "localhost:9200" in block else ON_FILES
        printed |= {line: terminal.run(line) for line in lines}
    for start, expected in EXPECTED:
        shown = [text for line, text in printed.items() if line.startswith(start)]
        assert shown, start
        for text in shown:
            assert regex.search(expected, text), f"{start}\n{text}"
    best, *others = ast.literal_eval(printed["python"])
    assert (best, len(others)) == ("The train leaves the station late.", 2)
    named = set(regex.findall(r"`sinkrank (\w+)", README.read_text(encoding="utf-8")))
    assert "evaluate" in named
    assert named <= terminal.commands

    chinese = json.dumps({"query": {"match": {"text": CHINESE}}})
    answer = terminal.fetch("localhost:8080/articles/_search", chinese, "application/json")
    assert answer.startswith("skipped unknown_words\n")
    assert terminal.stop() == [0]
