"""Temporary folders do not outlive a killed run for long."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from reranker.base.temporary import temporary_folder

LONG_AGO = time.time() - 3_600


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_a_folder_is_removed_at_the_end(temporary: Path) -> None:
    with temporary_folder("sinkrank-input-") as folder:
        (folder / "stdin").write_text("chat")
        assert list(temporary.iterdir()) == [folder]
    assert list(temporary.iterdir()) == []


def test_the_folder_of_a_killed_process_is_removed_by_the_next_one(temporary: Path) -> None:
    code = (
        "import os, signal\n"
        "from reranker.base.temporary import temporary_folder\n"
        "with temporary_folder('sinkrank-input-') as folder:\n"
        "    (folder / 'stdin').write_text('chat')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    environment = {**os.environ, "TMPDIR": str(temporary)}
    killed = subprocess.run([sys.executable, "-c", code], env=environment, check=False)
    assert killed.returncode == -signal.SIGKILL
    (left,) = temporary.iterdir()
    with temporary_folder("sinkrank-input-"):
        assert left.exists()  # too young: it may have been made in this moment
    os.utime(left, (LONG_AGO, LONG_AGO))
    with temporary_folder("sinkrank-input-"):
        assert not left.exists()


def test_a_forked_process_leaves_the_folder_to_the_one_that_made_it(temporary: Path) -> None:
    code = (
        "import os, sys\n"
        "from reranker.base.temporary import temporary_folder\n"
        "with temporary_folder('sinkrank-metrics-') as folder:\n"
        "    child = os.fork()\n"
        "    if child == 0:\n"
        "        sys.exit(0)\n"
        "    os.waitpid(child, 0)\n"
        "    print(folder.exists())\n"
    )
    environment = {**os.environ, "TMPDIR": str(temporary)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"
    assert list(temporary.iterdir()) == []


def test_a_folder_in_use_stays_however_old(temporary: Path) -> None:
    with temporary_folder("sinkrank-input-") as used:
        os.utime(used, (LONG_AGO, LONG_AGO))
        with temporary_folder("sinkrank-input-"):
            assert used.exists()


def test_a_link_of_that_name_is_not_followed(temporary: Path) -> None:
    other = temporary / "other"
    other.mkdir()
    (other / "kept").touch()
    os.utime(other, (LONG_AGO, LONG_AGO))
    link = temporary / "sinkrank-input-link"
    link.symlink_to(other)
    os.utime(link, (LONG_AGO, LONG_AGO), follow_symlinks=False)
    with temporary_folder("sinkrank-input-"):
        assert (other / "kept").exists()


def test_where_no_folder_can_be_written_the_error_names_the_variable() -> None:
    """As on a disk that is read-only: the process may write no byte to any file."""
    code = (
        "import resource\n"
        "from reranker.base.errors import BadInput\n"
        "from reranker.base.temporary import temporary_folder\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
        "try:\n"
        "    temporary_folder('sinkrank-metrics-').__enter__()\n"
        "except BadInput as error:\n"
        "    print(error)\n"
    )
    command = [sys.executable, "-c", code]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert said.startswith("No usable temporary directory found in [")
    assert said.endswith("]; set TMPDIR to a folder that can be written to\n")
