"""The parallel corpora: what is a paragraph, which pages are left out, how they are split and written."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from ingest.embeddings.units import Unit
from reranker.base.errors import FetchFailed
from sinkrank.demo import CorpusPage, Paragraph, load_libreoffice
from sinkrank.demo.libreoffice import corpus_folder, fetch, read_pages
from sinkrank.demo.libreoffice_html import parse_page
from sinkrank.demo.pages import (
    MIN_WORDS,
    aligned_units,
    as_documents,
    english_share,
    is_translated,
    select_pages,
    split,
)
from tests.demo.small_pages import page

LONG_EN = "The dialog opens a new document and shows every table that the current file holds for you today"
LONG_FR = "La boîte ouvre un nouveau document et montre tous les tableaux que le fichier actuel contient pour vous"


def html_page(body: str, title: str = "A page") -> str:
    return (
        f"<!DOCTYPE html><html><head><title>{title}</title></head><body><p id='par_id0'>outside</p>"
        f"<div id='DisplayArea'>{body}</div></body></html>"
    )


def paragraphs_of(body: str) -> list[tuple[str, str]]:
    parsed = parse_page(html_page(body).encode())
    assert parsed is not None
    return [(paragraph.paragraph_id, paragraph.text) for paragraph in parsed[1]]


# What is a paragraph


def test_paragraphs_are_the_elements_with_ids_inside_the_content_area() -> None:
    body = """<h1 id="hd_id1">Save\n  As</h1><p id="par_id2" class="paragraph">Choose
        <span class="menuitem">File - Save</span>.</p><p>no id</p>
        <p id="N0123">Old id</p><p id="other">no</p>"""
    assert paragraphs_of(body) == [
        ("hd_id1", "Save As"),
        ("par_id2", "Choose File - Save."),
        ("N0123", "Old id"),
    ]


def test_a_paragraph_inside_a_paragraph_is_counted_once_with_its_parent() -> None:
    assert paragraphs_of('<li id="par_id1">One <p id="par_id2">two</p></li>') == [("par_id1", "One two")]


def test_an_empty_paragraph_is_none() -> None:
    assert paragraphs_of('<p id="par_id1"> <img src="icon.png" alt="Icon"></p>') == []


def test_code_and_lists_of_links_and_the_words_for_a_mac_are_left_out() -> None:
    body = """<p id="par_id1" class="code">Dim x</p>
        <div class="relatedtopics"><p id="par_id2">Another page</p></div>
        <p id="par_id3">Press <span class="MAC">Command</span><span>Ctrl</span>+N</p>"""
    assert paragraphs_of(body) == [("par_id3", "Press Ctrl+N")]


def test_prose_without_an_id_is_named_by_its_anchor_or_its_number() -> None:
    body = """<p class="embedded"><a name="wrap"></a>Wraps text.</p>
        <div class="notetext"><p>First note.</p></div><div class="notetext"><p>Second note.</p></div>"""
    assert paragraphs_of(body) == [
        ("ref_wrap", "Wraps text."),
        ("note_1", "First note."),
        ("note_2", "Second note."),
    ]


def test_an_id_met_again_is_kept_under_a_number_only_if_it_says_something_new() -> None:
    body = '<p id="par_id1">New</p><p id="par_id1">New</p><p id="par_id1">Open</p>'
    assert paragraphs_of(body) == [("par_id1", "New"), ("par_id1~3", "Open")]


def test_a_line_break_separates_words() -> None:
    assert paragraphs_of('<p id="par_id1">one<br>two</p>') == [("par_id1", "one two")]


def test_a_file_without_a_content_area_is_no_page() -> None:
    assert parse_page(b"<html><body><p id='par_id1'>text</p></body></html>") is None


# Which pages are left out


def test_the_english_share_is_counted_by_words_of_the_paragraphs_long_enough_to_compare() -> None:
    english = page("a", "en", "Save", "one two three four", "one two three four five six")
    french = page("a", "fr", "Save", "un deux trois quatre", "one two three four five six")
    assert english_share(french, english) == pytest.approx(6 / (4 + 6))


@pytest.mark.parametrize(
    ("n_english_words", "translated"), [(4, True), (5, True), (6, False)], ids=["less", "half", "more"]
)
def test_a_page_is_untranslated_when_more_than_half_of_its_words_stand_in_english(
    n_english_words: int, translated: bool
) -> None:
    same, other = " ".join("abcdefghij"[:n_english_words]), " ".join("klmnopqrst"[: 10 - n_english_words])
    english = page("a", "en", same, other)
    finnish = page("a", "fi", same, " ".join("xyzxyzxyz"[: 10 - n_english_words]))
    assert is_translated(finnish, english) is translated


def test_each_page_left_out_is_counted_once_by_rule_and_language() -> None:
    text = "{} opens and closes words" + " and saves one two three words" * 3
    pages = [
        page("kept", "en", text.format("Alpha")),
        page("kept", "fr", text.format("Alpha").replace("words", "mots")),
        page("copy", "en", text.format("ALPHA")),  # after "copy" in the alphabet comes "kept", which falls
        page("copy", "fr", text.format("Gamma").replace("words", "mots")),
        page("short", "en", "Too short."),
        page("short", "fr", text.format("Court").replace("words", "mots")),
        page("english", "en", text.format("Beta")),
        page("english", "fr", text.format("Beta")),
    ]
    kept, left_out = select_pages(pages)
    assert [(p.language, p.page_id) for p in kept] == [("en", "copy"), ("en", "english"), ("fr", "copy")]
    assert left_out == {
        "duplicate/en": 1,
        "duplicate/fr": 1,
        "too short/en": 1,
        "too short/fr": 1,
        "untranslated/fr": 1,
    }


@pytest.mark.parametrize(("n_words", "n_kept"), [(MIN_WORDS - 1, 0), (MIN_WORDS, 1)])
def test_a_page_must_be_long_enough_for_a_query_of_twenty_words(n_words: int, n_kept: int) -> None:
    kept, _ = select_pages([page("a", "en", "word " * n_words)])
    assert len(kept) == n_kept


# Training and test


def numbered_pages() -> list[CorpusPage]:
    return [page(f"p{n:02}", language, f"{language} {n}") for n in range(20) for language in ("en", "fr")]


def test_the_split_is_the_same_for_the_same_seed_whatever_the_order() -> None:
    assert split(numbered_pages(), 12, seed=1) == split(numbered_pages()[::-1], 12, seed=1)
    assert split(numbered_pages(), 12, seed=1) != split(numbered_pages(), 12, seed=2)


def test_no_language_of_a_test_page_is_seen_in_training() -> None:
    train, test = split(numbered_pages(), 12)
    train_ids, test_ids = {p.page_id for p in train}, {p.page_id for p in test}
    assert train_ids.isdisjoint(test_ids)
    assert (len(train_ids), len(test_ids)) == (12, 8)
    assert (len(train), len(test)) == (24, 16)


def test_units_of_a_group_are_translations_and_untranslated_paragraphs_are_skipped() -> None:
    pages = [
        page("a", "fr", "Ouvrir", "Calc"),
        page("a", "en", "Open", "Calc"),
        page("a", "de", "Öffnen", "Calc"),
        page("b", "en", "Open", "Close"),
        page("b", "fr", "Ouvre", "Fermer"),
    ]
    assert list(aligned_units(pages)) == [
        Unit("a#par_0", "en", "Open", "a"),
        Unit("a#par_0", "de", "Öffnen", "a"),
        Unit("a#par_0", "fr", "Ouvrir", "a"),
        # "Calc" is one language only, and "Open" came before
        Unit("b#par_1", "en", "Close", "b"),
        Unit("b#par_1", "fr", "Fermer", "b"),
    ]


def test_documents_carry_what_ingest_reads() -> None:
    given = CorpusPage(
        "text/scalc/a", "fr", "Titre", (Paragraph("1", "Un"), Paragraph("2", "Deux")), "scalc", "https://x"
    )
    assert list(as_documents([given, page("b", "en", "Text")])) == [
        {
            "id": "fr/text/scalc/a",
            "language": "fr",
            "title": "Titre",
            "text": "Un\nDeux",
            "url": "https://x",
            "metadata": {"page": "text/scalc/a", "module": "scalc"},
        },
        {"id": "en/b", "language": "en", "title": "", "text": "Text", "metadata": {"page": "b", "module": ""}},
    ]


# Fetching


class FakeArchive:
    """Plays apt-get and dpkg-deb in a folder and remembers what was asked of them."""

    def __init__(self, *, knows_packages: bool = True, unpacks: bool = True) -> None:
        self.knows_packages = knows_packages
        self.unpacks = unpacks
        self.commands: list[str] = []

    def __call__(self, command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
        self.commands.append(" ".join(command[:2]))
        match command:
            case ("apt-get", "update"):
                self.knows_packages = True
            case ("apt-get", "download", package) if self.knows_packages:
                (folder / f"{package}_1_all.deb").write_text(package)
            case ("apt-get", "download", package):
                return subprocess.CompletedProcess(command, 100, "", f"E: Unable to locate package {package}\n")
            case ("dpkg-deb", "-x", package, target):
                name = Path(package).name.removeprefix("libreoffice-help-").split("_")[0]
                root = Path(target) / "usr/share/libreoffice/help" / {"en-us": "en-US"}.get(name, name)
                write_help(root, name)
                if not self.unpacks:
                    return subprocess.CompletedProcess(command, 2, "", "dpkg-deb: error: unexpected end of file\n")
        return subprocess.CompletedProcess(command, 0, "", "")


def write_help(root: Path, language: str) -> None:
    folder = root / "text" / "scalc"
    folder.mkdir(parents=True)
    for n in range(3):
        text = {"fr": LONG_FR}.get(language, LONG_EN)
        body = f"<h1 id='hd_id1'>{language}</h1><p id='par_id1'>{text} {'abc'[n]} {'def'[n]}</p>"
        (folder / f"page{n}.html").write_text(html_page(body, f"Title {n}"), encoding="utf-8")
    (root / "noscript.html").write_text("<html><body>Switch on JavaScript</body></html>", encoding="utf-8")


def test_a_second_fetch_reuses_what_the_first_brought(tmp_path: Path) -> None:
    archive = FakeArchive()
    paths = fetch(tmp_path, languages=("en", "fr"), run=archive)
    assert archive.commands == ["apt-get download", "dpkg-deb -x"] * 2
    assert fetch(tmp_path, languages=("en", "fr"), run=archive) == paths
    assert len(archive.commands) == 4
    assert all((path / "text").is_dir() for path in paths.values())
    assert not [p.name for p in tmp_path.iterdir() if p.name.startswith(".")]


def test_a_package_put_there_by_hand_is_not_downloaded(tmp_path: Path) -> None:
    archive = FakeArchive()
    (tmp_path / "libreoffice-help-fr_9_all.deb").touch()
    fetch(tmp_path, languages=("fr",), run=archive)
    assert archive.commands == ["dpkg-deb -x"]


def test_half_a_package_is_never_taken_for_whole(tmp_path: Path) -> None:
    archive = FakeArchive(unpacks=False)
    with pytest.raises(FetchFailed, match=r"unexpected end of file.*incomplete: delete it and try again"):
        fetch(tmp_path, languages=("fr",), run=archive)
    assert not (tmp_path / "pages" / "fr").exists()
    archive.unpacks = True
    assert fetch(tmp_path, languages=("fr",), run=archive)["fr"].is_dir()


def test_a_download_that_broke_off_leaves_no_package_behind(tmp_path: Path) -> None:
    def breaks_off(command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
        (folder / "libreoffice-help-fr_1_all.deb").write_text("half")
        raise subprocess.TimeoutExpired(list(command), 900)

    with pytest.raises(FetchFailed, match=r"apt-get could not run: .* timed out"):
        fetch(tmp_path, languages=("fr",), run=breaks_off)
    assert not list(tmp_path.rglob("*.deb"))


def test_missing_package_lists_are_fetched_when_we_may(tmp_path: Path) -> None:
    archive = FakeArchive(knows_packages=False)
    fetch(tmp_path, languages=("fr",), run=archive)
    assert archive.commands == ["apt-get download", "apt-get update", "apt-get download", "dpkg-deb -x"]


def test_missing_package_lists_are_explained_when_we_may_not(tmp_path: Path) -> None:
    def is_no_root(command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
        said = "E: Permission denied" if command[1] == "update" else "E: Unable to locate package"
        return subprocess.CompletedProcess(command, 100, "", f"{said}\n")

    with pytest.raises(FetchFailed, match=r"Unable to locate.*`sudo apt-get update` .E: Permission denied"):
        fetch(tmp_path, languages=("fr",), run=is_no_root)


# Reading


def test_pages_are_the_files_under_text_with_the_same_id_in_every_language(tmp_path: Path) -> None:
    fetch(tmp_path, languages=("en", "fr"), run=FakeArchive())
    pages = read_pages(tmp_path, ("en", "fr"))
    assert [(p.language, p.page_id) for p in pages] == [
        (language, f"text/scalc/page{n}") for language in ("en", "fr") for n in range(3)
    ]
    assert pages[3].title == "Title 0"
    assert pages[3].text == f"fr\n{LONG_FR} a d"
    assert (pages[0].module, pages[0].url) == (
        "scalc",
        "https://help.libreoffice.org/7.4/en-US/text/scalc/page0.html",
    )


def test_the_second_reading_comes_from_the_cache_until_a_page_changes(tmp_path: Path) -> None:
    folder = fetch(tmp_path, languages=("fr",), run=FakeArchive())["fr"]
    first = read_pages(tmp_path, ("fr",))
    cache = tmp_path / "pages-fr.jsonl"
    lines = cache.read_text(encoding="utf-8").splitlines()
    cache.write_text("\n".join([lines[0], json.dumps(["text/scalc/cached", "", []])]) + "\n", encoding="utf-8")
    assert [p.page_id for p in read_pages(tmp_path, ("fr",))] == ["text/scalc/cached"]
    changed = folder / "text" / "scalc" / "page0.html"
    changed.write_text(changed.read_text(encoding="utf-8").replace("Title 0", "A longer title"), encoding="utf-8")
    again = read_pages(tmp_path, ("fr",))
    assert (again[0].title, again[1:]) == ("A longer title", first[1:])


@pytest.mark.parametrize("content", ["", "not JSON\n", '{"signature": "of another parser"}\n'])
def test_a_cache_that_cannot_be_read_is_made_again(content: str, tmp_path: Path) -> None:
    fetch(tmp_path, languages=("fr",), run=FakeArchive())
    first = read_pages(tmp_path, ("fr",))
    (tmp_path / "pages-fr.jsonl").write_text(content, encoding="utf-8")
    assert read_pages(tmp_path, ("fr",)) == first


def test_the_corpus_is_fetched_read_cleaned_and_split_under_home(tmp_path: Path) -> None:
    said: list[tuple[int, int | None, str]] = []
    fetch(corpus_folder(tmp_path), languages=("en", "fr", "fi"), run=FakeArchive())
    corpus = load_libreoffice(tmp_path, lambda *report: said.append(report), languages=("fr", "fi"), n_train=2)
    assert (corpus.name, corpus.languages) == ("libreoffice", ("en", "fr", "fi"))
    assert corpus.left_out == {"untranslated/fi": 3}
    assert [len(corpus.train_pages), len(corpus.test_pages)] == [2 * 2, 1 * 2]
    assert said[0] == (3, 3, "LibreOffice help is here")
    assert all(total is None or 0 <= done <= total for done, total, _ in said)
