"""LibreOffice's help packages from Debian's archive into a folder of HTML, without installing anything.

The only module of the corpora that touches the network, and only through `apt-get`.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar

from ingest.progress import Progress, no_progress
from reranker.errors import SinkrankError

PACKAGES: Mapping[str, str] = MappingProxyType(
    {
        "en": "libreoffice-help-en-us",
        "fr": "libreoffice-help-fr",
        "de": "libreoffice-help-de",
        "fi": "libreoffice-help-fi",
        "el": "libreoffice-help-el",
        "sv": "libreoffice-help-sv",
    }
)
"""Language to Debian package."""

_HELP = Path("usr/share/libreoffice/help")

# The largest package has 4 MB; a quarter of an hour covers a very slow line.
_TIMEOUT_S = 900

RunCommand = Callable[[Sequence[str], Path], subprocess.CompletedProcess[str]]
"""Runs a command in a folder, returns its exit code and output; raises FileNotFoundError without it."""


class CorpusUnavailable(SinkrankError):
    """A corpus that is neither here nor to be had; the message says what to do instead."""

    http_status: ClassVar[int] = 503
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


def fetch(
    folder: Path,
    progress: Progress = no_progress,
    *,
    languages: Sequence[str] = tuple(PACKAGES),
    run: RunCommand = run_command,
    is_root: bool | None = None,
) -> dict[str, Path]:
    """Bring the help of these languages under the folder, and return each language's folder of pages.

    What is there is not fetched again: neither unpacked pages nor a package that somebody put into the
    folder by hand. Both appear under their final name only when they are whole. Progress counts languages.

    Raises CorpusUnavailable if a tool is missing, or a package can be neither downloaded nor unpacked.
    """
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    as_root = os.geteuid() == 0 if is_root is None else is_root
    paths: dict[str, Path] = {}
    for done, language in enumerate(languages):
        path = pages_folder(folder, language)
        if not path.is_dir():
            progress(done, len(languages), f"downloading {package_of(language)}")
            package = _find_package(folder, language) or _download(folder, language, run, as_root)
            progress(done, len(languages), f"unpacking {package_of(language)}")
            _unpack(package, path, language, run)
        paths[language] = path
    progress(len(languages), len(languages), "LibreOffice help is here")
    return paths


def package_of(language: str) -> str:
    """Return the name of a language's Debian package; raises ValueError for a language not in the corpus."""
    if language not in PACKAGES:
        raise ValueError(f"no LibreOffice help in language {language!r}; take one of {', '.join(PACKAGES)}")
    return PACKAGES[language]


def folder_name(language: str) -> str:
    """Return the name that LibreOffice gives a language's folder, in its packages and on its site."""
    return "en-US" if language == "en" else language


def pages_folder(folder: Path, language: str) -> Path:
    """Return where the pages of a language lie once they are fetched."""
    package_of(language)
    return folder / "pages" / language


def _find_package(folder: Path, language: str) -> Path | None:
    """Return the newest package file of a language in the folder, or None."""
    found = sorted(folder.glob(f"{package_of(language)}_*.deb"), key=lambda path: path.stat().st_mtime)
    return found[-1] if found else None


def _download(folder: Path, language: str, run: RunCommand, as_root: bool) -> Path:
    package = package_of(language)
    with tempfile.TemporaryDirectory(prefix=".download-", dir=folder) as temporary:
        command = ("apt-get", "download", package)
        result = _try(run, command, Path(temporary), folder)
        if result.returncode != 0 and as_root:
            # A fresh container has no package lists ("Unable to locate package"), and an old list names
            # versions that the archive has dropped (404): the cure of both is a new list.
            update = _try(run, ("apt-get", "update"), Path(temporary), folder)
            result = _try(run, command, Path(temporary), folder)
            if result.returncode != 0 and update.returncode != 0:
                result = update
        if result.returncode != 0:
            cure = "" if as_root else " The package lists may be old: run `sudo apt-get update` and try again."
            raise CorpusUnavailable(
                f"apt-get could not download {package}: {_last_line(result)}.{cure} {_ways_out(folder)}"
            )
        downloaded = _find_package(Path(temporary), language)
        if downloaded is None:
            raise CorpusUnavailable(f"apt-get said it downloaded {package} but left no file. {_ways_out(folder)}")
        return downloaded.replace(folder / downloaded.name)


def _unpack(package: Path, path: Path, language: str, run: RunCommand) -> None:
    folder = package.parent
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".unpack-", dir=folder) as temporary:
        result = _try(run, ("dpkg-deb", "-x", str(package), temporary), folder, folder)
        unpacked = Path(temporary) / _HELP / folder_name(language)
        if result.returncode != 0 or not (unpacked / "text").is_dir():
            why = _last_line(result) if result.returncode != 0 else f"it holds no {_HELP}/{unpacked.name}/text"
            raise CorpusUnavailable(
                f"{package} cannot be unpacked: {why}. It may be half a file: delete it and try again. "
                f"{_ways_out(folder)}"
            )
        try:
            unpacked.replace(path)
        except OSError:
            # Another process was faster; its folder is as whole as ours, since it was renamed too.
            if not path.is_dir():
                raise


def _try(run: RunCommand, command: Sequence[str], where: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    try:
        return run(command, where)
    except FileNotFoundError as error:
        raise CorpusUnavailable(f"there is no {command[0]} on this machine. {_ways_out(folder)}") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CorpusUnavailable(f"{command[0]} could not run: {error}. {_ways_out(folder)}") from error


def _last_line(result: subprocess.CompletedProcess[str]) -> str:
    lines = [line.strip() for line in (result.stderr or result.stdout or "").splitlines() if line.strip()]
    return lines[-1].rstrip(".") if lines else f"exit code {result.returncode}"


def _ways_out(folder: Path) -> str:
    return (
        "LibreOffice's help comes from Debian packages: run this on Debian or Ubuntu or in such a container "
        "(for instance debian:bookworm), or put the files "
        f"{', '.join(f'{package}_*.deb' for package in PACKAGES.values())} into {folder} "
        "(dpkg-deb, from the package dpkg, unpacks them), or use the small corpus that comes with Sinkrank."
    )
