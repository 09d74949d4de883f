"""Reads the pages of a Debian package, and package descriptions: HTML, Mallard, manual pages, POD, dictionaries."""

from __future__ import annotations

import gzip
import re
import subprocess
import tarfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path, PurePosixPath

from lxml import etree, html

from benchmarks.scale.passages import Page
from papers.corpora.mallard import parse_topic
from papers.corpora.roff import parse_manual

LANGUAGES = frozenset(
    ("ca", "cs", "da", "de", "el", "en", "es", "fi", "fr", "hu", "it", "nl", "pl", "pt", "ro", "ru", "sk", "sv", "uk")
)

MULTILINGUAL = frozenset(
    {"gnome-user-docs", "evolution-common", "debian-handbook", "installation-guide-amd64", "inkscape-tutorials"}
)
_LOCALE = re.compile(r"[a-z]{2,3}([-_@][A-Za-z]+)?")
# Folders with names of three letters that are not languages.
_NO_LOCALES = frozenset({"usr", "doc"})

# Larger files are not read as pages.
_MOST_BYTES = 8 << 20
_LEAST_WORDS = 5
_PROSE = "//p | //li[not(.//p)] | //dd[not(.//p)]"
_NO_PROSE = ("script", "style", "pre", "nav")
_DICTIONARIES = (".dict.dz",)
_BLANK_LINES = re.compile(r"\n\s*\n")
_POD_MARK = re.compile(r"[A-Z]<+\s*([^<>]*?)\s*>+")
_POD_FOLDER = "/pod/"


def read_package(path: Path) -> list[Page]:
    """The pages of a package, in the order of its files."""
    name = path.name.partition("_")[0]
    pages = []
    for file_name, content in _files(path):
        reader = _reader_of(file_name)
        if reader is None:
            continue
        try:
            parsed = list(reader(_unzipped(file_name, content)))
        except (ValueError, OSError, EOFError, zlib.error, etree.LxmlError, AssertionError):
            continue  # an empty page, or one that is none
        language = language_of(name, file_name)
        if language is None:
            continue
        for title, paragraphs in parsed:
            paragraphs_left = tuple(text for text in map(_joined, paragraphs) if len(text.split()) >= _LEAST_WORDS)
            if paragraphs_left:
                pages.append(Page(name, language, file_name, _joined(title), paragraphs_left))
    return pages


def read_descriptions(lists: Iterable[tuple[str, str]]) -> Iterator[Page]:
    """The descriptions of packages. Translated ones are without paragraphs that are not translated yet."""
    for given, text in lists:
        language = given.partition("_")[0]
        for entry in text.split("\n\n"):
            package = re.search(r"^Package: (\S+)", entry, re.MULTILINE)
            described = re.search(rf"^Description-{given}: (.*)\n((?: .*\n?)*)", entry, re.MULTILINE)
            if package is None or described is None:
                continue
            paragraphs = re.split(r"^ \.$", described[2], flags=re.MULTILINE)
            paragraphs_left = tuple(_joined(one) for one in paragraphs if "<trans>" not in one and one.strip())
            if paragraphs_left and "<trans>" not in described[1]:
                yield Page(
                    "package descriptions", language, package[1], f"{package[1]}: {described[1]}", paragraphs_left
                )


def language_of(package: str, file_name: str) -> str | None:
    """The language of a file. In packages in many languages it is the name of a folder, or the part of the file's name
    before its format (`page.de.html`). In others it is the end of the package's name, otherwise English. None for
    languages that the collection leaves out."""
    if package in MULTILINGUAL:
        path = PurePosixPath(file_name)
        for part in (*path.parts[:-1], *(suffix.lstrip(".") for suffix in path.suffixes[:-1])):
            if _LOCALE.fullmatch(part) and part not in _NO_LOCALES:
                code = re.split(r"[-_@]", part)[0]
                return code if code in LANGUAGES else None
        return "en"
    found = re.search(r"-([a-z]{2})(?:-br)?(?:-dev)?$", package)
    return found[1] if found and found[1] in LANGUAGES else "en"


def _files(package: Path) -> Iterator[tuple[str, bytes]]:
    """Yields the names and contents of the files of a package while it is unpacked."""
    command = ("dpkg-deb", "--fsys-tarfile", str(package))
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE) as process,
        tarfile.open(fileobj=process.stdout, mode="r|") as archive,
    ):
        for member in archive:
            is_page = member.isfile() and (member.size <= _MOST_BYTES or member.name.endswith(_DICTIONARIES))
            if is_page and _reader_of(member.name) and (content := archive.extractfile(member)) is not None:
                yield member.name, content.read()


def _unzipped(name: str, content: bytes) -> bytes:
    return gzip.decompress(content) if name.endswith((".gz", ".dz")) else content


def _reader_of(name: str) -> Callable[[bytes], Iterator[tuple[str, Iterable[str]]]] | None:
    plain = name.removesuffix(".gz")
    if "/share/man/" in name:
        return _manual
    if plain.endswith((".html", ".htm", ".xhtml")):
        return _html
    if plain.endswith(".page"):
        return _mallard
    if plain.endswith(".pod") and _POD_FOLDER in plain:
        return _pod
    if name.endswith(_DICTIONARIES):
        return _dictionary
    if "/games/fortunes/" in name and not plain.endswith((".dat", ".u8")):
        return _fortunes
    return None


def _manual(content: bytes) -> Iterator[tuple[str, Iterable[str]]]:
    parsed = parse_manual(content.decode("utf-8", errors="replace"))
    if parsed is not None:
        yield parsed[0], [paragraph.text for paragraph in parsed[1]]


def _html(content: bytes) -> Iterator[tuple[str, Iterable[str]]]:
    root = html.document_fromstring(content, parser=html.HTMLParser(encoding="utf-8"))
    etree.strip_elements(root, *_NO_PROSE, with_tail=False)
    yield root.findtext(".//title") or "", [element.text_content() for element in root.xpath(_PROSE)]


def _mallard(content: bytes) -> Iterator[tuple[str, Iterable[str]]]:
    topic = parse_topic(content)
    if topic is not None:
        yield topic.title, [paragraph.text for paragraph in topic.paragraphs]


def _pod(content: bytes) -> Iterator[tuple[str, Iterable[str]]]:
    blocks = _BLANK_LINES.split(content.decode("utf-8", errors="replace"))
    prose = [_POD_MARK.sub(r"\1", block) for block in blocks if block[:1] not in ("=", " ", "\t")]
    heads = [block for block in blocks if block.startswith("=head1")]
    yield (blocks[blocks.index(heads[0]) + 1] if heads else "").partition("\n")[0], prose


def _dictionary(content: bytes) -> Iterator[tuple[str, Iterable[str]]]:
    """The entries of a dictionary: each begins at the left edge."""
    text = content.decode("utf-8", errors="replace")
    for entry in re.split(r"\n(?=[^\s])", text):
        head, _, rest = entry.partition("\n")
        yield head[:100], _BLANK_LINES.split(rest)


def _fortunes(content: bytes) -> Iterator[tuple[str, Iterable[str]]]:
    for saying in content.decode("utf-8", errors="replace").split("\n%\n"):
        yield "", [saying]


def _joined(text: str) -> str:
    return " ".join(text.split())
