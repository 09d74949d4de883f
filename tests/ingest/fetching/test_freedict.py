"""FreeDict's dictionaries: the dictd format, the senses of an entry, and the packages that bring them."""

from __future__ import annotations

import gzip
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from ingest.embeddings.dictionaries import Dictionary, Translations, read_entries_of, senses_of
from ingest.embeddings.freedict import fetch
from reranker.base.errors import BadInput, FetchFailed

FI_EN = "fi-en"

# 64 bytes stand before the first entry, so that its offset is `BA` in base 64: one times 64 and no more.
INFO = "00-database-info\n".ljust(64, ".")
HOUSE = "talo /tˈalo/ <n>\n1. house, home\nrakennus\n2. firm\nyritys\n"  # 56 letters, 57 bytes: ˈ has two
CAT = "kissa /kisːa/ <n>\ncat\neläin\n"
AT_HOUSE, AT_CAT = len(INFO), len(INFO) + len(HOUSE.encode())


@pytest.fixture
def dictionary(tmp_path: Path) -> Path:
    """A folder with fi-en as FreeDict's packages hold it."""
    return write_dictionary(tmp_path / "fi-en")


def write_dictionary(folder: Path) -> Path:
    folder.mkdir()
    (folder / "freedict-fin-eng.dict.dz").write_bytes(gzip.compress((INFO + HOUSE + CAT).encode()))
    # In base 64: 0 is A and 64 is BA; 57, the bytes of HOUSE, is 5; 121 = 64 + 57 is B5; 30, the bytes of CAT, is e.
    (folder / "freedict-fin-eng.index").write_text(
        "00databaseinfo\tA\tBA\nkissa\tB5\te\ntalo\tBA\t5\ntalo\tBA\t5\tTalo\n", encoding="utf-8"
    )
    return folder


def _read(path: Path) -> Iterator[Translations]:
    return read_entries_of(Dictionary(path, "fi", "en"))


def test_the_senses_of_each_headword_are_read_from_a_dictionary(dictionary: Path) -> None:
    assert list(_read(dictionary)) == [
        ("kissa", (("cat",),)),
        ("talo", (("house", "home"), ("firm",))),
        ("talo", (("house", "home"), ("firm",))),
    ]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("kissa\tB5", "line 1 .* is not `headword TAB offset TAB length`"),
        ("kissa\tB5\tä", "'ä' is not a digit"),
        ("kissa\tB5\tBA", "points beyond the end"),
    ],
)
def test_a_broken_index_is_named_with_its_line(dictionary: Path, line: str, said: str) -> None:
    (dictionary / "freedict-fin-eng.index").write_text(f"{line}\n", encoding="utf-8")

    with pytest.raises(BadInput, match=said):
        list(_read(dictionary))


@pytest.mark.parametrize("content", [b"no gzip", gzip.compress(b"cut short" * 99, mtime=0)[:-9]])
def test_entries_that_cannot_be_unpacked_are_named(dictionary: Path, content: bytes) -> None:
    (dictionary / "freedict-fin-eng.dict.dz").write_bytes(content)

    with pytest.raises(BadInput, match=r"freedict-fin-eng\.dict\.dz cannot be unpacked"):
        list(_read(dictionary))


def test_entries_that_unpack_to_more_than_any_dictionary_has_are_refused(
    dictionary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingest.embeddings.dictd.MAX_BYTES", 100)

    with pytest.raises(BadInput, match="unpacks to more than"):
        list(_read(dictionary))


# The shapes of an entry that FreeDict's sources have, each in words of our own.


DATEI = (
    "Datei /d/ <fem, n, sg>\n [comp.] computer file <n>, file (of sth.) <n>\n"
    '      "eine Datei anlegen"  - create a file\n   Synonym: {Computerdatei}\n\n see: {Dateien}, {Zieldatei}\n'
)
OPEN = "open /o/ <v>\n1. avata 2.\nto make accessible\n 3.\ncomputing: to load\n2. aloittaa\nto start\n"


@pytest.mark.parametrize(
    ("entry", "senses"),
    [
        ("painike /p/ <n>\nkey, button\nnappi, jota painetaan\n", (("key", "button"),)),
        ("cell /s/\n\nκελί, κύτταρο\n\n", (("κελί", "κύτταρο"),)),
        (OPEN, (("avata",), ("aloittaa",))),
        (DATEI, (("computer file", "file"),)),
        ("cf /s/\n see: {confer}\n", ()),
        ("alone", ()),
    ],
    ids=["no number", "a blank line", "meanings and definitions", "notes and examples", "notes alone", "no line"],
)
def test_the_translations_of_an_entry_are_found_sense_by_sense(entry: str, senses: tuple[tuple[str, ...], ...]) -> None:
    assert senses_of(entry) == senses


# The packages


class FakeArchive:
    """Plays apt-get and dpkg-deb for one package and remembers what was asked of them."""

    def __init__(self, *, holds_entries: bool = True) -> None:
        self.holds_entries = holds_entries
        self.commands: list[str] = []

    def __call__(self, command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
        self.commands.append(" ".join(command[:2]))
        match command:
            case ("apt-get", "download", package):
                (folder / f"{package}_1_all.deb").write_text(package)
            case ("dpkg-deb", "-x", _, target):
                (Path(target) / "usr/share").mkdir(parents=True)
                written = write_dictionary(Path(target) / "usr/share/dictd")
                if not self.holds_entries:
                    (written / "freedict-fin-eng.dict.dz").unlink()
        return subprocess.CompletedProcess(command, 0, "", "")


def test_a_dictionary_is_fetched_once_and_can_be_read(tmp_path: Path) -> None:
    archive = FakeArchive()

    path = fetch(tmp_path, FI_EN, run=archive)

    assert next(iter(_read(path))).senses == (("cat",),)
    assert archive.commands == ["apt-get download", "dpkg-deb -x"]
    assert (tmp_path / "dict-freedict-fin-eng_1_all.deb").is_file()
    assert fetch(tmp_path, FI_EN, run=archive) == path
    assert len(archive.commands) == 2


def test_a_package_without_the_dictionary_is_never_taken_for_whole(tmp_path: Path) -> None:
    with pytest.raises(FetchFailed, match=r"has no usr/share/dictd/freedict-fin-eng\.dict\.dz"):
        fetch(tmp_path, FI_EN, run=FakeArchive(holds_entries=False))


def test_without_debians_tools_the_error_says_what_to_do_instead(tmp_path: Path) -> None:
    def has_no_tools(command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
        raise FileNotFoundError(command[0])

    with pytest.raises(FetchFailed, match=r"no apt-get.*dict-freedict-fin-eng_\*\.deb.*or leave the dictionary"):
        fetch(tmp_path, FI_EN, run=has_no_tools)
