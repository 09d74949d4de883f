"""What `python -m PACKAGE.MODULE` says of an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from papers.base.module_command import run
from papers.held_out import pages


def test_a_folder_in_the_place_of_the_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as ended:
        run(lambda: pages.main(["texts", str(tmp_path)]))
    assert ended.value.code == f"{tmp_path}: Is a directory; name a file"
