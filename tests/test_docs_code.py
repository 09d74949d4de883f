"""What the documents show to type can be typed: Python runs, commands have the options shown, bodies are taken."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import regex
import typer.main

from reranker.proxy.read import RerankSection
from reranker.service.requests import ClicksBody, ExplainBody, MatchesBody, RerankBody, SearchBody, TextsBody, parse
from sinkrank.commands.app import app as command_line
from sinkrank.demo.shipped import load_parallel_texts
from sinkrank.demo.trained import train_on

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
BODIES = {
    "/v1/search": SearchBody,
    "/v1/explain": ExplainBody,
    "/v1/matches": MatchesBody,
    "/v1/clicks": ClicksBody,
    "/v1/rerank": RerankBody,
    "/v2/rerank": RerankBody,
    "/rerank": TextsBody,
}


def code_blocks(page: Path) -> list[str]:
    """Indented and fenced blocks, without their indentation."""
    text = page.read_text(encoding="utf-8")
    fenced = regex.findall(r"(?ms)^```\w*\n(.*?)^```", text)
    indented = regex.findall(r"(?<=\n\n)(?:    .*\n|\n(?=    ))+", regex.sub(r"(?ms)^```.*?^```", "", text))
    return [*fenced, *(regex.sub(r"(?m)^    ", "", block) for block in indented)]


def shown(page: Path, start: str) -> list[str]:
    """The lines of code that begin with a word, joined where a backslash goes on, without a comment."""
    joined = [block.replace("\\\n", " ") for block in code_blocks(page)]
    lines = [line.removeprefix("$ ") for block in joined for line in block.splitlines()]
    return [line for line in lines if line.startswith(f"{start} ")]


COMMANDS = [(page.name, line) for page in PAGES for line in shown(page, "sinkrank")]
CALLS = [
    (page.name, block)
    for page in PAGES
    for block in code_blocks(page)
    if regex.search(r"^(?:\$ )?curl .*localhost:8080.*-d ", block, regex.M)  # 9200 is the engine's
]


@pytest.mark.parametrize(("page", "line"), COMMANDS)
def test_a_command_has_the_options_that_are_shown(page: str, line: str) -> None:
    words = shlex.split(line.replace("…", " "), comments=True)[1:]
    command = typer.main.get_command(command_line)
    while words and hasattr(command, "commands"):
        # `sinkrank ingest FILE` is `sinkrank ingest files FILE`.
        name = words[0] if words[0] in command.commands or "files" not in command.commands else "files"
        assert name in command.commands, f"{page}: there is no `{name}`"
        words = words[1:] if name == words[0] else words
        command = command.commands[name]
    known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    given = {word.split("=")[0] for word in words if word.startswith("-") and len(word) > 1}
    assert given <= known | {"--help"}, f"{page}: {line}"


@pytest.mark.parametrize(("page", "block"), CALLS)
def test_a_body_that_is_shown_is_taken(page: str, block: str) -> None:
    (body,) = regex.findall(r"-d\s*'([^']*)'", block)
    (path,) = regex.findall(r"localhost:8080(/[\w/]*)", block)
    if path.endswith("/_search"):  # the engine reads the rest
        parse(RerankSection, json.loads(body)["ext"]["rerank"])
    else:
        parse(BODIES[path], json.loads(body))


def python_blocks(page: Path) -> list[str]:
    return [block for block in code_blocks(page) if regex.match(r"(from \w|import \w|query = )", block)]


def output_of(script: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_python_of_the_library_page_runs(tmp_path: Path) -> None:
    train_on(load_parallel_texts(), tmp_path / "embeddings")
    blocks = python_blocks(ROOT / "docs" / "library.md")
    assert len(blocks) >= 3
    steps_are_all = 'assert ranking == reranker.rerank("the late train", texts, language="en")'
    assert output_of("\n".join([*blocks, steps_are_all]), tmp_path).startswith("1 0.")


def test_the_example_of_the_readme_is_short() -> None:
    (block,) = python_blocks(ROOT / "README.md")
    assert len([line for line in block.splitlines() if line]) <= 10


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_that_is_shown_can_be_read(page: Path) -> None:
    for block in python_blocks(page):
        compile(block, page.name, "exec")


@pytest.mark.slow
def test_the_site_is_built_without_a_warning_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-d", str(tmp_path / "doctrees")]
    done = subprocess.run(
        [*command, str(ROOT / "docs"), str(tmp_path / "site")], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    pages = list((tmp_path / "site").glob("*.html"))
    assert len(pages) >= len(list((ROOT / "docs").glob("*.md")))
    for page in pages:
        text = page.read_text(encoding="utf-8")
        loaded = regex.findall(r"<(?:script|img|iframe)[^>]* src=\"([^\"]+)|<link[^>]* href=\"([^\"]+)", text)
        assert [address for pair in loaded for address in pair if regex.match(r"https?:|//", address)] == []
