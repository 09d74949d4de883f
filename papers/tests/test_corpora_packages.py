"""Package descriptions: how the lists are read, which packages are taken, what is fetched."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from papers.corpora.package_descriptions import (
    LANGUAGES,
    SECTIONS,
    description_paragraphs,
    load_package_descriptions,
    one_a_source,
    read_stanzas,
)
from reranker.base.errors import FetchFailed


def test_a_stanza_has_fields_and_long_ones_keep_their_lines() -> None:
    text = "Package: a\nDescription-en: short\n long one\n .\n second: part\n\nPackage: b\nSection: mail\n\n"
    assert list(read_stanzas(text)) == [
        {"Package": "a", "Description-en": "short\nlong one\n.\nsecond: part"},
        {"Package": "b", "Section": "mail"},
    ]


def test_a_line_with_a_point_alone_parts_the_paragraphs() -> None:
    paragraphs = description_paragraphs("short\nlong\nline\n.\n second")
    assert [tuple(each) for each in paragraphs] == [("0.0", "short"), ("0.1", "long line"), ("0.2", "second")]


def test_of_the_packages_of_a_source_the_one_of_its_name_is_taken_or_the_first() -> None:
    packages = [
        {"Package": "libmutt", "Source": "mutt (2.2)"},
        {"Package": "mutt"},
        {"Package": "mutt-doc", "Source": "mutt"},
        {"Package": "vim-gtk", "Source": "vim"},
        {"Package": "vim-nox", "Source": "vim"},
    ]
    assert [each["Package"] for each in one_a_source(packages)] == ["mutt", "vim-gtk"]


WORDS = "package opens large files that people send each other and shows what they hold before it removes old ones"


class FakeApt:
    """Package lists of two sections, four packages each, with translations into French and German of half of them."""

    def __init__(self, lists: bool = True) -> None:
        self.commands: list[str] = []
        self._lists = lists

    def __call__(self, command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
        name = Path(command[0]).name
        self.commands.append(f"{name} {command[1]}")
        output = ""
        if command[1] == "indextargets" and self._lists:
            output = "Packages $(LANGUAGE) /lists/Packages\nDEP-11 $(LANGUAGE) /lists/other\n"
            output += "".join(f"Translations {code} /lists/{code}\n" for code in LANGUAGES)
        elif command[1] == "cat-file":
            output = "\n\n".join(self._stanzas(Path(command[2]).name))
        return subprocess.CompletedProcess(command, 0, output, "")

    @staticmethod
    def _stanzas(kind: str) -> list[str]:
        names = [(f"{section}{n}", section) for section in (*SECTIONS[:2], "libs") for n in range(4)]
        if kind == "Packages":
            return [f"Package: {name}\nSection: {section}\nDescription-md5: {name}" for name, section in names]
        letters = "abcdefghijkl"  # figures are no words, and would make no difference
        return [
            f"Package: {name}\nDescription-md5: {name}\nDescription-{kind}: {name}\n {kind} {letters[place]} {WORDS}"
            for place, (name, _) in enumerate(names)
            if kind == "en" or place % 2
        ]


def test_packages_of_topical_sections_come_once_with_their_translations_and_leave_no_lists(tmp_path: Path) -> None:
    apt = FakeApt()
    corpus = load_package_descriptions(tmp_path, n_train=5, run=apt)

    pages = [*corpus.train_pages, *corpus.test_pages]
    assert sorted({(each.module, each.page_id) for each in pages if each.language == "en"}) == [
        (section, f"{section}{n}") for section in sorted(SECTIONS[:2]) for n in range(4)
    ]
    assert sorted(each.page_id for each in pages if each.language == "fr") == [
        f"{section}{n}" for section in sorted(SECTIONS[:2]) for n in (1, 3)
    ]
    assert len({each.page_id for each in corpus.train_pages}) == 5
    commands = ["apt-get update", "apt-get indextargets", *["apt-helper cat-file"] * 4]
    assert apt.commands == commands
    assert load_package_descriptions(tmp_path, n_train=5, run=apt) == corpus
    assert apt.commands == commands
    assert [path.name for path in (tmp_path / "corpora" / "packages").iterdir()] == ["descriptions.jsonl"]


def test_lists_without_descriptions_say_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(FetchFailed, match=r"no package descriptions.*debian:bookworm"):
        load_package_descriptions(tmp_path, run=FakeApt(lists=False))


def test_a_failed_update_says_why(tmp_path: Path) -> None:
    def fails(command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, 100, "", "E: no network\n")

    with pytest.raises(FetchFailed, match="apt-get update failed: E: no network"):
        load_package_descriptions(tmp_path, run=fails)
