"""Makes API keys, and stores them in a file as names and hashes: one line `NAME SHA256 MADE` for each.

A key is 256 random bits, so SHA-256 is enough: the key cannot be guessed from it, as a password could be.
"""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import os
import secrets
import stat
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import regex

from reranker.base.errors import BadInput, NotFound, WrongParameter, one_line

# The prefix of keys, by which people and programs that search for leaked secrets recognise them.
_PREFIX = "sinkrank_"
_KEY_BYTES = 32
_KEY = regex.compile(rf"{_PREFIX}[A-Za-z0-9_\-]{{43}}")
_NAME = regex.compile(r"[A-Za-z0-9][A-Za-z0-9._\-]{0,63}")
_HASH = regex.compile(r"[0-9a-f]{64}")
_MAX_FILE_BYTES = 200_000
_OWNERS = 0o600


@dataclass(frozen=True, slots=True)
class NamedKey:
    """
    Attributes:
        sha256: hash of the key, in hexadecimal.
        made: time when it was made (UTC, ISO 8601); empty if the file has none.
    """

    name: str
    sha256: str
    made: str = ""


def is_key(text: str) -> bool:
    """Whether a text has the form of a key."""
    return _KEY.fullmatch(text) is not None


def name_of_key(key: str, keys: Sequence[NamedKey]) -> str | None:
    """The name of a key; None for an unknown key. It takes the same time in both cases."""
    digest = _digest(key)
    name = None
    for known in keys:
        if hmac.compare_digest(digest, known.sha256):
            name = known.name
    return name


def read_keys(path: Path) -> tuple[NamedKey, ...]:
    """Reads the keys of a file. Blank lines and lines that begin with `#` are ignored.

    Raises:
        NotFound: the file does not exist.
        BadInput: the file cannot be read, or has other contents; the message names the line without its contents.
    """
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_FILE_BYTES + 1)
    except FileNotFoundError:
        raise NotFound(
            f"there is no file of API keys {str(path)!r}; make it with `sinkrank keys add NAME --api-keys {path}`"
        ) from None
    except OSError as error:
        raise BadInput(f"the file of API keys cannot be read: {one_line(error)}") from error
    if len(data) > _MAX_FILE_BYTES:
        raise BadInput(f"{path} is larger than {_MAX_FILE_BYTES} bytes; it is no file of API keys")
    lines = data.decode("ascii", "replace").splitlines()
    keys = [
        _read_line(line.split(), f"{path}, line {number}")
        for number, line in enumerate(lines, start=1)
        if line.strip() and not line.startswith("#")
    ]
    if len({key.name for key in keys}) < len(keys):
        raise BadInput(f"{path} has two keys of one name; remove one of them")
    return tuple(keys)


def add_key(path: Path, name: str) -> str:
    """Makes a key, adds its hash to the file, and returns the key, which is stored nowhere.

    Raises:
        WrongParameter: there is a key with this name, or the name is not valid.
        BadInput: as `read_keys`.
    """
    if not _NAME.fullmatch(name):
        raise WrongParameter(f"{name[:80]!r} cannot name a key; use up to 64 letters, digits, '.', '_' and '-'")
    key = _PREFIX + secrets.token_urlsafe(_KEY_BYTES)
    with _alone(path):
        keys = read_keys(path) if path.exists() else ()
        if name in (known.name for known in keys):
            raise WrongParameter(f"{path} has a key {name!r} already; remove it first, or take another name")
        _write(path, [*keys, NamedKey(name, _digest(key), datetime.now(UTC).isoformat(timespec="seconds"))])
    return key


def remove_key(path: Path, name: str) -> None:
    """
    Raises:
        NotFound: there is no such key.
        BadInput: as `read_keys`.
    """
    with _alone(path):
        keys = read_keys(path)
        left = [key for key in keys if key.name != name]
        if len(left) == len(keys):
            raise NotFound(f"{path} has no key {name!r}; `sinkrank keys list` shows those it has")
        _write(path, left)


def _read_line(parts: list[str], place: str) -> NamedKey:
    if len(parts) in (2, 3) and _NAME.fullmatch(parts[0]) and _HASH.fullmatch(parts[1]):
        return NamedKey(*parts)
    raise BadInput(f"{place} is no API key; a line is NAME, SHA-256 and the time; use `sinkrank keys add NAME`")


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """A lock for one process at a time, so that no key is lost if two are added at once."""
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def _write(path: Path, keys: Sequence[NamedKey]) -> None:
    """Replaces the file in one step. Only its owner can read a new file. An existing file keeps its owner and the read
    right of its group, so that root can change the keys of a service. A link stays a link."""
    path = path.resolve()
    lines = [f"{' '.join(part for part in (key.name, key.sha256, key.made) if part)}\n" for key in keys]
    handle, draft = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)  # mode 0600
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            if path.exists():
                _take_after(path.stat(), handle)
            file.writelines(lines)
            file.flush()
            os.fsync(file.fileno())
        Path(draft).replace(path)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise


def _take_after(before: os.stat_result, handle: int) -> None:
    os.fchmod(handle, _OWNERS | (before.st_mode & stat.S_IRGRP))
    if os.geteuid() == 0:
        os.fchown(handle, before.st_uid, before.st_gid)
