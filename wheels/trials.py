"""Tries wheels on this machine: the README's example in a new environment, or else whether the library opens."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

from wheels.contents import LIBRARY
from wheels.platforms import Platform

ROOT = Path(__file__).resolve().parent.parent

_EMULATORS = ("qemu-aarch64-static", "qemu-aarch64")
_LOADERS = {"x86_64": "ld-musl-x86_64.so.1", "aarch64": "ld-musl-aarch64.so.1"}


class FailedTrial(Exception):
    """A wheel that cannot be installed, or that does something else than the README says."""


def try_wheel(wheel: Path, platform: Platform, arm64_root: Path) -> str:
    """What was tried, in words.

    Args:
        arm64_root: a Debian for arm64 with Python 3.11 (and musl); qemu runs it.

    Raises:
        FailedTrial
    """
    if sys.platform != "linux" or platform.libc not in ("glibc", "musl"):
        return "not tried: another system"
    runner: list[str] = []
    machine_root = Path("/")
    if platform.processor == "aarch64":
        emulator = next(filter(None, map(shutil.which, _EMULATORS)), None)
        if emulator is None or not arm64_root.is_dir():
            return f"not tried: needs qemu-user-static and a Debian for arm64 in {arm64_root} (CONTRIBUTING.md)"
        runner, machine_root = [emulator, "-L", str(arm64_root)], arm64_root
    with TemporaryDirectory(prefix="wheel-") as folder:
        if platform.libc == "musl":
            return _open_library(wheel, platform, runner, machine_root, Path(folder))
        if runner:
            return _run_example_of(wheel, platform, [*runner, str(arm64_root / "usr/bin/python3.11")], Path(folder))
        return run_example(wheel, sys.executable, Path(folder))


def readme_example() -> str:
    """The program in the README."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    lines = re.findall(r"(?m)^    from sinkrank import .*\n(?:    .*\n|\n(?=    ))*", text)
    return "".join(line.removeprefix("    ") for line in lines[0].splitlines(keepends=True))


def run_example(wheel: Path, interpreter: str | Path, folder: Path) -> str:
    """Installs a wheel into a new environment in this folder, and runs the README's example there.

    Raises:
        FailedTrial
    """
    _run(interpreter, "-m", "venv", folder / "env")
    python = folder / "env/bin/python"
    _run(python, "-m", "pip", "install", "--quiet", "--only-binary", ":all:", wheel)
    return _checked([str(python), "-c", readme_example()], folder)


def _run_example_of(wheel: Path, platform: Platform, python: list[str], folder: Path) -> str:
    """The same for another processor: pip here installs for it."""
    tags = [f"--platform={tag}" for tag in (*platform.tag.split("."), f"manylinux_2_28_{platform.processor}")]
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--only-binary", ":all:", "--python-version", "3.11"]
    _run(*pip, "--implementation", "cp", *tags, "--target", folder / "packages", wheel)
    program = f"import sys; sys.path.insert(0, {str(folder / 'packages')!r})\n{readme_example()}"
    return f"{_checked([*python, '-c', program], folder)} (qemu)"


def _checked(command: list[str], folder: Path) -> str:
    printed = _run(*command, folder=folder)
    if not printed.startswith("['The train leaves the station late.'"):
        raise FailedTrial(f"the README's example printed {printed!r}")
    return "the README's example runs"


def _open_library(wheel: Path, platform: Platform, runner: list[str], root: Path, folder: Path) -> str:
    loader = root / "lib" / _LOADERS[platform.processor]
    if not loader.is_file():
        return f"not tried: {loader} is missing (Debian: musl)"
    with zipfile.ZipFile(wheel) as archive:
        library = archive.extract(LIBRARY, folder)
    zig = [sys.executable, "-m", "ziglang", "cc", "-target", platform.zig_target]
    _run(*zig, "-O2", "-dynamic", "-o", folder / "load", Path(__file__).parent / "load.c")
    printed = _run(*runner, loader, folder / "load", library)
    return f"a program opens its library: {printed}{' (qemu)' if runner else ''}"


def _run(*command: str | Path, folder: Path | None = None) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise FailedTrial(f"{' '.join(map(str, command))[:200]}: {done.stdout}{done.stderr}")
    return done.stdout.strip()
