"""Opens the compiled library and declares its functions.

The library has a kind of each loop for every level of instructions (`base`, `avx2`, `avx512`); `LEVEL` is what this
processor has, or a lower one that the environment variable `NATIVE_LEVEL` names, for tests. ctypes gives the
interpreter's lock away during a call.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

from reranker.native.compiling import LIBRARY

LEVELS = ("base", "avx2", "avx512")
"""Levels of instructions, by number: any processor; AVX2 and FMA; AVX-512 with VNNI."""

_KINDS = {"p": ctypes.c_void_p, "i": ctypes.c_int, "q": ctypes.c_int64, "d": ctypes.c_double, "": None}


def _open() -> ctypes.CDLL:
    try:
        return ctypes.CDLL(str(LIBRARY))
    except OSError as error:
        raise ImportError(
            f"the compiled part of Sinkrank cannot be opened ({error}); install Sinkrank again, or, in a checkout, "
            "run: python -m reranker.native.compiling"
        ) from error


_library = _open()

DECLARED: dict[str, tuple[str, str]] = {}
"""The functions that were declared: name to arguments and result (`declare`)."""


def declare(name: str, arguments: str, result: str = "") -> Callable[..., Any]:
    """A function of the library.

    Args:
        arguments: a letter each, as in C: p a pointer, i an int, q an int64_t, d a double.
        result: the same; nothing for void.
    """
    DECLARED[name] = arguments, result
    function = getattr(_library, name)
    function.argtypes, function.restype = [_KINDS[letter] for letter in arguments], _KINDS[result]
    return function  # type: ignore[no-any-return]


def address(array: NDArray[Any]) -> int:
    """Where the values of a contiguous array begin. The caller keeps the array alive during the call."""
    return array.ctypes.data


def _level() -> str:
    here = LEVELS[declare("instruction_level", "", "i")()]
    level = os.environ.get("NATIVE_LEVEL") or here
    known = LEVELS[: LEVELS.index(here) + 1]
    if level not in known:
        raise ImportError(f"NATIVE_LEVEL is {level!r}; this processor has {', '.join(known)}")
    return level


LEVEL = _level()
"""The instructions that loops are called for."""
