"""Lock files as `uv pip compile` writes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from supply_chain.audit import default_locks
from supply_chain.lock import NotALock, Pin, read_lock

LOCK = """\
NumPy==2.4.6 ; python_full_version < '3.12' \\
    --hash=sha256:aa \\
    --hash=sha256:bb
numpy==2.5.5 ; python_full_version >= '3.12' \\
    --hash=sha256:cc
# a comment
Ruamel.yaml==1.0
"""


def test_a_lock_gives_each_version_with_its_hashes(tmp_path: Path) -> None:
    path = tmp_path / "requirements.lock"
    path.write_text(LOCK)
    assert read_lock(path) == [
        Pin("numpy", "2.4.6", ("aa", "bb")),
        Pin("numpy", "2.5.5", ("cc",)),
        Pin("ruamel-yaml", "1.0"),
    ]


@pytest.mark.parametrize("text", ["numpy>=2", "numpy", "numpy==2.*", "-r other.txt", ""])
def test_a_file_that_pins_nothing_is_an_error_that_names_it(tmp_path: Path, text: str) -> None:
    path = tmp_path / "requirements.txt"
    path.write_text(text)
    with pytest.raises(NotALock, match=r"requirements\.txt"):
        read_lock(path)


def test_every_lock_file_of_the_repository_can_be_read() -> None:
    assert len(default_locks()) >= 4
    for path in default_locks():
        assert all(pin.sha256 for pin in read_lock(path)), path
