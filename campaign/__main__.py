"""`python -m campaign`: runs the trials one after the other and prints their figures; exit code 1 if one failed."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.report import machine
from campaign.report import Result, report
from campaign.running import Options, run_trial
from campaign.trials import NAMES


def main() -> None:
    arguments = _arguments()
    options = Options(arguments.seed, arguments.scale, arguments.engine, arguments.older)
    about = machine()
    shown = f"{about['cpu']}, {about['cores']} cores, {about['system']}, Python {about['python']}"
    results: list[Result] = []
    for name in arguments.only or NAMES:
        print(f"{name} …", file=sys.stderr, flush=True)
        results.append(run_trial(name, options))
        if arguments.report is not None:  # what is measured stays if a later trial is interrupted
            arguments.report.write_text(report(results, shown), encoding="utf-8")
    print(report(results, shown))
    sys.exit(any(result.n_failures for result in results))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m campaign", description=__doc__)
    parser.add_argument("--only", nargs="+", metavar="TRIAL", choices=NAMES, help=f"some of {', '.join(NAMES)}")
    parser.add_argument("--seed", type=int, default=1, help="seed of all random choices (%(default)s)")
    parser.add_argument("--scale", type=float, default=1.0, help="0.1 does a tenth of each trial (%(default)s)")
    parser.add_argument("--engine", default="opensearch-2.19.1", help="engine to start (%(default)s)")
    parser.add_argument("--older", metavar="REVISION", help="older version for `versions`; default: the last tag")
    parser.add_argument("--report", type=Path, metavar="FILE", help="also write the report to this file")
    arguments = parser.parse_args()
    if not 0 < arguments.scale <= 100:
        parser.error(f"--scale is {arguments.scale:g}; give a number over 0, up to 100")
    return arguments


if __name__ == "__main__":
    main()
