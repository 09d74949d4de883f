"""`make clean`, in a copy of the checkout's outline; hooks of commits run what `make lint` runs."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

MAKEFILE = Path(__file__).parent.parent / "Makefile"

BUILT = [
    ".venv/bin/python",
    ".sinkrank/embeddings/vectors.npy",
    ".pytest_cache/README.md",
    ".mypy_cache/a.json",
    ".ruff_cache/a",
    ".hypothesis/a",
    "build/lib/a.py",
    "dist/a.whl",
    "sinkrank.egg-info/PKG-INFO",
    "reranker/__pycache__/bags.cpython-311.pyc",
    "reranker/transport/__pycache__/kernels.fill_0123456789abcdef-7.py311.1.nbc",
]
KEPT = ["Makefile", "reranker/text/bags.py", "pages.rejects.jsonl", ".git/hooks/__pycache__/hook.pyc", "my notes/a.txt"]


@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")
def test_clean_removes_what_was_built_and_nothing_else(tmp_path: Path) -> None:
    for name in (*BUILT, *KEPT):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    shutil.copy(MAKEFILE, tmp_path / "Makefile")
    for _ in range(2):  # where there is nothing left it is no error
        done = subprocess.run(["make", "clean"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
    assert {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()} == set(KEPT)


def test_a_commit_is_checked_by_the_commands_of_make_lint() -> None:
    config = yaml.safe_load((MAKEFILE.parent / ".pre-commit-config.yaml").read_text())
    hooks = [hook for repository in config["repos"] for hook in repository["hooks"]]
    lint = MAKEFILE.read_text().partition("\nlint:")[2].partition("\n\n")[0].replace("$(BIN)", ".venv/bin")
    assert [hook["name"] for hook in hooks] == ["ruff check", "ruff format", "mypy"]
    for hook in hooks:
        assert hook["entry"].startswith(f".venv/bin/{hook['name']}")
        assert f"\t.venv/bin/{hook['name']} " in lint
        assert hook["language"] == "system"
