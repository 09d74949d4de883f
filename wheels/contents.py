"""Looks at a wheel: whether it holds the product alone, and a library that needs no more than the platform has."""

from __future__ import annotations

import re
import struct
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from wheels.platforms import Platform

LIBRARY = "reranker/native/_native.so"
PACKAGES = {"reranker", "ingest", "mappings", "sinkrank"}
"""The names that an installation adds to what can be imported."""

_OLDEST_GLIBC = (2, 17)
_ELF, _MACH_O, _PE = b"\x7fELF\x02\x01", b"\xcf\xfa\xed\xfe", b"MZ"
# The number of the processor and its place: e_machine of ELF, cputype of Mach-O, Machine of PE.
_PROCESSORS = {
    _ELF: {"x86_64": 62, "aarch64": 183},
    _MACH_O: {"x86_64": 0x0100_0007, "aarch64": 0x0100_000C},
    _PE: {"x86_64": 0x8664},
}


class BadWheel(Exception):
    """A wheel that would not run where its name says that it does."""


def check(wheel: Path, platform: Platform) -> None:
    """
    Raises:
        BadWheel: the name or the library is for another platform, the library needs a later glibc, it has symbols for
            debuggers, or the wheel holds more than the product.
    """
    with zipfile.ZipFile(wheel) as archive:
        faults = [*library_faults(archive.read(LIBRARY), platform), *content_faults(archive.namelist())]
    if not wheel.name.endswith(f"-py3-none-{platform.tag}.whl"):
        faults.append(f"its name has another tag than {platform.tag}")
    if faults:
        raise BadWheel(f"{wheel.name}: {'; '.join(faults)}")


def content_faults(names: Sequence[str]) -> Iterator[str]:
    """What the files of a wheel are that are no part of the product, in words."""
    tops = {name.partition("/")[0] for name in names}
    tops = {top for top in tops if not re.fullmatch(r"sinkrank-[\d.]+\.dist-info", top)}
    if tops != PACKAGES:
        yield f"its top-level names are {', '.join(sorted(tops))}"
    if sources := [name for name in names if name.endswith((".c", ".h"))]:
        yield f"it holds sources in C: {', '.join(sources)}"
    if tests := [name for name in names if re.search(r"(^|/)(tests/|conftest\.py$|test_\w+\.py$)", name)]:
        yield f"it holds tests: {', '.join(tests)}"


def library_faults(library: bytes, platform: Platform) -> Iterator[str]:
    """What is wrong with a library for a platform, in words."""
    form = next((magic for magic in _PROCESSORS if library.startswith(magic)), b"")
    if form != {"glibc": _ELF, "musl": _ELF, "macos": _MACH_O, "windows": _PE}[platform.libc]:
        yield f"the library starts with {library[:6]!r}, so it is for another system"
        return
    if _processor(library, form) != _PROCESSORS[form][platform.processor]:
        yield f"the library is not for {platform.processor}"
    if form != _ELF:
        return
    later = {version for version in glibc_versions(library) if version > _OLDEST_GLIBC}
    if later:
        yield f"the library needs glibc {'.'.join(map(str, max(later)))}, later than 2.17"
    # A library for musl needs libc.so, one for glibc libc.so.6, if it calls a function of it at all.
    if (b"\0libc.so.6\0" if platform.libc == "musl" else b"\0libc.so\0") in library:
        yield f"the library is not linked with {platform.libc}"
    if b"\0.symtab\0" in library or b"\0.debug_info\0" in library:
        yield "the library is not stripped"


def glibc_versions(library: bytes) -> set[tuple[int, ...]]:
    """The versions of glibc's symbols that a library needs. Their names are strings of its dynamic section
    (`DT_VERNEED` of ELF points at them)."""
    return {tuple(map(int, found.split(b"."))) for found in re.findall(rb"\0GLIBC_([\d.]+)(?=\0)", library)}


def _processor(library: bytes, form: bytes) -> int:
    if form == _ELF:
        return int(struct.unpack_from("<H", library, 18)[0])
    if form == _MACH_O:
        return int(struct.unpack_from("<I", library, 4)[0])
    (head,) = struct.unpack_from("<I", library, 0x3C)
    return int(struct.unpack_from("<H", library, head + 4)[0])
