"""The help of every command can be read on a narrow terminal: lines wrap between words, and no word is cut."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Any

import pytest
import regex
import typer.main
from typer.testing import CliRunner

from sinkrank.commands.app import app


def commands_of(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands_of(inner, (*path, name))


COMMANDS = dict(commands_of(typer.main.get_command(app)))
# Without groups such as `sinkrank ingest`.
SINGLE = [path for path, command in COMMANDS.items() if not hasattr(command, "commands")]


@cache
def help_of(command: tuple[str, ...], width: int) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("typer.rich_utils.MAX_WIDTH", width)
        shown = CliRunner().invoke(app, [*command, "--help"], env={"COLUMNS": str(width)})
    assert shown.exit_code == 0
    return str(shown.stdout)


def words(shown: str) -> list[str]:
    return sorted(regex.findall(r"[^\s─│╭╮╰╯]+", shown))


@pytest.mark.parametrize("command", SINGLE, ids=" ".join)
def test_each_command_has_an_example(command: tuple[str, ...]) -> None:
    # `sinkrank ingest FILE` is `sinkrank ingest files FILE`.
    assert f"Example: sinkrank {' '.join(command).removesuffix(' files')} " in f"{help_of(command, 1000)} "


@pytest.mark.parametrize(
    ("command", "index"),
    [
        *((f"ingest {name}", "Index; default: documents.") for name in ("files", "refresh", "rollback", "delete")),
        ("embeddings prepare", "Index to read instead of files."),
        *((f"pipeline {name}", "Index of the pipeline; must be given.") for name in ("install", "remove")),
        ("search", "Index to search; default: the store's only index."),
    ],
)
def test_the_help_says_which_index_a_command_takes_if_none_is_named(command: str, index: str) -> None:
    shown = " ".join(help_of(tuple(command.split()), 1000).split())
    assert f"--index NAME {index} " in shown


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_word_is_cut_on_80_columns(command: tuple[str, ...]) -> None:
    assert words(help_of(command, 80)) == words(help_of(command, 1000))


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_each_line_of_a_paragraph_is_full_before_the_next_begins(command: tuple[str, ...]) -> None:
    """On 80 columns a line and the first word of the next one have no room together."""
    above_the_options = help_of(command, 80).partition("╭")[0]
    for paragraph in regex.split(r"\n\s*\n", above_the_options.strip()):
        lines = [line.strip() for line in paragraph.splitlines()]
        for line, following in pairwise(lines):
            assert len(line) + 1 + len(following.split()[0]) > 78, paragraph
