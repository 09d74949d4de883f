"""`python -m wheels`: builds the wheel of each platform, checks it, and tries it if this machine can run it."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from wheels.building import build
from wheels.contents import BadWheel, check
from wheels.platforms import PLATFORMS
from wheels.trials import ROOT, FailedTrial, try_wheel


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m wheels", description=__doc__)
    parser.add_argument("--output", type=Path, default=ROOT / "dist", help="folder of the wheels (dist)")
    parser.add_argument("--arm64-root", type=Path, required=True, help="folder of a Debian for arm64, if there is one")
    given = parser.parse_args()
    status = 0
    for platform in PLATFORMS:
        try:
            wheel = build(ROOT, given.output, platform)
            check(wheel, platform)
            tried = try_wheel(wheel, platform, given.arm64_root)
        except (subprocess.CalledProcessError, BadWheel, FailedTrial) as error:
            status, tried = 1, f"FAILED: {error}"
        print(f"{platform.tag}: {tried}", flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
