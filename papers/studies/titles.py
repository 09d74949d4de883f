"""Writes a judged collection in BEIR's layout in which titles search for their page or section without its title."""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ingest.fetching.commands import RunCommand, run_command
from ingest.fetching.debian import Archive, ways_out
from papers.base import module_command
from papers.corpora.documentation import Section, manual_page, pod_sections, postgresql_page, python_sections
from papers.corpora.gnome import load_gnome
from papers.corpora.package_descriptions import load_package_descriptions
from papers.judged.beir import CORPUS, QRELS, QUERIES
from reranker.base.errors import BadInput
from reranker.base.temporary import temporary_folder
from reranker.base.whole_files import write_whole
from sinkrank.demo import CorpusPage, load_libreoffice
from sinkrank.demo.pages import by_language, write_jsonl

N_QUERIES, QUERY_WORDS, MIN_DOCUMENT_WORDS = 300, range(2, 16), 30
_SEED = 7  # of the drawn queries; any fixed number would do


class Manual(NamedTuple):
    """Files in a folder of Debian packages: a pattern of their paths in it, and what parses path and content."""

    packages: tuple[str, ...]
    folder: str
    files: str
    parse: Callable[[str, bytes], Iterator[Section]]


# Without lists of changes, tables of contents, and pages that are not in English.
_PYTHON_FILES = r"(?!whatsnew|_)[^/]*/.*\.html"
_PERL_FILES = r".*/(?!perl(\d*delta|toc|faq|cn|jp|ko|tw)\.)[^/]*\.pod"
SOURCES: Mapping[str, Manual] = {
    "postgresql": Manual(("postgresql-doc-15",), "usr/share/doc/postgresql-doc-15/html", r".*\.html", postgresql_page),
    "python": Manual(("python3.11-doc",), "usr/share/doc/python3.11/html", _PYTHON_FILES, python_sections),
    "perl": Manual(("perl-doc",), "usr/share/perl", _PERL_FILES, pod_sections),
    "manpages": Manual(("manpages", "manpages-dev"), "usr/share/man", r"man\d\w*/[^/]*\.gz", manual_page),
}
NAMES = (*SOURCES, "libreoffice", "gnome", "packages")


def sections_of(name: str, home: Path, run: RunCommand = run_command) -> Iterator[Section]:
    """Fetches (once) and parses the documentation of one of `NAMES` in `home/corpora`.

    Raises:
        FetchFailed: a package cannot be fetched.
    """
    if name == "libreoffice":  # nothing may be chosen on its test pages
        yield from _english(load_libreoffice(home, languages=("en",)).train_pages)
    elif name == "gnome":
        yield from _english(load_gnome(home, run=run).test_pages)
    elif name == "packages":  # a title is the short description of a Debian package, a text the long one
        yield from _english(load_package_descriptions(home, run=run).train_pages)
    else:
        source, folder = SOURCES[name], home / "corpora" / name
        archive = Archive.at(folder, ways_out(f"the documentation {name!r}", source.packages, folder), run)
        for package in source.packages:
            root = archive.folder / "pages" / package
            if not root.is_dir():
                archive.unpack(archive.package(package), Path(source.folder), (), root)
            for path in sorted(root.rglob("*")):
                file = path.relative_to(root).as_posix()
                if re.fullmatch(source.files, file) and not path.is_symlink():
                    yield from source.parse(file, path.read_bytes())


def _english(pages: Iterable[CorpusPage]) -> Iterator[Section]:
    for page in by_language(pages, "en").values():
        texts = (text for _, text in page.paragraphs if text.casefold() != page.title.casefold())
        yield Section(page.page_id, page.title, " ".join(texts))


def drawn(documents: Sequence[Section], n: int = N_QUERIES) -> list[Section]:
    """Draws documents whose titles have 2 to 15 words, are not in capitals only, and are no other document's."""
    times = Counter(each.title.casefold() for each in documents)
    suitable = [
        each
        for each in documents
        if len(each.title.split()) in QUERY_WORDS and times[each.title.casefold()] == 1 and not each.title.isupper()
    ]
    return random.Random(_SEED).sample(suitable, min(n, len(suitable)))  # noqa: S311 - a sample, no secret


def write(sections: Iterable[Section], folder: Path) -> tuple[int, int]:
    """Writes the folder, which appears only when it is complete. Returns the numbers of documents and queries.

    Raises:
        BadInput: the folder exists, or no title can be a query.
    """
    if folder.exists():
        raise BadInput(f"{folder} exists; name a new folder, or remove this one")
    documents = [section for section in sections if len(section.text.split()) >= MIN_DOCUMENT_WORDS]
    asking = drawn(documents)
    if not asking:
        raise BadInput(f"none of {len(documents)} documents has a title that can be a query; take Debian 12's packages")
    judgments = [f"q{number}\t{document.section_id}\t1\n" for number, document in enumerate(asking)]
    folder.parent.mkdir(parents=True, exist_ok=True)
    with temporary_folder(".titles-", folder.parent) as temporary:
        whole = temporary / "collection"
        write_jsonl(whole / CORPUS, ({"_id": each.section_id, "title": "", "text": each.text} for each in documents))
        write_jsonl(whole / QUERIES, ({"_id": f"q{n}", "text": each.title} for n, each in enumerate(asking)))
        write_whole(whole / QRELS, "".join(["query-id\tcorpus-id\tscore\n", *judgments]).encode())
        whole.rename(folder)
    return len(documents), len(asking)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m papers.studies.titles", description=__doc__)
    parser.add_argument("name", choices=NAMES, metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="new folder of the collection")
    parser.add_argument("--home", type=Path, default=Path(".sinkrank"), help="folder of the fetched packages")
    options = parser.parse_args(arguments)
    n_documents, n_queries = write(sections_of(options.name, options.home), options.folder)
    sys.stdout.write(f"{options.folder}: {n_documents:,} documents, {n_queries:,} queries\n")


if __name__ == "__main__":
    module_command.run(main)
