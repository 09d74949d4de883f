"""What commands print."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from rich.console import Console

from sinkrank.console import output

HOSTILE = "a\x1b[31mb\x07c\x7fd\x9b2Je"


@pytest.mark.parametrize("console", [output.results, output.talk])
def test_names_and_texts_cannot_control_the_terminal(
    console: Callable[[], Console], capsys: pytest.CaptureFixture[str]
) -> None:
    console().print(HOSTILE)
    console().print(output.table(HOSTILE))
    assert "".join(capsys.readouterr()).replace("\n", "").isprintable()


def test_json_escapes_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_json({"title": HOSTILE})
    shown = capsys.readouterr().out
    assert shown.replace("\n", "").isprintable()
    assert json.loads(shown) == {"title": HOSTILE}
