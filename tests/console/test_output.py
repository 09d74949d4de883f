"""What commands print."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from rich.console import Console

from sinkrank.console import output

pytestmark = pytest.mark.usefixtures("_without_colour")
HOSTILE = "a\x1b[31mb\x07c\x7fd\x9b2Je"


@pytest.fixture
def _without_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FORCE_COLOR", raising=False)  # CI may set it


@pytest.mark.parametrize("console", [output.results, output.talk])
def test_names_and_texts_cannot_control_the_terminal(
    console: Callable[[], Console], capsys: pytest.CaptureFixture[str]
) -> None:
    console().print(HOSTILE)
    console().print(output.table(HOSTILE))
    assert "".join(capsys.readouterr()).replace("\n", "").isprintable()


def test_a_line_is_one_line_in_a_pipe_and_a_table_has_the_width_of_a_wide_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    output.results().print("word " * 100)
    assert capsys.readouterr().out == "word " * 100 + "\n"
    table = output.table("words")
    table.add_row("word " * 100)
    output.results().print(table)
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 200


def test_json_escapes_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_json({"title": HOSTILE})
    shown = capsys.readouterr().out
    assert shown.replace("\n", "").isprintable()
    assert json.loads(shown) == {"title": HOSTILE}
