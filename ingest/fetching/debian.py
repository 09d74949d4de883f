"""Fetches Debian packages with `apt-get` into a folder, and unpacks them there. Nothing is installed."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ingest.fetching.commands import RunCommand, run_command
from reranker.base.errors import FetchFailed
from reranker.base.temporary import temporary_folder


@dataclass(frozen=True)
class Archive:
    """A folder of packages.

    Attributes:
        folder: folder of the package files. A file that was put there by hand is not downloaded.
        ways_out: last sentence of every error: what to do without Debian's archive.
        run: runs commands.
    """

    folder: Path
    ways_out: str
    run: RunCommand

    @classmethod
    def at(cls, folder: Path, ways_out: str, run: RunCommand = run_command) -> Archive:
        """The archive in a folder, which is created."""
        folder = folder.resolve()
        folder.mkdir(parents=True, exist_ok=True)
        return cls(folder, ways_out, run)

    def package(self, name: str) -> Path:
        """The newest file of a package, downloaded if there is none. It appears only when it is complete.

        Raises:
            FetchFailed: it cannot be downloaded.
        """
        return find_package(self.folder, name) or self._download(name)

    def unpack(self, package: Path, inner: Path, needed: Sequence[str], target: Path) -> None:
        """Unpacks the folder `inner` of a package to `target`, in one step.

        Args:
            needed: names that the folder must contain.

        Raises:
            FetchFailed: the package cannot be read, or lacks a needed name.
        """
        target.parent.mkdir(parents=True, exist_ok=True)
        with temporary_folder(".unpack-", self.folder) as temporary:
            result = self.attempt(("dpkg-deb", "-x", str(package), str(temporary)), self.folder)
            unpacked = temporary / inner
            missing = [name for name in needed if not (unpacked / name).exists()]
            if result.returncode != 0 or missing:
                why = _last_line(result) if result.returncode != 0 else f"it has no {inner}/{missing[0]}"
                raise FetchFailed(
                    f"{package} cannot be unpacked: {why}. It may be incomplete: delete it and try again. "
                    f"{self.ways_out}"
                )
            try:
                unpacked.replace(target)
            except OSError:
                # Another process was faster. Its folder is complete, since it was renamed too.
                if not target.is_dir():
                    raise

    def _download(self, name: str) -> Path:
        with temporary_folder(".download-", self.folder) as temporary:
            command = ("apt-get", "download", name)
            result = self.attempt(command, temporary)
            if result.returncode != 0:
                # A new container has no package lists ("Unable to locate package"), and old lists name versions that
                # the archive no longer has (404). New lists solve both, but only root may fetch them.
                update = self.attempt(("apt-get", "update"), temporary)
                result = self.attempt(command, temporary)
                if result.returncode != 0:
                    cure = f" Run `sudo apt-get update` ({_last_line(update)})." if update.returncode != 0 else ""
                    raise FetchFailed(f"apt-get could not download {name}: {_last_line(result)}.{cure} {self.ways_out}")
            downloaded = find_package(temporary, name)
            if downloaded is None:
                raise FetchFailed(f"apt-get left no file of {name}. {self.ways_out}")
            return downloaded.replace(self.folder / downloaded.name)

    def attempt(self, command: Sequence[str], where: Path) -> subprocess.CompletedProcess[str]:
        """Runs a command.

        Raises:
            FetchFailed: there is no such program, or it cannot run.
        """
        try:
            return self.run(command, where)
        except FileNotFoundError as error:
            raise FetchFailed(f"there is no {command[0]} on this machine. {self.ways_out}") from error
        except (OSError, subprocess.TimeoutExpired) as error:
            raise FetchFailed(f"{command[0]} could not run: {error}. {self.ways_out}") from error


def ways_out(contents: str, packages: Sequence[str], folder: Path, otherwise: str = "") -> str:
    """What to do without Debian's archive, for `Archive.at`.

    Args:
        contents: what is in the packages.
        otherwise: another way out, with a comma before it.
    """
    files = ", ".join(f"{name}_*.deb" for name in packages)
    return (
        f"Debian's packages contain {contents}: run this on Debian or Ubuntu or in such a container (for instance "
        f"debian:bookworm), or put {files} into {folder.resolve()} (dpkg-deb from the package dpkg unpacks the "
        f"files){otherwise}."
    )


def find_package(folder: Path, name: str) -> Path | None:
    """The newest file of a package in the folder, or None."""
    found = sorted(folder.glob(f"{name}_*.deb"), key=lambda path: path.stat().st_mtime)
    return found[-1] if found else None


def _last_line(result: subprocess.CompletedProcess[str]) -> str:
    lines = [line.strip() for line in (result.stderr or result.stdout or "").splitlines() if line.strip()]
    return lines[-1].rstrip(".") if lines else f"exit code {result.returncode}"
