"""LibreOffice's help packages from Debian's archive into a folder of HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from ingest.fetching.commands import RunCommand, run_command
from ingest.fetching.debian import Archive
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
"""Language to Debian package."""

_HELP = Path("usr/share/libreoffice/help")


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
    archive = Archive.at(folder, _ways_out(folder.resolve()), run, is_root)
    paths: dict[str, Path] = {}
    for done, language in enumerate(languages):
        path = pages_folder(archive.folder, language)
        if not path.is_dir():
            progress(done, len(languages), f"downloading {package_of(language)}")
            package = archive.package(package_of(language))
            progress(done, len(languages), f"unpacking {package_of(language)}")
            archive.unpack(package, _HELP / folder_name(language), ("text",), path)
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


def _ways_out(folder: Path) -> str:
    return (
        "LibreOffice's help comes from Debian packages: run this on Debian or Ubuntu or in such a container "
        "(for instance debian:bookworm), or put the files "
        f"{', '.join(f'{package}_*.deb' for package in PACKAGES.values())} into {folder} "
        "(dpkg-deb, from the package dpkg, unpacks them), or use the small corpus that comes with Sinkrank."
    )
