"""Manual pages and GNOME's help: what is a paragraph, what is aligned with English, what is left out."""

from __future__ import annotations

import gzip
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from papers.corpora.alignment import aligned
from papers.corpora.gnome import LANGUAGES, load_gnome
from papers.corpora.mallard import parse_topic
from papers.corpora.manpages import PACKAGES, load_manpages
from papers.corpora.roff import parse_manual
from reranker.base.errors import FetchFailed
from sinkrank.demo.pages import CorpusPage, Paragraph

HEAD = '.TH access 2 "2023-02-05" "Linux"\n'


def texts_of(body: str) -> list[tuple[str, str]]:
    parsed = parse_manual(HEAD + body)
    assert parsed is not None
    return [(each.paragraph_id, each.text) for each in parsed[1]]


def topic(body: str, language: str = "en", page_type: str = "topic") -> bytes:
    return (
        f'<page xmlns="http://projectmallard.org/1.0/" type="{page_type}" id="x" xml:lang="{language}"><info>'
        '<link type="guide" xref="net#wireless"/><link type="seealso" xref="y"/><title>Sorted</title></info>'
        f"{body}</page>"
    ).encode()


# Manual pages


def test_sections_and_paragraphs_are_numbered_and_the_title_has_the_section_of_the_manual() -> None:
    parsed = parse_manual(HEAD + ".SH NAME\naccess \\- check\n.SH DESCRIPTION\nOne\nline.\n.PP\nTwo.\n")
    assert parsed is not None
    title, paragraphs = parsed
    assert title == "access(2)"
    assert [tuple(each) for each in paragraphs] == [
        ("1.0", "NAME"),
        ("1.1", "access - check"),
        ("2.0", "DESCRIPTION"),
        ("2.1", "One line."),
        ("2.2", "Two."),
    ]


def test_fonts_are_taken_off_and_alternating_words_stand_together() -> None:
    body = '.SH A\nThe\n.BR R_OK ", " W_OK\nor\n.I mode\nof \\fIpath\\fP\\-\\f[B]name\\fR.\n'
    assert texts_of(body) == [("1.0", "A"), ("1.1", "The R_OK, W_OK or mode of path-name.")]


def test_a_heading_may_be_quoted_or_stand_in_the_next_line() -> None:
    assert texts_of('.SH "RETURN VALUE"\nx\n.SS\nDetails\nmore\n')[0] == ("1.0", "RETURN VALUE")


def test_a_tagged_paragraph_holds_its_tag() -> None:
    assert texts_of(".SH A\n.TP\n.B EIO\nAn error.\n.TP 4\n.B ENOMEM\nNo memory.\n")[1:] == [
        ("1.1", "EIO An error."),
        ("1.2", "ENOMEM No memory."),
    ]


@pytest.mark.parametrize(
    "skipped",
    [".nf\nint x;\n.fi", ".EX\nint x;\n.EE", ".TS\nl l.\na\tb\n.TE", ".de XX\nword\n..", '.\\" comment', ".\\# more"],
)
def test_code_tables_macros_and_comments_are_no_text(skipped: str) -> None:
    assert texts_of(f".SH A\nBefore\n{skipped}\nafter.\n") == [("1.0", "A"), ("1.1", "Before after.")]


@pytest.mark.parametrize("heading", ["SEE ALSO", '"VOIR AUSSI"', "ÜBERSETZUNG", "TŁUMACZENIE"])
def test_links_to_other_pages_and_translators_are_left_out_and_their_number_is_not_reused(heading: str) -> None:
    assert texts_of(f".SH A\nx\n.SH {heading}\nopen(2)\n.SH NOTES\ny\n") == [
        ("1.0", "A"),
        ("1.1", "x"),
        ("3.0", "NOTES"),
        ("3.1", "y"),
    ]


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("it\\(aqs", "it's"),
        ("a\\ b\\~c", "a b c"),
        ("\\[lq]x\\[rq] \\*(lqy\\*(rq", "“x” “y”"),
        ("\\&.profile\\c", ".profile"),
        ("a\\en", "a\\n"),
        ('word \\" said aside', "word"),
        ("\\s-1SMALL\\s0", "SMALL"),
        ("caf\u00e9\\%s", "caf\u00e9s"),
    ],
)
def test_escapes_are_what_they_print(source: str, shown: str) -> None:
    assert texts_of(f".SH A\n{source}\n")[1] == ("1.1", shown)


@pytest.mark.parametrize("source", [".so man2/open.2\n", ".Dd May 1\n.Dt X 1\n.Sh NAME\nx\n", ""])
def test_a_link_to_another_page_and_other_macros_are_no_page(source: str) -> None:
    assert parse_manual(source) is None


def test_a_section_with_as_many_paragraphs_as_in_english_is_aligned_and_another_is_not() -> None:
    english = page("en", ("1.0", "a"), ("1.1", "b"), ("2.0", "c"), ("2.1", "d"))
    french = page("fr", ("1.0", "A"), ("1.1", "B"), ("2.0", "C"), ("2.1", "D"), ("2.2", "E"))
    assert [each.paragraph_id for each in aligned(french, english).paragraphs] == [
        "1.0",
        "1.1",
        "fr:2.0",
        "fr:2.1",
        "fr:2.2",
    ]


def page(language: str, *paragraphs: tuple[str, str]) -> CorpusPage:
    return CorpusPage("p", language, "", tuple(Paragraph(*each) for each in paragraphs))


PROSE = {
    "en": "This call opens a file that the process named before and returns a number for later calls, or minus one.",
    "fr": "Cet appel ouvre un fichier que le processus a nommé avant et renvoie un nombre aux appels suivants, sinon.",
    "de": "Dieser Aufruf öffnet eine Datei, die der Prozess vorher genannt hat, und gibt eine Zahl für spätere zurück.",
    "es": "Esta llamada abre un archivo que el proceso nombró antes y devuelve un número para llamadas posteriores, o.",
    "pl": "To wywołanie otwiera plik nazwany wcześniej przez proces i zwraca liczbę do późniejszych wywołań lub minus.",
}


def manuals_of(command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """apt-get and dpkg-deb for packages of two pages; the second has no translation, and one is a link."""
    if command[0] == "apt-get":
        (folder / f"{command[-1]}_1_all.deb").touch()
    else:
        name = Path(command[2]).name.partition("_")[0]
        language = next(code for code, names in PACKAGES.items() if name in names)
        root = Path(command[3], "usr/share/man", *([language] if language != "en" else []))
        chapter = root / ("man3" if name.endswith("-dev") else "man2")
        chapter.mkdir(parents=True)
        for n in range(3 if language == "en" else 2):
            text = f".TH call{n} 2\n.SH A\n{PROSE[language]} {root.name} {name} {chr(97 + n) * 3}\n"
            (chapter / f"call{n}.2.gz").write_bytes(gzip.compress(text.encode()))
        (chapter / "alias.2.gz").symlink_to("call0.2.gz")
    return subprocess.CompletedProcess(command, 0, "", "")


def test_manual_pages_are_files_and_those_without_a_translation_are_left_out(tmp_path: Path) -> None:
    corpus = load_manpages(tmp_path, n_train=2, run=manuals_of)

    assert corpus.left_out == {"without a translation/en": 2}
    assert len(corpus.train_pages) == len(corpus.test_pages) == 2 * 5
    ids = {each.page_id for each in (*corpus.train_pages, *corpus.test_pages)}
    assert ids == {"man2/call0.2", "man2/call1.2", "man3/call0.2", "man3/call1.2"}


# GNOME's help


def test_titles_and_paragraphs_outside_the_head_are_numbered_by_place() -> None:
    body = (
        "<title>Send  files</title><p>Use <gui>Send</gui>\n now.</p><note><p/></note>"
        "<steps><item><p>Click.</p><screen>ls <output>x</output></screen><p>Wait <code>code</code>here.</p></item>"
        "</steps>"
    )
    parsed = parse_topic(topic(body))
    assert parsed is not None
    assert (parsed.title, parsed.guides) == ("Send files", ("net",))
    assert [tuple(each) for each in parsed.paragraphs] == [
        ("0", "Send files"),
        ("1", "Use Send now."),
        ("3", "Click."),
        ("4", "Wait here."),
    ]


@pytest.mark.parametrize("source", [b"<page>", b"<html/>"])
def test_what_is_no_mallard_is_refused(source: bytes) -> None:
    with pytest.raises(ValueError, match=r"not XML|Mallard"):
        parse_topic(source)


def help_of(command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    if command[0] == "apt-get":
        (folder / f"{command[-1]}_1_all.deb").touch()
    else:
        for language in LANGUAGES:
            pages = Path(command[3], "usr/share/help", "C" if language == "en" else language, "gnome-help")
            pages.mkdir(parents=True)
            text = f"{language} alpha beta gamma {PROSE.get(language, PROSE['en'])}"
            (pages / "files.page").write_bytes(topic(f"<title>T</title><p>{text}</p>", language))
            (pages / "index.page").write_bytes(topic("<p>x</p>", language, "guide"))
    return subprocess.CompletedProcess(command, 0, "", "")


def test_gnomes_help_is_there_to_be_tested_on_alone(tmp_path: Path) -> None:
    corpus = load_gnome(tmp_path, run=help_of)

    assert not corpus.train_pages
    assert [(each.page_id, each.module) for each in corpus.test_pages] == [("files", "net")] * len(LANGUAGES)


def test_without_a_package_the_error_says_where_to_put_it(tmp_path: Path) -> None:
    def nothing(command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
        raise FileNotFoundError

    with pytest.raises(FetchFailed, match=f"put gnome-user-docs_.* into {tmp_path}"):
        load_gnome(tmp_path, run=nothing)
    with pytest.raises(FetchFailed, match=r"manpages-fr-dev_\*.deb.*into"):
        load_manpages(tmp_path, run=nothing)
