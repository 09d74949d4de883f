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

import numpy as np
from numpy.typing import NDArray

from reranker.native.compiling import LIBRARY

LEVELS = ("base", "avx2", "avx512")
"""Levels of instructions, by number: any processor; AVX2 and FMA; AVX-512 with VNNI."""


class _Pointer:
    """An argument that is a pointer: an array, which must be contiguous, or what ctypes takes for one."""

    @staticmethod
    def from_param(value: Any) -> Any:
        if not isinstance(value, np.ndarray):
            return ctypes.c_void_p.from_param(value)
        flags = value.flags
        if flags.carray and value.size:  # in a third of the time; not for what is empty or read-only
            return ctypes.byref(ctypes.c_char.from_buffer(value))  # type: ignore[arg-type]
        if not flags.c_contiguous:
            raise ValueError("the array does not lie row after row in memory")
        return ctypes.c_void_p(value.ctypes.data)


_KINDS = {"p": _Pointer, "i": ctypes.c_int, "q": ctypes.c_int64, "d": ctypes.c_double, "": None}


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
        arguments: a letter each, as in C: p a pointer, i an int, q an int64_t, d a double. For a pointer give an array.
        result: the same; nothing for void. An int of -1 raises MemoryError (`NO_MEMORY` in transport/shared.h).
    """
    DECLARED[name] = arguments, result
    function = getattr(_library, name)
    function.argtypes, function.restype = [_KINDS[letter] for letter in arguments], _KINDS[result]
    if result == "i":
        function.errcheck = _check
    return function  # type: ignore[no-any-return]


def _check(status: int, function: object, arguments: object) -> int:
    if status == -1:
        raise MemoryError
    return status


def address(array: NDArray[Any]) -> int:
    """Where the values of a contiguous array begin, for a field of a struct. The caller keeps the array alive during
    the call."""
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
