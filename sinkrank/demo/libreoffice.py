"""LibreOffice's help, some 2,500 pages in six languages with aligned paragraphs, as a parallel corpus."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from ingest.progress import Progress, no_progress
from sinkrank.demo.libreoffice_html import PARSER_VERSION, parse_page
from sinkrank.demo.libreoffice_packages import (
    PACKAGES,
    fetch,
    folder_name,
    pages_folder,
)
from sinkrank.demo.pages import (
    SPLIT_SEED,
    Corpus,
    CorpusPage,
    Paragraph,
    cached_rows,
    select_pages,
    split,
)

__all__ = ["LANGUAGES", "N_TRAIN", "fetch", "load_libreoffice", "read_pages"]

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
        FetchFailed: the packages cannot be fetched.
    """
    folder = corpus_folder(home)
    fetched = ("en", *(language for language in languages if language != "en"))
    fetch(folder, progress, languages=fetched)
    pages, left_out = select_pages(read_pages(folder, fetched, progress))
    train, test = split(pages, n_train, SPLIT_SEED)
    return Corpus("libreoffice", fetched, train, test, left_out)


def corpus_folder(home: Path) -> Path:
    """The folder of the packages, the pages and the cache."""
    return home / "corpora" / "libreoffice"


def read_pages(
    folder: Path, languages: Sequence[str] = LANGUAGES, progress: Progress = no_progress
) -> list[CorpusPage]:
    """Reads the fetched pages of these languages, by language and page id.

    The parsed pages are cached in `pages-<language>.jsonl` until the pages or the parser change. Progress counts the
    pages of one language, then languages.
    """
    pages: list[CorpusPage] = []
    for done, language in enumerate(languages):
        progress(done, len(languages), f"reading the help in {language}")
        pages.extend(_read(folder, language, progress))
    progress(len(languages), len(languages), f"read {len(pages)} pages")
    return pages


def _read(folder: Path, language: str, progress: Progress) -> Iterator[CorpusPage]:
    root, online = pages_folder(folder, language), folder_name(language)
    files = sorted((root / "text").rglob("*.html"))

    def parsed() -> Iterator[object]:
        for done, path in enumerate(files):
            if done % _PAGES_A_REPORT == 0:
                progress(done, len(files), f"parsing the help in {language}")
            page = parse_page(path.read_bytes())
            if page is not None:
                yield [path.relative_to(root).with_suffix("").as_posix(), *page]
        progress(len(files), len(files), f"parsed the help in {language}")

    rows = cached_rows(folder / f"pages-{language}.jsonl", {"signature": _signature(files)}, parsed)
    for page_id, title, paragraphs in rows:
        texts = tuple(Paragraph(*row) for row in paragraphs)
        url = _URL.format(folder=online, page_id=page_id)
        yield CorpusPage(page_id, language, title, texts, module=page_id.split("/")[1], url=url)


def _signature(files: Sequence[Path]) -> str:
    """Returns what changes when the pages or the parser do: version, number of files, bytes, newest time."""
    found = [path.stat() for path in files]
    n_bytes, newest = sum(each.st_size for each in found), max((each.st_mtime_ns for each in found), default=0)
    return f"{PARSER_VERSION}-{len(files)}-{n_bytes}-{newest}"
