"""pytest plugin: keeps compiled kernels outside the checkout, so that a fresh clone need not compile them again.

Numba keeps the code beside the sources. What the warm-up compiles is copied from there to the user's cache folder,
under a digest of the sources and the processor, and from there into a checkout that has none. With xdist the kernels
are compiled before its processes start: if two compiled the same kernel at once, they could overwrite each other's
files.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import llvmlite
import numba
import pytest
from llvmlite import binding

from tests.engines.assemble import cache_folder, only_one_builder

ROOT = Path(__file__).resolve().parents[1]
TRANSPORT = ROOT / "reranker" / "transport"
CODE = "**/__pycache__/*.nb[icn]"
_WARM_UP = "from reranker.transport import warm_up; warm_up()"
_LIMIT_S = 900
# Some 3 MB each.
_MOST_KEPT = 10


def pytest_configure(config: pytest.Config) -> None:
    is_worker = hasattr(config, "workerinput")
    if not is_worker and not config.option.collectonly:
        provide_kernels(may_compile=bool(getattr(config.option, "numprocesses", None)))


def provide_kernels(may_compile: bool) -> None:
    """Brings the compiled code into the checkout, from the cache folder or by the warm-up."""
    kept = cache_folder().parent / "kernels" / _digest()
    mark = TRANSPORT / "__pycache__" / f"kept-{kept.name}"
    if mark.exists() or not (kept.exists() or may_compile):
        return
    kept.parent.mkdir(parents=True, exist_ok=True)
    with only_one_builder(kept.parent):
        if kept.exists():
            shutil.copytree(kept, TRANSPORT, dirs_exist_ok=True)
        else:
            subprocess.run([sys.executable, "-c", _WARM_UP], cwd=ROOT, check=True, timeout=_LIMIT_S)
            _keep(kept)
    mark.parent.mkdir(exist_ok=True)
    mark.touch()


def _keep(folder: Path) -> None:
    """Copies the code to `folder`, which appears whole or not at all."""
    with tempfile.TemporaryDirectory(dir=folder.parent) as work:
        draft = Path(work) / "draft"
        for path in TRANSPORT.glob(CODE):
            copy = draft / path.relative_to(TRANSPORT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy)
        if draft.exists():
            draft.rename(folder)
    others = sorted(folder.parent.glob("*/"), key=lambda one: one.stat().st_mtime)
    for old in others[:-_MOST_KEPT]:
        shutil.rmtree(old, ignore_errors=True)


def _digest() -> str:
    """Tells the sources, the versions that compile them, and the processor that the code is for."""
    machine = (binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten())
    digest = hashlib.sha256(repr((sys.version, numba.__version__, llvmlite.__version__, *machine)).encode())
    for source in sorted(TRANSPORT.rglob("*.py")):
        digest.update(source.relative_to(TRANSPORT).as_posix().encode() + b"\0" + source.read_bytes() + b"\0")
    return digest.hexdigest()[:16]
