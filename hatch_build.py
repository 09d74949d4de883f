"""Compiles the C library into the wheel, which then is for one platform and every version of Python."""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).parent))

from reranker.native.compiling import LIBRARY, compile_library, machine_compiler

_ZIG = "ziglang>=0.13"


class Build(BuildHookInterface[Any]):
    """With SINKRANK_ZIG_TARGET and SINKRANK_WHEEL_PLATFORM the wheel is for another platform (`make wheels`)."""

    def dependencies(self) -> list[str]:
        """Zig's compiler, where the machine has none."""
        return [] if machine_compiler() and not _target() else [_ZIG]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        platform = os.environ.get("SINKRANK_WHEEL_PLATFORM") or sysconfig.get_platform()
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform.replace('-', '_').replace('.', '_')}"
        library = LIBRARY
        if version != "editable":
            library = Path(self.directory) / "native" / LIBRARY.name
            library.parent.mkdir(parents=True, exist_ok=True)
            build_data["force_include"][str(library)] = LIBRARY.relative_to(self.root).as_posix()
        compiler = [sys.executable, "-m", "ziglang", "cc", "-target", _target()] if _target() else None
        compile_library(library, ("-s",), compiler)


def _target() -> str:
    return os.environ.get("SINKRANK_ZIG_TARGET", "")
