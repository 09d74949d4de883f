"""Wheels: the same sources give the same bytes, and what a library needs is read from it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

from reranker.native.compiling import machine_compiler
from wheels.contents import LIBRARY, check, content_faults
from wheels.platforms import PLATFORMS, Platform

ROOT = Path(__file__).resolve().parents[2]
GLIBC, ARM64, MUSL, _, MACOS, _, WINDOWS = PLATFORMS
ZIG = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "sinkrank/wheels/bin/python")

needs_compiler = pytest.mark.skipif(machine_compiler() is None, reason="needs a C compiler")
needs_zig = pytest.mark.skipif(not ZIG.exists(), reason="needs Zig's compiler: make wheels")


def outline(folder: Path) -> Path:
    """A checkout with one small source in C, so that it compiles at once; all its files are new."""
    for name in ("reranker", "reranker/native", "ingest", "mappings", "sinkrank", "tests", "papers"):
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text('"""A package."""\n')
    for name in ("pyproject.toml", "README.md", "LICENSE", "hatch_build.py", "reranker/native/compiling.py"):
        shutil.copyfile(ROOT / name, folder / name)
    (folder / "reranker/native/answer.c").write_text(
        '#include <math.h>\n__attribute__((visibility("default"))) double answer(double x) { return pow(x, 1.5); }\n'
    )
    return folder


def build_in_child(python: str | Path, root: Path, platform: Platform | None = None) -> Path:
    """A wheel of a checkout, by a process that has imported nothing of another one."""
    program = (
        "import sys; from pathlib import Path; "
        "from wheels.building import build; from wheels.platforms import PLATFORMS; "
        "of = next((each for each in PLATFORMS if each.tag == sys.argv[2]), None); "
        "build(Path(sys.argv[1]), Path(sys.argv[1], 'dist'), of)"
    )
    command = [python, "-c", program, root, platform.tag if platform else ""]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run(command, cwd=root, env=environment, check=True, capture_output=True, text=True, timeout=300)
    (wheel,) = (root / "dist").iterdir()
    return wheel


def two_wheels(folder: Path, python: str | Path, platform: Platform | None = None) -> list[Path]:
    """Of checkouts at different places, whose files have different times."""
    roots = outline(folder / "one"), outline(folder / "another place")
    for path in roots[1].rglob("*"):
        os.utime(path, (1_000_000_000, 1_000_000_000))
    return [build_in_child(python, root, platform) for root in roots]


@needs_compiler
@pytest.mark.slow
def test_the_same_sources_give_the_same_wheel_wherever_they_lie(tmp_path: Path) -> None:
    one, other = two_wheels(tmp_path, sys.executable)
    assert one.name == other.name
    assert one.read_bytes() == other.read_bytes()
    with zipfile.ZipFile(one) as archive:
        names = archive.namelist()
    assert LIBRARY in names
    assert not list(content_faults(names))


@needs_zig
@pytest.mark.slow
@pytest.mark.parametrize("platform", [GLIBC, MACOS], ids=lambda platform: platform.tag)  # the others take longer
def test_zig_gives_the_same_wheel_twice_and_for_its_platform(platform: Platform, tmp_path: Path) -> None:
    one, other = two_wheels(tmp_path, ZIG, platform)
    check(one, platform)
    assert one.read_bytes() == other.read_bytes()


def test_the_wheel_holds_the_product_alone() -> None:
    included = {each.distribution_path for each in WheelBuilder(str(ROOT)).recurse_included_files()}
    assert {name.partition("/")[0] for name in included} == {"reranker", "ingest", "mappings", "sinkrank"}
    assert {"sinkrank/__main__.py", "sinkrank/py.typed", "reranker/api/static/page.js"} <= included
    assert not list(content_faults(sorted(included)))


def test_a_source_distribution_has_what_the_wheel_is_built_of() -> None:
    source = {each.distribution_path for each in SdistBuilder(str(ROOT)).recurse_included_files()}
    wheel = {each.distribution_path for each in WheelBuilder(str(ROOT)).recurse_included_files()}
    loops = {path.relative_to(ROOT).as_posix() for path in (ROOT / "reranker/native").rglob("*.[ch]")}
    assert loops
    assert wheel | loops | {"hatch_build.py", "README.md", "LICENSE", "CHANGELOG.md"} <= source
    assert not {name.partition("/")[0] for name in source} & {"tests", "papers", "benchmarks", "campaign", "docs"}


@needs_compiler
@pytest.mark.slow
def test_a_library_that_cannot_be_compiled_leaves_no_wheel(tmp_path: Path) -> None:
    root = outline(tmp_path / "root")
    (root / "reranker/native/answer.c").write_text("int f(void) { return }\n")
    with pytest.raises(subprocess.CalledProcessError) as raised:
        build_in_child(sys.executable, root)
    assert "answer.c:1" in raised.value.stderr
    assert not list(root.rglob("*.whl"))
