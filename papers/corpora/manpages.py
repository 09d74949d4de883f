"""Linux's manual pages with Debian's translations, as a parallel corpus with aligned paragraphs."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from ingest.fetching.commands import RunCommand, run_command
from ingest.fetching.debian import Archive, ways_out
from ingest.progress import Progress, no_progress
from papers.corpora.alignment import aligned
from papers.corpora.roff import parse_manual
from sinkrank.demo.pages import SPLIT_SEED, Corpus, CorpusPage, Paragraph, cached_rows, select_pages, split

PACKAGES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "en": ("manpages", "manpages-dev"),
        "fr": ("manpages-fr", "manpages-fr-dev"),
        "de": ("manpages-de", "manpages-de-dev"),
        "es": ("manpages-es", "manpages-es-dev"),
        "pl": ("manpages-pl", "manpages-pl-dev"),
    }
)
"""The Debian packages of each language. Finnish, Greek and Swedish are left out: they have some hundred pages each, and
nearly all of these translate pages of single programs, whose English pages are in some fifty packages."""

LANGUAGES = tuple(PACKAGES)
SOURCE = "Debian packages manpages, manpages-dev and their translations in fr, de, es and pl"
LICENCE = "each page its own (Linux man-pages copyleft, GPL, BSD, MIT); the translations GPL-3.0-or-later"

N_TRAIN = 400
"""Number of page ids for training, of some 1,000."""

_PARSER_VERSION = 1
_MANUALS = Path("usr/share/man")


def load_manpages(
    home: Path,
    progress: Progress = no_progress,
    *,
    n_train: int = N_TRAIN,
    run: RunCommand = run_command,
) -> Corpus:
    """Fetches (once), reads, cleans and splits the corpus in `home/corpora/manpages`.

    Links to other files are not pages. Pages without a translation are left out.

    Raises:
        FetchFailed: a package cannot be fetched.
    """
    folder = home / "corpora" / "manpages"
    packages = [name for names in PACKAGES.values() for name in names]
    archive = Archive.at(folder, ways_out("the manual pages", packages, folder), run)
    english = {page.page_id: page for page in _pages(archive, "en", progress)}
    pages = list(english.values())
    for language in LANGUAGES[1:]:
        pages += [
            aligned(page, english[page.page_id])
            for page in _pages(archive, language, progress)
            if page.page_id in english
        ]
    selected, left_out = select_pages(pages)
    translated = {page.page_id for page in selected if page.language != "en"}
    alone = sum(page.page_id not in translated for page in selected)
    train, test = split([page for page in selected if page.page_id in translated], n_train, SPLIT_SEED)
    return Corpus("manpages", LANGUAGES, train, test, {**left_out, "without a translation/en": alone})


def _pages(archive: Archive, language: str, progress: Progress) -> list[CorpusPage]:
    """Returns the parsed pages of a language. They are cached in `pages-<language>.jsonl` until the parser or the
    packages change."""
    cache = archive.folder / f"pages-{language}.jsonl"
    roots = []
    for done, name in enumerate(PACKAGES[language]):
        progress(done, len(PACKAGES[language]), f"reading the manual in {language}")
        root = archive.folder / "pages" / name
        if not root.is_dir():
            archive.unpack(archive.package(name), _MANUALS, (), root)
        roots.append(root if language == "en" else root / language)
    signature = {"parser": _PARSER_VERSION, "roots": [[root.name, root.stat().st_mtime_ns] for root in roots]}
    rows = cached_rows(cache, signature, lambda: _rows(roots))
    progress(len(roots), len(roots), f"reading the manual in {language}")
    return [
        CorpusPage(page_id, language, title, tuple(Paragraph(*row) for row in paragraphs), module=page_id[:4])
        for page_id, title, paragraphs in rows
    ]


def _rows(roots: Iterable[Path]) -> Iterator[object]:
    for root in roots:
        for path in sorted(root.glob("man?/*.gz")):
            if path.is_symlink():
                continue
            parsed = parse_manual(gzip.decompress(path.read_bytes()).decode("utf-8", errors="replace"))
            if parsed is not None:
                yield [f"{path.parent.name}/{path.stem}", *parsed]
