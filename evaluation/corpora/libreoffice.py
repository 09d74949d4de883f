"""LibreOffice's help, some 2,500 pages in six languages with aligned paragraphs, as a parallel corpus."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from evaluation.corpora.libreoffice_html import PARSER_VERSION, parse_page
from evaluation.corpora.libreoffice_packages import (
    PACKAGES,
    fetch,
    folder_name,
    package_of,
    pages_folder,
)
from evaluation.corpora.pages import (
    SPLIT_SEED,
    Corpus,
    Page,
    Paragraph,
    select_pages,
    split,
    write_jsonl,
)
from ingest.fetching.debian import CorpusUnavailable
from ingest.progress import Progress, no_progress

__all__ = ["LANGUAGES", "N_TRAIN", "CorpusUnavailable", "fetch", "load_libreoffice", "read_pages"]

LANGUAGES = tuple(PACKAGES)
"""The languages. English is first, because the others are its translations."""

N_TRAIN = 1400
"""Number of page ids for training; more than a thousand others are for the test."""

# The version whose online pages have the paths of the packages in Debian 12.
_URL = "https://help.libreoffice.org/7.4/{folder}/{page_id}.html"

# Pages between two steps of the progress bar. A page takes about 1 ms.
_PAGES_A_REPORT = 64


def load_libreoffice(
    home: Path,
    progress: Progress = no_progress,
    *,
    languages: Sequence[str] = LANGUAGES,
    n_train: int = N_TRAIN,
) -> Corpus:
    """Fetches (once), reads, cleans and splits the corpus in `home/corpora/libreoffice`.

    English is always read, to find untranslated text.

    Raises:
        CorpusUnavailable: the packages cannot be fetched.
        ValueError: the corpus does not have a language.
    """
    folder = corpus_folder(home)
    wanted = ("en", *(language for language in languages if language != "en"))
    fetch(folder, progress, languages=wanted)
    pages, left_out = select_pages(read_pages(folder, wanted, progress))
    train, test = split(pages, n_train, SPLIT_SEED)
    return Corpus("libreoffice", wanted, train, test, left_out)


def corpus_folder(home: Path) -> Path:
    """The folder of the packages, the pages and the cache."""
    return home / "corpora" / "libreoffice"


def read_pages(folder: Path, languages: Sequence[str] = LANGUAGES, progress: Progress = no_progress) -> list[Page]:
    """Reads the fetched pages of these languages, by language and page id.

    The parsed pages are cached in `pages-<language>.jsonl` until the pages or the parser change. Progress counts the
    pages of one language, then languages.

    Raises:
        CorpusUnavailable: a language is not fetched.
        ValueError: the corpus does not have a language.
    """
    for language in languages:
        if not pages_folder(folder, language).is_dir():
            raise CorpusUnavailable(f"{pages_folder(folder, language)} is missing; fetch {package_of(language)} first")
    for language in languages:
        if not _is_fresh(folder, language):
            _write_cache(folder, language, progress)
    pages: list[Page] = []
    for done, language in enumerate(languages):
        progress(done, len(languages), f"reading the help in {language}")
        pages.extend(_read_cache(folder, language))
    progress(len(languages), len(languages), f"read {len(pages)} pages")
    return pages


def _write_cache(folder: Path, language: str, progress: Progress) -> None:
    root = pages_folder(folder, language)
    rows = _parsed_rows(list(_page_files(root)), language, progress)
    write_jsonl(_cache_path(folder, language), _with_header(_signature(root), rows))


def _parsed_rows(files: Sequence[tuple[str, Path]], language: str, progress: Progress) -> Iterator[object]:
    for done, (page_id, path) in enumerate(files):
        if done % _PAGES_A_REPORT == 0:
            progress(done, len(files), f"parsing the help in {language}")
        parsed = parse_page(path.read_bytes())
        if parsed is not None:
            yield [page_id, *parsed]
    progress(len(files), len(files), f"parsed the help in {language}")


def _with_header(signature: str, rows: Iterator[object]) -> Iterator[object]:
    yield {"signature": signature}
    yield from rows


def _is_fresh(folder: Path, language: str) -> bool:
    try:
        with _cache_path(folder, language).open(encoding="utf-8") as file:
            header = json.loads(file.readline())
    except (OSError, ValueError):
        return False
    return bool(header == {"signature": _signature(pages_folder(folder, language))})


def _read_cache(folder: Path, language: str) -> Iterator[Page]:
    online = folder_name(language)
    with _cache_path(folder, language).open(encoding="utf-8") as file:
        next(file)
        for line in file:
            page_id, title, rows = json.loads(line)
            yield Page(
                page_id,
                language,
                title,
                tuple(Paragraph(*row) for row in rows),
                module=page_id.split("/")[1],
                url=_URL.format(folder=online, page_id=page_id),
            )


def _cache_path(folder: Path, language: str) -> Path:
    return folder / f"pages-{language}.jsonl"


def _page_files(root: Path) -> Iterator[tuple[str, Path]]:
    """Yield (page id, file) of the help pages under a language's folder, in the order of their ids."""
    paths = sorted((root / "text").rglob("*.html"))
    return ((path.relative_to(root).with_suffix("").as_posix(), path) for path in paths)


def _signature(root: Path) -> str:
    """Return what changes when the pages or the parser do: version, number of files, bytes, newest time."""
    n_files = n_bytes = newest = 0
    for _, path in _page_files(root):
        stat = path.stat()
        n_files, n_bytes, newest = n_files + 1, n_bytes + stat.st_size, max(newest, stat.st_mtime_ns)
    return f"{PARSER_VERSION}-{n_files}-{n_bytes}-{newest}"
