"""Fetches Debian packages with much text in many languages, and the descriptions of all packages, into a folder with
`apt-get`. Nothing is installed, and the package lists of the system are not changed."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

# The names of the languages of descriptions in apt.
DESCRIPTIONS = (
    *("en", "de", "fr", "it", "es", "pt", "pt_BR", "da", "ru", "pl"),
    *("cs", "fi", "sv", "nl", "hu", "el", "ca", "uk", "sk"),
)


def _translated(name: str, languages: str) -> list[str]:
    return [name.format(language) for language in languages.split()]


ENGLISH = (
    *("libreoffice-help-en-us", "manpages", "manpages-dev", "gnome-user-docs", "evolution-common", "debian-handbook"),
    *(
        "lilypond-doc-html",
        "debian-reference-en",
        "developers-reference",
        "installation-guide-amd64",
        "aptitude-doc-en",
    ),
    *("linux-doc-6.1", "perl-doc", "python3.11-doc", "postgresql-doc-15", "rust-doc", "openjdk-17-doc"),
    *("cppreference-doc-en-html", "python-django-doc", "ghc-doc", "qtbase5-doc-html", "erlang-doc", "octave-doc"),
    *("scilab-doc", "libboost1.81-doc", "dict-gcide", "dict-foldoc", "dict-wn", "fortunes", "gimp-help-en"),
    *("aptitude-doc-en", "kicad-doc-en"),
)
"""Packages that are read first. The guides of Debian, GNOME and Inkscape contain their translations too."""

TRANSLATED = (
    *_translated("libreoffice-help-{}", "de fr es it pt pt-br nl sv fi el da pl ru cs hu ca"),
    *_translated("manpages-{}", "de fr es pl ru pt-br it nl da cs hu fi sv uk ro"),
    *_translated("manpages-{}-dev", "de fr es pl ru pt-br"),
    *_translated("gimp-help-{}", "de fr it es ru nl el"),
    *_translated("kicad-doc-{}", "de fr it es pl ru"),
    *_translated("lilypond-doc-html-{}", "de fr es it ca"),
    *_translated("debian-reference-{}", "de fr es it pt"),
    *_translated("developers-reference-{}", "de fr"),
    *_translated("scilab-doc-{}", "fr pt-br"),
    *_translated("aptitude-doc-{}", "fr es it"),
    *("inkscape-tutorials", "fortunes-de"),
)

PACKAGES = (*ENGLISH, *TRANSLATED)

_TIMEOUT_S = 3600


class Debian:
    """Package lists and packages in a separate folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self._lists, self._debs = self.folder / "apt" / "lists", self.folder / "debs"
        for part in (self._lists / "partial", self.folder / "apt" / "archives" / "partial", self._debs):
            part.mkdir(parents=True, exist_ok=True)

    def fetch(self) -> None:
        """Fetches what is missing.

        Raises SystemExit if apt-get fails.
        """
        if not any(self._lists.glob("*Translation-*")):
            # The first value counts, and a container's image may have set `none`.
            self._apt("update", "-o", f"Acquire::Languages={','.join(DESCRIPTIONS)}")
        missing = [name for name in PACKAGES if not list(self._debs.glob(f"{name}_*.deb"))]
        if missing:
            self._apt("download", *missing)

    def package(self, name: str) -> Path:
        """The file of a package."""
        return max(self._debs.glob(f"{name}_*.deb"))

    def descriptions(self) -> Iterator[tuple[str, str]]:
        """The lists of descriptions: (language as apt names it, text); English first."""
        for language in DESCRIPTIONS:
            name = language.replace("_", "%5f")  # as apt names files
            for path in sorted(self._lists.glob(f"*main*Translation-{name}.*")):
                yield language, _run("/usr/lib/apt/apt-helper", "cat-file", str(path)).decode("utf-8", errors="replace")
            for path in sorted(self._lists.glob(f"*main*Translation-{name}")):
                yield language, path.read_text(encoding="utf-8", errors="replace")

    def _apt(self, *command: str) -> None:
        own = ["-o", f"Dir::State::lists={self._lists}", "-o", f"Dir::Cache={self.folder / 'apt'}"]
        _run("apt-get", "-q", *own, "-o", "APT::Sandbox::User=root", *command, where=self._debs)


def _run(*command: str, where: Path | None = None) -> bytes:
    result = subprocess.run(
        command, cwd=where, env=os.environ | {"LC_ALL": "C"}, capture_output=True, timeout=_TIMEOUT_S, check=False
    )
    if result.returncode != 0:
        raise SystemExit(f"{' '.join(command)[:200]} failed: {result.stderr.decode(errors='replace')[-500:]}")
    return result.stdout
