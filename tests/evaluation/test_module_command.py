"""What `python -m PACKAGE.MODULE` says of an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluation import held_out
from evaluation.base.module_command import run
from reranker.base.errors import BadInput


def test_an_error_is_one_line_and_exit_code_1() -> None:
    def fails() -> None:
        raise BadInput("'first21' is not a kind of query;\n  give another")

    with pytest.raises(SystemExit) as ended:
        run(fails)
    # A text as the code: Python writes it to standard error and ends with 1.
    assert ended.value.code == "'first21' is not a kind of query; give another"


def test_a_folder_in_the_place_of_the_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as ended:
        run(lambda: held_out.main(["texts", str(tmp_path)]))
    assert ended.value.code == f"{tmp_path}: Is a directory; name a file"
