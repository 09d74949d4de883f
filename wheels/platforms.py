"""The platforms that have a wheel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Platform:
    """What a wheel is for.

    Attributes:
        zig_target: the same in the words of Zig's compiler.
        tag: the last part of the wheel's name (PEP 425, 600 and 656), and so what pip compares.
        libc: the C library that the compiled one is linked with.
    """

    zig_target: str
    tag: str
    libc: Literal["glibc", "musl", "macos", "windows"]

    @property
    def processor(self) -> str:
        """`x86_64` or `aarch64`."""
        return self.zig_target.partition("-")[0]


PLATFORMS = (
    Platform("x86_64-linux-gnu.2.17", "manylinux_2_17_x86_64.manylinux2014_x86_64", "glibc"),
    Platform("aarch64-linux-gnu.2.17", "manylinux_2_17_aarch64.manylinux2014_aarch64", "glibc"),
    Platform("x86_64-linux-musl", "musllinux_1_1_x86_64", "musl"),
    Platform("aarch64-linux-musl", "musllinux_1_1_aarch64", "musl"),
    Platform("x86_64-macos.11.0", "macosx_11_0_x86_64", "macos"),
    Platform("aarch64-macos.11.0", "macosx_11_0_arm64", "macos"),
    Platform("x86_64-windows-gnu", "win_amd64", "windows"),
)
