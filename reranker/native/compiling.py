"""Compiles the C sources of this folder into one library: by the machine's C compiler, or by Zig's.

    python -m reranker.native.compiling

The build of a wheel (`hatch_build.py`) and the Makefile call this. It needs the standard library alone.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

FOLDER = Path(__file__).parent
LIBRARY = FOLDER / "_native.so"
"""Where the library lies; the name is the same on every system."""

# What CFLAGS says is not taken over: -ffast-math would delete the rounding that exponentials are made of.
_FLAGS = (
    "-std=gnu11", "-O3", "-shared", "-fPIC", "-fvisibility=hidden",
    "-fno-math-errno", "-fno-trapping-math", "-fno-signed-zeros", "-ffp-contract=fast", "-fopenmp-simd",
    "-Wall", "-Wextra", "-Wno-psabi", "-Wno-unknown-pragmas",
)  # fmt: skip
# GCC before 12 has no __builtin_shufflevector.
_OLDEST_GCC = 12


class NoCompiler(RuntimeError):
    """No C compiler was found that can compile the sources."""


def all_sources() -> list[Path]:
    """The C files, each compiled by itself; headers are included by them."""
    return sorted(FOLDER.rglob("*.c"))


def machine_compiler() -> list[str] | None:
    """The command of a C compiler of this machine: $CC, or else cc, gcc or clang; None if there is none that serves."""
    named = os.environ.get("CC")
    if named:
        return shlex.split(named)
    return next(([name] for name in ("cc", "gcc", "clang") if shutil.which(name) and _is_new_enough(name)), None)


def compile_library(
    path: Path = LIBRARY,
    options: tuple[str, ...] = (),
    compiler: list[str] | None = None,
    sources: Sequence[Path] | None = None,
) -> None:
    """Compiles the library.

    Args:
        path: where to; a file of this name is replaced at once, so that no process sees half of one.
        options: further ones of the compiler, such as those of its sanitizers.
        compiler: its command; the machine's by default, or else Zig's.
        sources: None: all of this folder.

    Raises:
        NoCompiler: there is none.
        subprocess.CalledProcessError: the compiler failed; its messages are on stderr.
    """
    command = compiler or machine_compiler() or _zig()
    with TemporaryDirectory(prefix="compiling-", dir=path.parent) as folder:
        # In its folder, under its own name: linkers of macOS and Windows write what they are told into the library.
        subprocess.run(
            [*command, *_FLAGS, *options, "-o", path.name, *(sources or all_sources()), "-lm"], check=True, cwd=folder
        )
        Path(folder, path.name).replace(path)


def _is_new_enough(name: str) -> bool:
    macros = subprocess.run([name, "-dM", "-E", "-x", "c", os.devnull], capture_output=True, text=True, check=False)
    is_clang, gcc = (
        "#define __clang__" in macros.stdout,
        re.search(r"^#define __GNUC__ (\d+)", macros.stdout, re.MULTILINE),
    )
    return is_clang or (gcc is not None and int(gcc[1]) >= _OLDEST_GCC)


def _zig() -> list[str]:
    probe = [sys.executable, "-m", "ziglang", "version"]
    if subprocess.run(probe, capture_output=True, check=False).returncode:
        raise NoCompiler(
            "Sinkrank's C code needs a compiler (GCC 12 or later, or Clang), and none was found. Install one (Debian: "
            "apt-get install gcc libc6-dev), or Zig's: pip install ziglang"
        )
    # By default Zig compiles for this processor alone; what is built runs on others, and chooses its level itself.
    return [sys.executable, "-m", "ziglang", "cc", "-mcpu=baseline"]


if __name__ == "__main__":
    try:
        compile_library()
    except (NoCompiler, subprocess.CalledProcessError) as error:
        sys.exit(str(error))
