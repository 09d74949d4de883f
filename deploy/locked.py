"""Prints the part of requirements.lock that some extras and dependency groups need, as requirements with hashes.

    python deploy/locked.py base encoder words --without huggingface-hub

`base` is what every install has; other names are extras or groups of pyproject.toml, or else packages.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def locked(names: Iterable[str], without: Iterable[str] = (), root: Path = ROOT) -> str:
    """The entries of requirements.lock that these need, directly or through others.

    Raises:
        KeyError: nothing of this name is locked.
    """
    entries: dict[str, list[str]] = {}  # one package can have a version for each of several Pythons
    needs: dict[str, set[str]] = {}
    # The last line of an entry says which packages need it: "    # via flask, typer".
    for entry in re.split(r"(?m)^(?=\w)", (root / "requirements.lock").read_text(encoding="utf-8"))[1:]:
        name = _package(entry)
        lines = entry.splitlines()
        entries.setdefault(name, []).append("\n".join(line for line in lines if "# via " not in line))
        for parent in lines[-1].partition("# via ")[2].split(", "):
            needs.setdefault(parent, set()).add(name)
    found: set[str] = set(without)
    ahead = {each for name in names for each in _roots(name, root)}
    while ahead:
        name = ahead.pop()
        if name not in found:
            found.add(name)
            ahead |= needs.get(name, set())
    return "\n".join(entry for name in sorted(found - set(without)) for entry in entries[name])


def _roots(name: str, root: Path) -> set[str]:
    """The packages that a part of pyproject.toml names."""
    config = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    project = config["project"]
    parts = {**config["dependency-groups"], **project["optional-dependencies"], "base": project["dependencies"]}
    found: set[str] = set()
    for line in parts.get(name, [name]):
        if isinstance(line, dict):
            found |= _roots(line["include-group"], root)
        elif own := re.match(r"sinkrank\[([\w,]+)\]", line):
            found |= {each for extra in own[1].split(",") for each in _roots(extra, root)}
        else:
            found.add(_package(line))
    return found


def _package(requirement: str) -> str:
    """The name of a requirement, as indices write it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", re.match(r"[\w.-]+", requirement)[0]).lower()  # type: ignore[index]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="+", help="base, extras, groups or packages")
    parser.add_argument("--without", nargs="+", default=[], help="packages to leave out, with what only they need")
    given = parser.parse_args()
    sys.stdout.write(locked(given.names, given.without) + "\n")
