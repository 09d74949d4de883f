"""Makes API keys, and stores them in a file as names and hashes: one line `NAME SHA256 MADE` for each.

A key is 256 random bits, so SHA-256 is enough: the key cannot be guessed from it, as a password could be. Adding a key
appends a line, and removing one writes over its line. So the file keeps its owner and rights, and no key is lost if
several processes change it at once.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shlex
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import regex

from reranker.base.errors import BadInput, NotFound, WrongParameter, one_line

# The prefix of keys, by which people and programs that search for leaked secrets recognise them.
_PREFIX = "sinkrank_"
_KEY_BYTES = 32
_KEY = regex.compile(rf"{_PREFIX}[A-Za-z0-9_\-]{{43}}")
_NAME = regex.compile(r"[A-Za-z0-9][A-Za-z0-9._\-]{0,63}")
_LINE = regex.compile(rf"({_NAME.pattern}) ([0-9a-f]{{64}})(?: \S+)?")


def is_key(text: str) -> bool:
    """Whether a text has the form of a key."""
    return _KEY.fullmatch(text) is not None


def digest(key: str) -> str:
    """The SHA-256 of a key, in hexadecimal."""
    return hashlib.sha256(key.encode()).hexdigest()


def read_keys(path: Path) -> dict[str, str]:
    """The names of the keys of a file, by the keys' digests. Blank lines and lines that begin with `#` are ignored.

    Raises:
        NotFound: the file does not exist.
        BadInput: the file cannot be read, or has other contents; the message names the line without its contents.
    """
    return {sha256: name for _, _, name, sha256 in _read(path)}


def add_key(path: Path, name: str) -> str:
    """Makes a key, adds its hash to the file, and returns the key, which is stored nowhere. Only the owner can read a
    new file.

    Raises:
        WrongParameter: there is a key with this name, or the name is not valid.
        BadInput: as `read_keys`.
    """
    if not _NAME.fullmatch(name):
        raise WrongParameter(f"{name[:80]!r} cannot name a key; use up to 64 letters, digits, '.', '_' and '-'")
    if path.exists() and name in read_keys(path).values():
        raise WrongParameter(f"{path} has a key {name!r} already; remove it first, or take another name")
    key = _PREFIX + secrets.token_urlsafe(_KEY_BYTES)
    line = f"{name} {digest(key)} {datetime.now(UTC).isoformat(timespec='seconds')}\n"
    with open(path, "a+b", buffering=0, opener=partial(os.open, mode=0o600)) as file:
        end = file.seek(0, os.SEEK_END)
        file.seek(max(0, end - 1))
        if end > 0 and file.read(1) != b"\n":  # an editor left it out
            line = f"\n{line}"
        file.write(line.encode())  # at the end, wherever it is by now
        os.fsync(file.fileno())
    return key


def remove_key(path: Path, name: str) -> None:
    """
    Raises:
        NotFound: there is no such key.
        BadInput: as `read_keys`.
    """
    keys = list(_read(path))
    found = [(start, length) for start, length, known, _ in keys if known == name]
    if not found:
        names = ", ".join(known for *_, known, _ in keys) or "none"
        raise NotFound(f"{path} has no key {name!r}; it has: {names}")
    with path.open("r+b", buffering=0) as file:
        for start, length in found:
            file.seek(start)
            file.write(f"# removed {name}".ljust(length).encode())
        os.fsync(file.fileno())


def _read(path: Path) -> Iterator[tuple[int, int, str, str]]:
    """For each key the place and length of its line in bytes, its name and its digest."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise NotFound(
            f"there is no file of API keys {str(path)!r}; make it with "
            f"`sinkrank keys add NAME --api-keys {shlex.quote(str(path))}`"
        ) from None
    except OSError as error:
        raise BadInput(f"the file of API keys cannot be read: {one_line(error)}") from error
    start = 0
    for number, line in enumerate(data.split(b"\n"), start=1):
        text = line.decode("ascii", "replace").rstrip()
        found = _LINE.fullmatch(text)
        if found is not None:
            yield start, len(text), found[1], found[2]
        elif text and not text.startswith("#"):
            raise BadInput(
                f"{path}, line {number} is not an API key; a line is NAME, SHA-256 and the time; "
                "use `sinkrank keys add NAME`"
            )
        start += len(line) + 1
