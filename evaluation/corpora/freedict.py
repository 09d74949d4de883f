"""FreeDict's bilingual dictionaries from Debian's archive, as the translations of each headword, sense by sense."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from evaluation.corpora.debian import Archive, RunCommand, run_command
from evaluation.tasks import Direction
from ingest.embeddings.dictd import read_entries
from ingest.embeddings.dictionaries import Translations, senses_of
from ingest.progress import Progress, no_progress

_CODES: Mapping[str, str] = MappingProxyType(
    {"en": "eng", "fr": "fra", "de": "deu", "el": "ell", "fi": "fin", "sv": "swe"}
)
"""ISO 639-1 to the code in FreeDict's names."""

_GPL, _DING, _WIKTIONARY = "GPL-2.0-or-later", "GPL-3.0 and AGPL-3.0 (Ding)", "CC-BY-SA-3.0 (Wiktionary)"

LICENCES: Mapping[Direction, str] = MappingProxyType(
    {
        Direction("en", "fr"): _GPL,
        Direction("fr", "en"): _GPL,
        Direction("en", "de"): _DING,
        Direction("de", "en"): _DING,
        Direction("en", "el"): _GPL,
        Direction("el", "en"): _WIKTIONARY,
        Direction("en", "fi"): _WIKTIONARY,
        Direction("fi", "en"): _WIKTIONARY,
        Direction("en", "sv"): _GPL,
        Direction("sv", "en"): _GPL,
    }
)
"""The dictionaries that there are, from the language of the headwords, and what each says of its licence."""

_DICTIONARIES = Path("usr/share/dictd")


def package_of(direction: Direction) -> str:
    """The Debian package of a dictionary: `dict-freedict-fin-eng` for fi-en."""
    return f"dict-{_name(direction)}"


def fetch(
    folder: Path,
    direction: Direction,
    progress: Progress = no_progress,
    *,
    run: RunCommand = run_command,
    is_root: bool | None = None,
) -> Path:
    """Bring a dictionary under the folder, unless it is there, and return the folder of its two files.

    Raises CorpusUnavailable if a tool is missing, or the package can be neither downloaded nor unpacked.
    """
    archive = Archive.at(folder, _ways_out(folder.resolve(), direction), run, is_root)
    path = archive.folder / _name(direction)
    if not path.is_dir():
        progress(0, 1, f"downloading {package_of(direction)}")
        package = archive.package(package_of(direction))
        archive.unpack(package, _DICTIONARIES, [file.name for file in _files(path, direction)], path)
        progress(1, 1, f"downloaded {package_of(direction)}")
    return path


def read_dictionary(path: Path, direction: Direction) -> Iterator[Translations]:
    """Yield the headwords of a dictionary that `fetch` brought to the path; one may come several times.

    Raises BadInput if it cannot be read.
    """
    for headword, text in read_entries(*_files(path, direction)):
        yield Translations(headword, senses_of(text))


def _files(path: Path, direction: Direction) -> tuple[Path, Path]:
    return path / f"{_name(direction)}.index", path / f"{_name(direction)}.dict.dz"


def _name(direction: Direction) -> str:
    return f"freedict-{_CODES[direction.query_language]}-{_CODES[direction.document_language]}"


def _ways_out(folder: Path, direction: Direction) -> str:
    return (
        "FreeDict's dictionaries come from Debian packages: run this on Debian or Ubuntu or in such a container "
        f"(for instance debian:bookworm), or put the file {package_of(direction)}_*.deb into {folder} "
        "(dpkg-deb, from the package dpkg, unpacks it), or leave bm25-translated out of --systems."
    )
