"""How the loops of this package are compiled: by Numba on first use, kept on disk, without the global interpreter lock.

None is `parallel`: the threading layers of Numba break when several Python threads call them, and after a fork.
Threads are in `threads.py`.
"""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from llvmlite import binding  # type: ignore[import-untyped]

Function = TypeVar("Function", bound=Callable[..., object])

# Sums may be taken in any order, which vector registers need. Not "nnan" and "ninf": rows out of range must be noticed.
_FASTMATH = {"reassoc", "contract", "nsz"}
_OPTIONS: dict[str, Any] = {"nogil": True, "fastmath": _FASTMATH, "error_model": "numpy"}


def _digest_of_sources() -> str:
    """Tells the sources of this package from any others; empty where they are not files."""
    digest = hashlib.sha256()
    sources = sorted(Path(__file__).parent.glob("*.py"))
    for source in sources:
        digest.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    return digest.hexdigest()[:16] if sources else ""


_SOURCES = _digest_of_sources()


def note_all_kept() -> None:
    """Notes on disk that every loop is compiled for this machine and kept, so that a later process only loads them."""
    for folder in _folders:
        with suppress(OSError):  # then the next process compiles, or loads, in the background
            (folder / _NOTE).touch()


def are_all_kept() -> bool:
    """Whether every loop was compiled for this machine and kept on disk."""
    return bool(_folders) and all((folder / _NOTE).exists() for folder in _folders)


def _machine() -> str:
    """Tells processors apart for which LLVM makes other code, and versions of the compiler."""
    names = [numba.__version__, platform.python_version(), binding.get_host_cpu_name()]
    return hashlib.sha256(" ".join([*names, binding.get_host_cpu_features().flatten()]).encode()).hexdigest()[:16]


# Folders in which the loops of this process are kept. The note's name ends as the names of kept code do.
_folders: set[Path] = set()
_NOTE = f"all_{_SOURCES}_{_machine()}.nbn"


def compiled(function: Function) -> Function:
    """Compiles on first call; keeps the code on disk where some folder can be written."""
    return cast(Function, _kept_on_disk(function) or numba.njit(function, **_OPTIONS))


def _kept_on_disk(function: Callable[..., object]) -> Any:
    """The function with code that is kept on disk, or None where there is no place for it.

    Numba takes kept code for its own as long as the file of the function is the same, whatever the functions that it
    calls have become: after an update it would run code of the last version. So the name that it keeps code under is
    made to tell all sources of the package. A Numba that keeps it under another keeps nothing.
    """
    name = function.__qualname__
    function.__qualname__ = f"{name}_{_SOURCES}"
    try:
        dispatcher: Any = numba.njit(function, cache=True, **_OPTIONS)
    except RuntimeError:  # no folder for the cache: a read-only container without a home
        return None
    finally:
        function.__qualname__ = name
    # Private names of Numba, which has no public ones: without them nothing is kept.
    kept_as = getattr(getattr(getattr(dispatcher, "_cache", None), "_impl", None), "filename_base", "")
    if not _SOURCES or _SOURCES not in kept_as:
        return None
    folder = Path(dispatcher.stats.cache_path)
    _remove_stale_code(folder)
    if function.__module__.startswith(f"{__package__}."):
        _folders.add(folder)
    return dispatcher


@cache
def _remove_stale_code(folder: Path) -> None:
    """Removes what other versions of the sources left in the folder, once a process: no process would read it again.

    The folder holds code of this package alone: it lies beside the sources, or its name tells their path. Other
    processes may remove the same files meanwhile, and one of the old sources that still runs compiles anew what it has
    not loaded yet. Numba writes under another name first, so what it is about to keep is not met here.
    """
    for kept in folder.glob("*.nb[icn]"):
        if _SOURCES not in kept.name:
            with suppress(OSError):  # gone already, or not ours to remove
                kept.unlink()


def inlined(function: Function) -> Function:
    """Becomes a part of the compiled function that calls it, and its arrays are not handed on: half the time of the
    iteration at 30 query words."""
    return cast(Function, numba.njit(function, inline="always", **_OPTIONS))
