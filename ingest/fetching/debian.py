"""Debian packages from Debian's archive into a folder, without installing anything.

Touches the network only through `apt-get`.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from reranker.base.errors import FetchFailed
from reranker.base.temporary import temporary_folder

# The largest package has 21 MB; a quarter of an hour covers a very slow line.
_TIMEOUT_S = 900

RunCommand = Callable[[Sequence[str], Path], subprocess.CompletedProcess[str]]
"""Runs a command in a folder, returns its exit code and output; raises FileNotFoundError without it."""


class CorpusUnavailable(FetchFailed):
    """A package that is neither here nor to be had; the message says what to do instead."""

    code: ClassVar[str] = "corpus_unavailable"


def run_command(command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command in the folder, with English messages; see `RunCommand`.

    Raises FileNotFoundError if there is no such command and subprocess.TimeoutExpired after 15 minutes.
    """
    return subprocess.run(
        command,
        cwd=folder,
        env=os.environ | {"LC_ALL": "C"},
        capture_output=True,
        text=True,
        errors="replace",
        timeout=_TIMEOUT_S,
        check=False,
    )


@dataclass(frozen=True)
class Archive:
    """A folder that packages are brought to, and what a failure says.

    Attributes:
        folder: where package files lie; one that somebody put there by hand is not downloaded.
        ways_out: the last sentence of every error: what to do where there is no Debian archive.
        run: how commands are run.
        as_root: whether the package lists may be brought up to date.
    """

    folder: Path
    ways_out: str
    run: RunCommand
    as_root: bool

    @classmethod
    def at(cls, folder: Path, ways_out: str, run: RunCommand = run_command, is_root: bool | None = None) -> Archive:
        """The archive at a folder, which is made; whether we are root is found out unless it is said."""
        folder = folder.resolve()
        folder.mkdir(parents=True, exist_ok=True)
        return cls(folder, ways_out, run, os.geteuid() == 0 if is_root is None else is_root)

    def package(self, name: str) -> Path:
        """The newest file of a package, downloaded if there is none; it appears only when it is whole.

        Raises CorpusUnavailable if it cannot be had.
        """
        return find_package(self.folder, name) or self._download(name)

    def unpack(self, package: Path, inner: Path, needed: Sequence[str], target: Path) -> None:
        """Put the folder `inner` of a package at the target, at once, if it holds the needed names.

        Raises CorpusUnavailable if the package cannot be read or does not hold them.
        """
        target.parent.mkdir(parents=True, exist_ok=True)
        with temporary_folder(".unpack-", self.folder) as temporary:
            result = self.attempt(("dpkg-deb", "-x", str(package), str(temporary)), self.folder)
            unpacked = temporary / inner
            missing = [name for name in needed if not (unpacked / name).exists()]
            if result.returncode != 0 or missing:
                why = _last_line(result) if result.returncode != 0 else f"it holds no {inner}/{missing[0]}"
                raise CorpusUnavailable(
                    f"{package} cannot be unpacked: {why}. It may be half a file: delete it and try again. "
                    f"{self.ways_out}"
                )
            try:
                unpacked.replace(target)
            except OSError:
                # Another process was faster; its folder is as whole as ours, since it was renamed too.
                if not target.is_dir():
                    raise

    def _download(self, name: str) -> Path:
        with temporary_folder(".download-", self.folder) as temporary:
            command = ("apt-get", "download", name)
            result = self.attempt(command, temporary)
            if result.returncode != 0 and self.as_root:
                # A fresh container has no package lists ("Unable to locate package"), and an old list names
                # versions that the archive has dropped (404): the cure of both is a new list.
                update = self.attempt(("apt-get", "update"), temporary)
                result = self.attempt(command, temporary)
                if result.returncode != 0 and update.returncode != 0:
                    result = update
            if result.returncode != 0:
                cure = "" if self.as_root else " The package lists may be old: run `sudo apt-get update` and try again."
                raise CorpusUnavailable(
                    f"apt-get could not download {name}: {_last_line(result)}.{cure} {self.ways_out}"
                )
            downloaded = find_package(temporary, name)
            if downloaded is None:
                raise CorpusUnavailable(f"apt-get said it downloaded {name} but left no file. {self.ways_out}")
            return downloaded.replace(self.folder / downloaded.name)

    def attempt(self, command: Sequence[str], where: Path) -> subprocess.CompletedProcess[str]:
        """Run a command; raises CorpusUnavailable if there is none, or it cannot run."""
        try:
            return self.run(command, where)
        except FileNotFoundError as error:
            raise CorpusUnavailable(f"there is no {command[0]} on this machine. {self.ways_out}") from error
        except (OSError, subprocess.TimeoutExpired) as error:
            raise CorpusUnavailable(f"{command[0]} could not run: {error}. {self.ways_out}") from error


def find_package(folder: Path, name: str) -> Path | None:
    """Return the newest file of a package in the folder, or None."""
    found = sorted(folder.glob(f"{name}_*.deb"), key=lambda path: path.stat().st_mtime)
    return found[-1] if found else None


def _last_line(result: subprocess.CompletedProcess[str]) -> str:
    lines = [line.strip() for line in (result.stderr or result.stdout or "").splitlines() if line.strip()]
    return lines[-1].rstrip(".") if lines else f"exit code {result.returncode}"
