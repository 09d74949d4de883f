"""Reads a lock file into the packages that it pins."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
RUNTIME_LOCK = ROOT / "requirements.lock"


class NotALock(ValueError):
    """A file that pins no versions; the message names it."""


@dataclass(frozen=True, order=True)
class Pin:
    """One version of a package; a lock has several of one package where Python's version decides.

    Attributes:
        name: normalised as PEP 503 says.
        sha256: of its files, in hexadecimal.
    """

    name: str
    version: str
    sha256: tuple[str, ...] = ()


def read_lock(path: Path) -> list[Pin]:
    """The pins of a file with lines `name==version ; marker \\` and `--hash=sha256:…`, sorted.

    Raises:
        NotALock: the file cannot be read, or a line pins no version.
    """
    try:
        text = path.read_text(encoding="utf-8").replace("\\\n", " ")
    except OSError as error:
        raise NotALock(f"{path} cannot be read: {error.strerror}") from error
    lines = [line.strip() for line in text.splitlines()]
    pins = {_read_pin(path, line) for line in lines if line and not line.startswith("#")}
    if not pins:
        raise NotALock(f"{path} pins no package; expected lines such as flask==3.1.3")
    return sorted(pins)


def _read_pin(path: Path, line: str) -> Pin:
    requirement, *hashes = line.split(" --hash=sha256:")
    try:
        read = Requirement(requirement)
    except InvalidRequirement as error:
        raise NotALock(f"{path} has the line {line[:80]!r}, expected one such as flask==3.1.3") from error
    exact = [one.version for one in read.specifier if one.operator == "=="]
    if len(exact) != 1 or "*" in exact[0]:
        raise NotALock(f"{path} does not pin {read.name} to one version: write {read.name}==VERSION")
    return Pin(canonicalize_name(read.name), exact[0], tuple(one.strip() for one in hashes))
