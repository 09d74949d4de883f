"""Builds the wheel of a platform from a checkout."""

from __future__ import annotations

import tomllib
from pathlib import Path

from hatchling.builders.wheel import WheelBuilder

from wheels.platforms import Platform


def build(root: Path, folder: Path, platform: Platform | None = None) -> Path:
    """The path of a new wheel. The same sources give the same bytes, wherever they lie.

    Args:
        root: the checkout.
        folder: where to.
        platform: None: that of this machine, by its own compiler.

    Raises:
        subprocess.CalledProcessError: the compiler failed; its messages are on stderr.
    """
    config = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    if platform is not None:
        hook = config["tool"]["hatch"]["build"]["targets"]["wheel"]["hooks"]["custom"]
        hook |= {"platform": platform.tag, "zig-target": platform.zig_target}
    builder = WheelBuilder(str(root), config=config)
    (wheel,) = builder.build(directory=str(folder), versions=["standard"])
    return Path(wheel)
