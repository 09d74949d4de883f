"""GNOME's help, some 230 topics in six languages with aligned paragraphs, as a parallel corpus for testing.

No page of it trains embeddings, so it measures what was trained on another collection.
"""

from __future__ import annotations

from pathlib import Path

from ingest.fetching.commands import RunCommand, run_command
from ingest.fetching.debian import Archive, ways_out
from ingest.progress import Progress, no_progress
from papers.corpora.mallard import parse_topic
from sinkrank.demo.pages import Corpus, CorpusPage, select_pages, split

PACKAGE = "gnome-user-docs"
LANGUAGES = ("en", "fr", "de", "fi", "el", "sv")
SOURCE, LICENCE = f"Debian package {PACKAGE}", "CC-BY-SA-3.0, the GNOME documentation project"

_HELP = Path("usr/share/help")


def load_gnome(home: Path, progress: Progress = no_progress, *, run: RunCommand = run_command) -> Corpus:
    """Fetches (once), reads and cleans the corpus in `home/corpora/gnome`. All pages are test pages.

    The module of a page is the guides that list it, separated by blanks. Pages of the same guide are related.

    Raises:
        FetchFailed: the package cannot be fetched.
    """
    folder = home / "corpora" / "gnome"
    archive = Archive.at(folder, ways_out("GNOME's help", [PACKAGE], folder), run)
    root = archive.folder / "help"
    if not root.is_dir():
        progress(0, 1, f"downloading {PACKAGE}")
        archive.unpack(archive.package(PACKAGE), _HELP, [_folder_name(language) for language in LANGUAGES], root)
    pages: list[CorpusPage] = []
    for done, language in enumerate(LANGUAGES):
        progress(done, len(LANGUAGES), "reading GNOME's help")
        pages += _read(root / _folder_name(language) / "gnome-help", language)
    progress(len(LANGUAGES), len(LANGUAGES), "reading GNOME's help")
    selected, left_out = select_pages(pages)
    train, test = split(selected, 0)
    return Corpus("gnome", LANGUAGES, train, test, left_out)


def _folder_name(language: str) -> str:
    return "C" if language == "en" else language


def _read(folder: Path, language: str) -> list[CorpusPage]:
    pages = []
    for path in sorted(folder.glob("*.page")):
        topic = parse_topic(path.read_bytes())
        if topic is not None:
            pages.append(CorpusPage(path.stem, language, topic.title, topic.paragraphs, module=" ".join(topic.guides)))
    return pages
