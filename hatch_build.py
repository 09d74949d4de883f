"""Compiles the C library into the wheel, which then is for one platform and every version of Python."""

from __future__ import annotations

import platform
import shutil
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).parent))

from reranker.native.compiling import LIBRARY, compile_library, machine_compiler

_ZIG = "ziglang>=0.13"


class Build(BuildHookInterface[Any]):
    """Compiles for this machine, or for the `platform` and `zig-target` that the hook's table names (`wheels/`)."""

    def dependencies(self) -> list[str]:
        """Zig's compiler, where the machine has none."""
        return [] if machine_compiler() else [_ZIG]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{self.config.get('platform') or _machine_platform()}"
        library = LIBRARY
        if version != "editable":
            library = self._folder() / LIBRARY.name
            library.parent.mkdir(parents=True, exist_ok=True)
            build_data["force_include"][str(library)] = LIBRARY.relative_to(self.root).as_posix()
        target = self.config.get("zig-target")
        compiler = [sys.executable, "-m", "ziglang", "cc", "-target", target] if target else None
        compile_library(library, ("-s",), compiler)

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        shutil.rmtree(self._folder(), ignore_errors=True)

    def _folder(self) -> Path:
        return Path(self.directory) / "native"


def _machine_platform() -> str:
    """Python's own name, but that of one processor where Python is for two."""
    named = sysconfig.get_platform().replace("universal2", platform.machine())
    return named.replace("-", "_").replace(".", "_")
