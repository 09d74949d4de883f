"""Titles that search for their section: how documentation is parsed, which titles are drawn, what is written."""

from __future__ import annotations

import gzip
import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from papers.corpora.documentation import Section, manual_page, pod_sections, postgresql_page, python_sections
from papers.corpora.package_descriptions import N_TRAIN
from papers.judged.beir import read_beir
from papers.studies.titles import drawn, main, sections_of, write
from reranker.base.errors import BadInput

LONG = " ".join(["word"] * 30)
POSTGRESQL = """<html><head><title>{title}</title></head><body>
<div class="navheader">Prev Next</div><div class="sect1"><div class="titlepage"><h2 class="title">{title}</h2></div>
{body}</div><div class="navfooter">Home</div></body></html>"""


# HTML


@pytest.mark.parametrize(
    ("title", "without_number"),
    [
        ("Chapter\u00a02.\u00a0The SQL Language", "The SQL Language"),
        ("E.1.\u00a0Release 15.9", "Release 15.9"),
        ("VII. Internals", "Internals"),
        ("Questions about E. Codd", "Questions about E. Codd"),
    ],
)
def test_a_page_of_postgresql_has_a_title_without_number_and_a_text_without_title_and_links(
    title: str, without_number: str
) -> None:
    source = POSTGRESQL.format(
        title=title,
        body='<div class="toc">2.1. Rows</div><p>A <code>query</code>.</p><p>More</p>'
        '<div class="titlepage"><h3>Rows</h3></div>',
    )
    assert list(postgresql_page("sql.html", source.encode())) == [
        Section("sql", without_number, "A query. More Rows"),
    ]


def test_a_reference_page_of_postgresql_has_its_description_as_title() -> None:
    body = '<div class="refnamediv"><h2>ABORT</h2><p>ABORT — abort the transaction</p></div><td>it</td><td>ends</td>'
    assert list(postgresql_page("sql-abort.html", POSTGRESQL.format(title="ABORT", body=body).encode())) == [
        Section("sql-abort", "abort the transaction", "it ends")
    ]


def test_the_text_of_a_section_of_python_is_without_the_sections_inside_it() -> None:
    source = """<html><body><h3>Navigation</h3><section id="module-abc">
    <h1><code>abc</code> — Base Classes<a class="headerlink" href="#module-abc">¶</a></h1><p>First.</p>
    <section id="rows"><h2>2.1. Python 3.11 rows<a class="headerlink" href="#rows">¶</a></h2><p>Inner.</p></section>
    <p>Last.</p></section></body></html>"""
    assert sorted(python_sections("library/abc.html", source.encode())) == [
        Section("library/abc.html#module-abc", "Base Classes", "First. Last."),
        Section("library/abc.html#rows", "Python 3.11 rows", "Inner."),
    ]


# Pod and man pages


def test_a_pod_has_sections_with_items_and_code_and_without_commands() -> None:
    source = """=encoding utf8

=head1 C<sort> a list
X<sort>

=for comment
Never shown.

=over 4

=item *

One I<fine B<day>>.

=item ** a power

=back

    my $x = A<B>;

=begin text

Not shown.

=end text

=head2 Second

Two.

=cut

sub code { 1 }

=pod

Three.
"""
    assert list(pod_sections("perl/5.36.0/pod/perlx.pod", source.encode())) == [
        Section("perlx#0", "sort a list", "One fine day. ** a power my $x = A<B>;"),
        Section("perlx#1", "Second", "Two. Three."),
    ]


def test_a_pod_may_begin_with_an_empty_line() -> None:
    assert list(pod_sections("a.pod", b"\n=head1 NAME\n\nText.\n")) == [Section("a#0", "NAME", "Text.")]


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("C<< a->b >> and C<<< a >> b >>>", "a->b and a >> b"),
        ("I<C<< a->b >>>", "a->b"),
        ("C<E<lt>b E<gt>c>", "<b >c"),
        ("E<233> E<0xE9> E<sol> E<verbar>", "é é / |"),
        ("L<the manual|perlfunc/abs> L<perlop>", "the manual perlop"),
        ("aX<index entry>Z<>b", "ab"),
        ("a < b and c > d", "a < b and c > d"),
    ],
)
def test_formatting_codes_of_pod_are_what_they_show(source: str, shown: str) -> None:
    (section,) = pod_sections("a.pod", f"=head1 Title\n\n{source}\n".encode())
    assert section.text == shown


@pytest.mark.parametrize("dash", ["\\-", "\\(em"])
def test_the_title_of_a_man_page_is_the_description_of_its_name(dash: str) -> None:
    source = f'.TH a 3 "2023"\n.SH NAME\na, b-c {dash} read a file - or two\n.SH NOTES\nThe text.\n.SH SEE ALSO\nb(3)\n'
    assert list(manual_page("man3/a.3.gz", gzip.compress(source.encode()))) == [
        Section("a.3", "read a file - or two", "NOTES The text.")
    ]


# Collections


def test_titles_that_are_drawn_have_2_to_15_words_and_are_no_other_documents_and_not_in_capitals() -> None:
    titles = [
        "Rows",
        "Two words",
        " ".join(["w"] * 15),
        " ".join(["w"] * 16),
        "SEE ALSO",
        "Same Title",
        "same title",
        "",
    ]
    found = drawn([Section(str(n), title, LONG) for n, title in enumerate(titles)])
    assert sorted(section.section_id for section in found) == ["1", "2"]


def test_as_many_titles_are_drawn_as_are_asked_for_and_always_the_same() -> None:
    documents = [Section(str(n), f"Title {n}", LONG) for n in range(50)]
    found = drawn(documents, 20)
    assert len(set(found)) == 20
    assert drawn(documents, 20) == found


def test_the_collection_has_all_long_documents_and_a_query_for_those_with_a_suitable_title(tmp_path: Path) -> None:
    sections = [
        Section("a", "Two words", LONG),
        Section("b", "Index", LONG),
        Section("c", "Too short", " ".join(["word"] * 29)),
    ]
    assert write(sections, tmp_path / "new" / "titles") == (2, 1)

    collection = read_beir(tmp_path / "new" / "titles")
    assert [(each.doc_id, each.full_text) for each in collection.documents("en")] == [("a", LONG), ("b", LONG)]
    assert [(each.text, dict(each.relevance)) for each in collection.queries] == [("Two words", {"a": 1})]
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["titles"]


def test_an_existing_folder_is_refused_before_anything_is_fetched(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"exists; name a new folder, or remove this one"):
        main(["perl", str(tmp_path), "--home", str(tmp_path / "home")])
    assert list(tmp_path.iterdir()) == []


def test_documentation_without_titles_leaves_no_folder(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="none of 1 documents has a title that can be a query; take Debian 12's"):
        write([Section("a", "", LONG)], tmp_path / "titles")
    assert list(tmp_path.iterdir()) == []


def test_a_collection_that_cannot_be_written_to_its_end_leaves_no_folder(tmp_path: Path) -> None:
    unencodable = Section("\ud800", "Two words", LONG)
    with pytest.raises(UnicodeEncodeError):
        write([unencodable], tmp_path / "titles")
    assert list(tmp_path.iterdir()) == []


def test_packages_are_fetched_once_and_files_of_other_kinds_are_not_read(tmp_path: Path) -> None:
    commands = []

    def run(command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
        commands.append(" ".join(command[:2]))
        if command[0] == "apt-get":
            (folder / f"{command[2]}_1_all.deb").touch()
        else:
            pods = Path(command[3]) / "usr/share/perl/5.36.0/pod"
            pods.mkdir(parents=True)
            for name in ("perlfunc", "perlfaq1", "perlfaq", "perltoc", "perl5360delta", "perldelta", "perlko"):
                (pods / f"{name}.pod").write_text("=head1 A title\n\nText.\n")
            (pods / "perlop.pm").touch()
        return subprocess.CompletedProcess(command, 0, "", "")

    for _ in range(2):
        found = sections_of("perl", tmp_path, run)
        assert [section.section_id for section in found] == ["perlfaq1#0", "perlfunc#0"]
    assert commands == ["apt-get download", "dpkg-deb -x"]


def test_the_text_of_a_page_of_help_is_without_its_title(tmp_path: Path) -> None:
    topics = tmp_path / "corpora" / "gnome" / "help" / "C" / "gnome-help"
    topics.mkdir(parents=True)
    (topics / "net.page").write_text(
        f'<page xmlns="http://projectmallard.org/1.0/"><title>Find a network</title><p>{LONG}</p></page>'
    )
    assert list(sections_of("gnome", tmp_path)) == [Section("net", "Find a network", LONG)]


def test_the_title_of_a_package_is_its_short_description_and_the_text_the_long_one(tmp_path: Path) -> None:
    folder = tmp_path / "corpora" / "packages"
    folder.mkdir(parents=True)
    # Some pages are for tests.
    names = ["".join(chr(ord("a") + int(digit)) for digit in str(n)) for n in range(N_TRAIN + 100)]
    rows = [
        [name, language, f"{name} shows maps", [["0.0", f"{name} shows maps"], ["0.1", f"{LONG} {name}"]], "games"]
        for name in names
        for language in ("en", "de")
    ]
    (folder / "descriptions.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    found = {section.section_id: section for section in sections_of("packages", tmp_path)}
    assert len(found) == N_TRAIN
    name = next(iter(found))
    assert found[name] == Section(name, f"{name} shows maps", f"{LONG} {name}")


def test_the_command_says_how_many_documents_and_queries_it_wrote(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pods = tmp_path / "corpora" / "perl" / "pages" / "perl-doc" / "5.36.0"
    pods.mkdir(parents=True)
    (pods / "perlx.pod").write_text(f"=head1 NAME\n\n{LONG}\n\n=head1 Two words\n\n{LONG}\n")

    main(["perl", str(tmp_path / "titles"), "--home", str(tmp_path)])

    assert capsys.readouterr().out == f"{tmp_path / 'titles'}: 2 documents, 1 queries\n"
