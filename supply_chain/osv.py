"""Reads advisories in the OSV format (https://ossf.github.io/osv-schema/) from a folder or a zip archive, and says
which of them concern a version of a package of PyPI. Needs no network.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

# The largest advisories have some 2 MB; all of PyPI's some 20,000 files.
MAX_ADVISORY_BYTES = 20_000_000
MAX_ADVISORIES = 2_000_000


class BadDatabase(ValueError):
    """A database that cannot be read, or holds no advisory for PyPI; the message names the cure."""


@dataclass(frozen=True)
class Finding:
    """An advisory that concerns a pinned version.

    Attributes:
        fixed: versions without the vulnerability, as the advisory names them; empty if it names none.
    """

    advisory: str
    aliases: tuple[str, ...]
    package: str
    version: str
    fixed: tuple[str, ...]
    summary: str


@dataclass(frozen=True)
class Database:
    """Advisories by the normalised name of a package.

    Attributes:
        n_advisories: how many there are for PyPI, without withdrawn ones.
        newest: when the latest of them was modified, as RFC 3339 writes it.
    """

    by_package: Mapping[str, Sequence[Mapping[str, Any]]]
    n_advisories: int
    newest: str

    def findings(self, name: str, version: str) -> list[Finding]:
        """The advisories that concern a version of a package."""
        return [
            _finding(advisory, name, version)
            for advisory in self.by_package.get(canonicalize_name(name), ())
            if any(_concerns(affected, version) for affected in _of_package(advisory, name))
        ]


def read_database(path: Path) -> Database:
    """The advisories for PyPI in a folder of JSON files, or in a zip archive of them.

    Raises:
        BadDatabase: there are none, or one of them cannot be read.
    """
    by_package: dict[str, list[Mapping[str, Any]]] = {}
    n_advisories, newest = 0, ""
    for name, content in _files(path):
        advisory = _read(name, content)
        packages = {canonicalize_name(one["package"]["name"]) for one in _of_pypi(advisory)}
        if not packages or advisory.get("withdrawn"):
            continue
        n_advisories += 1
        newest = max(newest, str(advisory.get("modified", "")))
        for package in packages:
            by_package.setdefault(package, []).append(advisory)
    if not n_advisories:
        raise BadDatabase(
            f"{path} holds no advisory for PyPI; expected a folder or zip archive of OSV's JSON files, such as OSV's "
            "export PyPI/all.zip"
        )
    return Database(by_package, n_advisories, newest)


def _files(path: Path) -> Iterator[tuple[str, bytes]]:
    try:
        if path.is_dir():
            for file in sorted(path.rglob("*.json")):
                _check_size(file.name, file.stat().st_size)
                yield file.name, file.read_bytes()
            return
        with zipfile.ZipFile(path) as archive:
            entries = [entry for entry in archive.infolist() if entry.filename.endswith(".json")]
            if len(entries) > MAX_ADVISORIES:
                raise BadDatabase(f"{path} holds {len(entries):,} files; at most {MAX_ADVISORIES:,} are read")
            for entry in entries:
                _check_size(entry.filename, entry.file_size)
                yield entry.filename, archive.read(entry)
    except (OSError, zipfile.BadZipFile) as error:
        raise BadDatabase(f"{path} cannot be read: {error}. Give a folder or zip archive of OSV's files") from error


def _check_size(name: str, n_bytes: int) -> None:
    if n_bytes > MAX_ADVISORY_BYTES:
        raise BadDatabase(f"{name} has {n_bytes:,} bytes; an advisory may have {MAX_ADVISORY_BYTES:,}")


def _read(name: str, content: bytes) -> Mapping[str, Any]:
    try:
        advisory = json.loads(content)
        _ = advisory["id"], list(_of_pypi(advisory))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise BadDatabase(f"{name} is no advisory in the OSV format ({type(error).__name__}: {error})") from error
    return cast(Mapping[str, Any], advisory)


def _of_pypi(advisory: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The entries of `affected` about packages of PyPI."""
    for affected in advisory.get("affected") or ():
        package = affected.get("package") or {}
        if str(package.get("ecosystem", "")).partition(":")[0] == "PyPI":
            str(package["name"])
            yield affected


def _of_package(advisory: Mapping[str, Any], name: str) -> Iterator[Mapping[str, Any]]:
    wanted = canonicalize_name(name)
    return (one for one in _of_pypi(advisory) if canonicalize_name(one["package"]["name"]) == wanted)


def _concerns(affected: Mapping[str, Any], version: str) -> bool:
    """Whether a version is listed, or lies within a range."""
    pinned = Version(version)
    if any(_same(pinned, str(listed)) for listed in affected.get("versions") or ()):
        return True
    # A range of commits says nothing about versions: such entries list them.
    ranges = [one for one in affected.get("ranges") or () if one.get("type") != "GIT"]
    return any(_within(pinned, one.get("events") or ()) for one in ranges)


def _same(version: Version, listed: str) -> bool:
    try:
        return version == Version(listed)
    except InvalidVersion:
        return str(version) == listed


def _within(version: Version, events: Sequence[Mapping[str, str]]) -> bool:
    """The evaluation of the OSV schema: the events before the version, in order, decide.

    A bound that is no version of PEP 440 counts against us: as introduced before, and not fixed.
    """
    limits = [str(one["limit"]) for one in events if "limit" in one]
    if limits and not any(limit == "*" or _is_below(version, limit) for limit in limits):
        return False
    is_affected = False
    for event in sorted(events, key=_order):
        if "introduced" in event:
            is_affected |= not _is_below(version, str(event["introduced"]), unknown=False)
        elif "fixed" in event:
            is_affected &= _is_below(version, str(event["fixed"]))
        elif "last_affected" in event:
            last = str(event["last_affected"])
            is_affected &= _is_below(version, last) or _same(version, last)
    return is_affected


def _is_below(version: Version, bound: str, unknown: bool = True) -> bool:
    """Whether a version lies below a bound; `unknown` where the bound is no version."""
    if bound == "0":
        return False  # by definition below every version
    try:
        return version < Version(bound)
    except InvalidVersion:
        return unknown


def _order(event: Mapping[str, str]) -> tuple[bool, Version, bool]:
    """By version; a version that is introduced and last affected at once is one that is affected."""
    kind, bound = next(iter(event.items()), ("", "0"))
    try:
        return bound != "0", Version(str(bound)), kind != "introduced"
    except InvalidVersion:
        return False, Version("0"), kind != "introduced"


def _finding(advisory: Mapping[str, Any], name: str, version: str) -> Finding:
    events = [
        event
        for affected in _of_package(advisory, name)
        for one in affected.get("ranges") or ()
        if one.get("type") != "GIT"
        for event in one.get("events") or ()
    ]
    fixed = tuple(dict.fromkeys(str(event["fixed"]) for event in events if "fixed" in event))
    summary = str(advisory.get("summary") or str(advisory.get("details") or "").strip().partition("\n")[0])
    aliases = tuple(map(str, advisory.get("aliases") or ()))
    return Finding(str(advisory["id"]), aliases, name, version, fixed, summary[:200])
