"""Compares lock files with a vulnerability database in the OSV format, without a network.

    python -m supply_chain.audit DATABASE [LOCK …]

The database is a folder or zip archive of OSV's JSON files. Ends with 0 if no pinned version is affected, with 1 if one
is, and with 2 if something could not be read.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from supply_chain.lock import ROOT, NotALock, Pin, read_lock
from supply_chain.osv import BadDatabase, Finding, read_database


def default_locks() -> list[Path]:
    """Every lock file of the repository, those of the tests too."""
    return sorted([*ROOT.glob("requirements*.lock"), *(ROOT / "tests").rglob("requirements*.lock")])


def describe(finding: Finding, locks: Sequence[Path]) -> str:
    """One finding, as two lines."""
    names = ", ".join([finding.advisory, *finding.aliases])
    cure = f"fixed in {', '.join(finding.fixed)}" if finding.fixed else "no fixed version is named"
    where = ", ".join(path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else str(path) for path in locks)
    return f"{finding.package} {finding.version} ({where}): {names}; {cure}\n    {finding.summary}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m supply_chain.audit", description=__doc__.partition("\n")[0])
    parser.add_argument("database", type=Path, help="folder or zip archive of OSV's JSON files")
    parser.add_argument("locks", type=Path, nargs="*", help="lock files; default: all of the repository")
    given = parser.parse_args(arguments)
    paths = given.locks or default_locks()
    try:
        database = read_database(given.database)
        pins: dict[Pin, list[Path]] = {}
        for path in paths:
            for pin in read_lock(path):
                pins.setdefault(Pin(pin.name, pin.version), []).append(path)
    except (BadDatabase, NotALock) as problem:
        print(problem, file=sys.stderr)
        return 2
    found = [(finding, pins[pin]) for pin in sorted(pins) for finding in database.findings(pin.name, pin.version)]
    for finding, locks in found:
        print(describe(finding, locks))
    print(
        f"{len(found)} findings in {len(pins)} pinned versions; {database.n_advisories:,} advisories for PyPI, the "
        f"newest of {database.newest or 'an unknown date'}"
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
