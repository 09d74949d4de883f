"""`python -m wheels.release`: what `make release` does after the wheels are built.

Builds the source distribution, and runs the README's example with the wheel of this machine on each Python that a
release is tried on. Nothing is uploaded.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from hatchling.builders.sdist import SdistBuilder

from wheels.trials import ROOT, FailedTrial, run_example

PYTHONS = ("3.11", "3.13")
"""The oldest and the latest that pyproject.toml names."""


def find_python(version: str, folders: Iterable[str | Path]) -> Path | None:
    """The first interpreter of this version that runs. (Of pyenv's shims only those of the chosen version do.)"""
    for folder in folders:
        python = Path(folder, f"python{version}")
        if python.is_file() and subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0:
            return python
    return None


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m wheels.release", description=__doc__.partition("\n\n")[0])
    parser.add_argument("--dist", type=Path, default=ROOT / "dist", help="folder with the wheels (dist)")
    given = parser.parse_args()
    (source,) = SdistBuilder(str(ROOT)).build(directory=str(given.dist), versions=["standard"])
    print(source)
    version = Path(source).name.removesuffix(".tar.gz")
    (wheel,) = given.dist.glob(f"{version}-py3-none-manylinux*x86_64.whl")
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    folders: list[str | Path] = [*os.get_exec_path(), *sorted(pyenv.glob("versions/*/bin"))]
    status = 0
    for name in PYTHONS:
        python = find_python(name, folders)
        if python is None:
            status, tried = 1, f"NOT TRIED: there is no Python {name} here; install it (Debian: python{name}; or pyenv)"
        else:
            with TemporaryDirectory(prefix="release-") as folder:
                try:
                    tried = run_example(wheel, python, Path(folder))
                except FailedTrial as error:
                    status, tried = 1, f"FAILED: {error}"
        print(f"Python {name}: {tried}", flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
