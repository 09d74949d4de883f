"""Fetches LibreOffice's help from Debian's archive into a folder of HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from ingest.fetching.commands import RunCommand, run_command
from ingest.fetching.debian import Archive, ways_out
from ingest.progress import Progress, no_progress

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
"""The Debian package of each language."""

_HELP = Path("usr/share/libreoffice/help")


def fetch(
    folder: Path,
    progress: Progress = no_progress,
    *,
    languages: Sequence[str] = tuple(PACKAGES),
    run: RunCommand = run_command,
) -> dict[str, Path]:
    """Fetches the help in these languages into the folder. Returns the folder of pages by language.

    Existing pages and packages are not fetched again, also if a user put them there. Both appear only when they are
    complete. Progress counts languages.

    Raises:
        FetchFailed: a tool is missing, or a package cannot be downloaded or unpacked.
    """
    otherwise = ", or use the small corpus that comes with Sinkrank"
    archive = Archive.at(folder, ways_out("LibreOffice's help", list(PACKAGES.values()), folder, otherwise), run)
    paths: dict[str, Path] = {}
    for done, language in enumerate(languages):
        path = pages_folder(archive.folder, language)
        if not path.is_dir():
            progress(done, len(languages), f"downloading {PACKAGES[language]}")
            package = archive.package(PACKAGES[language])
            progress(done, len(languages), f"unpacking {PACKAGES[language]}")
            archive.unpack(package, _HELP / folder_name(language), ("text",), path)
        paths[language] = path
    progress(len(languages), len(languages), "LibreOffice help is here")
    return paths


def folder_name(language: str) -> str:
    """The name of a language's folder in LibreOffice's packages and on its site."""
    return "en-US" if language == "en" else language


def pages_folder(folder: Path, language: str) -> Path:
    """The folder of the pages of a language."""
    return folder / "pages" / language
