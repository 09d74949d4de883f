"""Descriptions of Debian packages with their sections as classes, and their translations, as a parallel corpus."""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from ingest.fetching.commands import RunCommand, run_command
from ingest.fetching.debian import Archive
from ingest.progress import Progress, no_progress
from papers.corpora.alignment import aligned
from reranker.base.errors import FetchFailed
from sinkrank.demo.pages import SPLIT_SEED, Corpus, CorpusPage, Paragraph, select_pages, split, write_jsonl

LANGUAGES = ("en", "fr", "de")
SOURCE = "Debian's package lists (Packages, Translation-en, -fr, -de), brought by apt-get update"
LICENCE = "each description the terms of its source package; the translations GPL-2.0 (Debian Description Translation)"

SECTIONS = ("admin", "games", "graphics", "math", "net", "science", "sound", "text")
"""The classes: sections with a topic (not a programming language, or a form such as libs or doc) and with more than
`N_A_SECTION` sources."""

N_A_SECTION = 280
N_TRAIN = 1600
"""Number of packages for training, of some 2,200."""

_FORMAT = "$(CREATED_BY) $(LANGUAGE) $(FILENAME)"
_APT_HELPER = "/usr/lib/apt/apt-helper"

Stanza = Mapping[str, str]


def load_package_descriptions(
    home: Path,
    progress: Progress = no_progress,
    *,
    n_train: int = N_TRAIN,
    run: RunCommand = run_command,
) -> Corpus:
    """Fetches (once), reads, cleans and splits the corpus in `home/corpora/packages`.

    Packages of one source have similar descriptions, so only one is taken: that with the source's name if there is one.
    `N_A_SECTION` packages of each section are drawn at random. A page's module is its section.

    Raises:
        FetchFailed: the lists cannot be fetched.
    """
    folder = home / "corpora" / "packages"
    path = folder / "descriptions.jsonl"
    if not path.is_file():
        progress(0, 1, "fetching package descriptions")
        write_jsonl(path, _drawn(*_fetch(Archive.at(folder, _WAYS_OUT, run))))
        progress(1, 1, "fetching package descriptions")
    with path.open(encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    pages = [
        CorpusPage(page_id, language, title, tuple(Paragraph(*each) for each in paragraphs), module=section)
        for page_id, language, title, paragraphs, section in rows
    ]
    english = {page.page_id: page for page in pages if page.language == "en"}
    selected, left_out = select_pages(aligned(page, english[page.page_id]) for page in pages)
    train, test = split(selected, n_train, SPLIT_SEED)
    return Corpus("packages", LANGUAGES, train, test, left_out)


def read_stanzas(text: str) -> Iterator[Stanza]:
    """The fields of each stanza of a Debian control file. Long fields keep their line breaks."""
    for stanza in text.split("\n\n"):
        fields: dict[str, str] = {}
        name = ""
        for line in stanza.split("\n"):
            if line.startswith(" "):
                fields[name] = f"{fields.get(name, '')}\n{line[1:]}"
            elif ":" in line:
                name, _, value = line.partition(":")
                fields[name] = value.strip()
        if fields:
            yield fields


def description_paragraphs(description: str) -> tuple[Paragraph, ...]:
    """The short description, and the paragraphs of the long one. A line with only a point separates paragraphs."""
    short, _, long = description.partition("\n")
    parts = [short, *long.split("\n.\n")]
    texts = [text for part in parts if (text := " ".join(part.split()))]
    return tuple(Paragraph(f"0.{place}", text) for place, text in enumerate(texts))


def one_a_source(packages: Iterable[Stanza]) -> list[Stanza]:
    """One package of each source: that with the source's name, otherwise the first."""
    found: dict[str, Stanza] = {}
    for package in packages:
        source = package.get("Source", package["Package"]).split()[0]
        if source not in found or package["Package"] == source:
            found[source] = package
    return list(found.values())


def _fetch(archive: Archive) -> tuple[list[Stanza], dict[str, dict[tuple[str, str], str]]]:
    """The packages, and the descriptions by language, then by package and hash."""
    # Lists of our own: the system's lists often have no descriptions, and should not be changed.
    with tempfile.TemporaryDirectory(prefix=".lists-", dir=archive.folder) as lists:
        return _read_lists(archive, lists)


def _read_lists(archive: Archive, lists: str) -> tuple[list[Stanza], dict[str, dict[tuple[str, str], str]]]:
    options = [f"Dir::State::lists={lists}", f"Acquire::Languages={','.join(LANGUAGES)}", "APT::Sandbox::User=root"]
    options += ["Dir::Cache::pkgcache=", "Dir::Cache::srcpkgcache="]
    flags = [part for option in options for part in ("-o", option)]
    _output(archive, ["apt-get", "update", *flags])
    packages: list[Stanza] = []
    descriptions: dict[str, dict[tuple[str, str], str]] = {language: {} for language in LANGUAGES}
    for line in _output(archive, ["apt-get", "indextargets", *flags, "--format", _FORMAT]).splitlines():
        kind, language, path = line.split(" ", 2)
        if kind not in ("Packages", "Translations"):
            continue
        stanzas = read_stanzas(_output(archive, [_APT_HELPER, "cat-file", path]))
        if kind == "Packages":
            packages += stanzas
        else:
            for each in stanzas:
                key = each["Package"], each["Description-md5"]
                descriptions[language][key] = each[f"Description-{language}"]
    if not packages or not all(descriptions.values()):
        raise FetchFailed(f"apt-get update brought no package descriptions. {_WAYS_OUT}")
    return packages, descriptions


def _output(archive: Archive, command: list[str]) -> str:
    result = archive.attempt(command, archive.folder)
    if result.returncode != 0:
        lines = (result.stderr or result.stdout).strip().splitlines()
        raise FetchFailed(f"{' '.join(command[:2])} failed: {lines[-1] if lines else 'no word why'}. {_WAYS_OUT}")
    return result.stdout


def _drawn(packages: Iterable[Stanza], descriptions: Mapping[str, Mapping[tuple[str, str], str]]) -> Iterator[object]:
    """The rows to keep: page id, language, title, paragraphs, section."""
    by_section: dict[str, list[Stanza]] = {section: [] for section in SECTIONS}
    for package in one_a_source(packages):
        section = package.get("Section", "").rpartition("/")[2]
        if section in by_section and (package["Package"], package.get("Description-md5", "")) in descriptions["en"]:
            by_section[section].append(package)
    draw = random.Random(SPLIT_SEED)  # noqa: S311 - a sample, no secret
    for section, found in by_section.items():
        found.sort(key=lambda package: package["Package"])
        for package in draw.sample(found, min(N_A_SECTION, len(found))):
            key = package["Package"], package["Description-md5"]
            for language in LANGUAGES:
                if text := descriptions[language].get(key):
                    yield [key[0], language, text.partition("\n")[0], description_paragraphs(text), section]


_WAYS_OUT = (
    "Package descriptions come from Debian's archive: run this on Debian or in such a container (for instance "
    "debian:bookworm) with a network, or leave the classification out."
)
