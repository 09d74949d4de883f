"""Markdown as documents: title, front matter, and the text without markup."""

from __future__ import annotations

from typing import Any

import pytest

from ingest.files import Row, parse


def values_of(source: str) -> dict[str, Any]:
    row = parse(Row("in.md", 1, source.encode(), {"id": "in.md"}, None, "markdown"))
    assert row.error is None, row.error
    return dict(row.values or {})


def test_the_first_heading_is_the_title_and_no_part_of_the_text() -> None:
    assert values_of("A *badge*.\n\n# How to **print** #\n\nPress OK.\n\n## Paper\n") == {
        "id": "in.md",
        "title": "How to print",
        "text": "A badge.\nPress OK.\nPaper",
    }
    assert values_of("How to print\n============\n\nPress OK.")["title"] == "How to print"


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ('See [the *guide*](guide.md "t") and <https://a.example>.', "See the guide and https://a.example."),
        ("Run `ls -l`, ~~not~~ **now**.", "Run ls -l, not now."),
        ("![A red cat](cat.png)", "A red cat"),
        ("- one\n- two\n  1. three", "one\ntwo\nthree"),
        ("> said", "said"),
        ("| a | b |\n|---|---|\n| 1 | 2 |", "a\nb\n1\n2"),
        ("```sh\nls *.md\n```", "ls *.md"),
        ('<div class="x">Raw &amp; <b>bold</b></div>', "Raw & bold"),
        ("a <b>bold</b> word &amp; more<!-- hidden -->", "a bold word & more"),
        ("<!-- hidden\n\nlines -->", ""),
        ("<div>shown<!-- hidden\n<b>too</b></div>", "shown"),
        ("<div>a<!-->b<!--->c<!-- --></div>", "abc"),
        ("<script setup>\nlet a = 1 < 2\n\nb()\n</script>\n\n<Style>p {}</STYLE>\n\nshown", "shown"),
        ("<div>shown<script>hidden</div>", "shown"),
        ("<style-guide>shown</style-guide>", "shown"),
        ("a\nb  \nc", "a\nb\nc"),
        ("snake_case_name and 2 * 3 * 4", "snake_case_name and 2 * 3 * 4"),
    ],
)
def test_markup_is_left_out_and_words_are_kept(source: str, text: str) -> None:
    assert values_of(source) == {"id": "in.md", "title": "", "text": text}


def test_attributes_behind_a_heading_are_no_part_of_the_title() -> None:
    assert values_of("# Install {#install .wide}\n\nx")["title"] == "Install"
    assert values_of("# The set {1, 2}\n\nx")["title"] == "The set {1, 2}"


MANY = 400_000


@pytest.mark.parametrize(
    ("source", "title"),
    [
        (f"# a{' ' * MANY}{{b", f"a{' ' * MANY}{{b"),
        (f"# a{' ' * MANY}{{#b}}", "a"),
    ],
    ids=["no end", "blanks"],
)
def test_attributes_of_a_long_heading_are_found_in_one_pass(source: str, title: str) -> None:
    """In a time that grows with the square: hours."""
    assert values_of(source)["title"] == title


def test_comments_without_an_end_are_left_out_in_one_pass() -> None:
    """In a time that grows with the square: hours."""
    assert values_of(f"<div>shown {'<!-- ' * MANY}\n</div>\n\nafter")["text"] == "shown\nafter"


def test_the_url_of_the_front_matter_is_the_documents_address() -> None:
    assert values_of("---\nurl: https://a.example/print\n---\n# Print") == {
        "id": "in.md",
        "title": "Print",
        "text": "",
        "url": "https://a.example/print",
    }
    assert values_of("---\nurl: 3\n---\n# Print")["metadata"] == {"url": 3}


def test_front_matter_gives_title_language_and_metadata() -> None:
    yaml = '---\ntitle: "Drucken: so"\nlang: de\ntags: [a, b]\ndate: 2024-01-02\ndraft: false\nmore: {x: 1}\nno:\n---\n'
    assert values_of(f"{yaml}# Drucken\n\nText") == {
        "id": "in.md",
        "title": "Drucken: so",
        "text": "Drucken\nText",
        "language": "de",
        "metadata": {"tags": ["a", "b"], "date": "2024-01-02", "draft": False},
    }
    toml = "+++\ntitle = 'Print'\nweight = 3\n+++\n# Print\n\nText"
    assert values_of(toml) == {"id": "in.md", "title": "Print", "text": "Text", "metadata": {"weight": 3}}


@pytest.mark.parametrize("key", ["lang", "language"])
def test_norwegian_is_a_language_and_no_false(key: str) -> None:
    assert values_of(f"---\n{key}: no\n---\nSkriv ut") == {
        "id": "in.md",
        "title": "",
        "text": "Skriv ut",
        "language": "no",
    }


@pytest.mark.parametrize(
    "yaml",
    ["a: &a [x, y]\nb: *a\n", "c: &c {k: v}\n<<: *c\n", "a: &a [*a]\n"],
    ids=["a list", "a merged mapping", "itself"],
)
def test_aliases_in_front_matter_are_a_reason_to_mend_it(yaml: str) -> None:
    row = parse(Row("in.md", 1, f"---\n{yaml}---\nx".encode(), {"id": "in.md"}, None, "markdown"))
    assert row.error == "the front matter cannot be read (aliases are not read); correct or remove it"


def test_front_matter_does_not_choose_the_id() -> None:
    assert values_of("---\nid: other\ntext: other\n---\nText") == {"id": "in.md", "title": "", "text": "Text"}


def test_lines_of_windows_and_a_byte_order_mark_are_read() -> None:
    assert values_of("\ufeff---\r\ntitle: T\r\n---\r\nText\r\n") == {"id": "in.md", "title": "T", "text": "Text"}


def test_text_between_two_rules_is_text() -> None:
    assert values_of("---\n\nOne line\n\n---\n\nTwo")["text"] == "One line\nTwo"


@pytest.mark.parametrize(
    "source",
    [
        "---\ntitle: [\n---\nx",
        "+++\ntitle\n+++\nx",
        "---\nd: 2024-99-99 \n---\nx\n",
        '---\na: !!int ""\n---\nx',
        '---\na: !!float ""\n---\nx',
        "---\na: !!bool foo\n---\nx",
        "---\na: !!timestamp x\n---\nx",
        f"---\na: 1{':00' * 250}:00.5\n---\nx",
        f"---\na: {'[' * 5_000}\n---\nx",
    ],
)
def test_front_matter_that_cannot_be_read_is_a_reason_to_mend_it(source: str) -> None:
    row = parse(Row("in.md", 1, source.encode(), {"id": "in.md"}, None, "markdown"))
    assert "the front matter cannot be read" in str(row.error)
    assert "correct or remove it" in str(row.error)


@pytest.mark.parametrize("toml_key", ["a", ".".join("a" * 40_000)], ids=["string", "dotted key"])
def test_front_matter_longer_than_any_page_needs_is_a_reason_to_mend_it(toml_key: str) -> None:
    source = f"+++\n{toml_key} = '{'x' * 70_000}'\n+++\ntext"
    row = parse(Row("in.md", 1, source.encode(), {"id": "in.md"}, None, "markdown"))
    assert row.error == ("the front matter cannot be read (it has more than 65,536 characters); correct or remove it")


@pytest.mark.parametrize(
    "source",
    [f"<div>&#{'5' * 5_000};</div>", f"---\ntitle: 1{':00' * 20_000}\n---\nx"],
    ids=["character reference", "number of base 60"],
)
def test_a_number_with_more_digits_than_python_reads_is_a_reason(source: str) -> None:
    row = parse(Row("in.md", 1, source.encode(), {"id": "in.md"}, None, "markdown"))
    assert "the page cannot be read (ValueError: " in str(row.error)
    assert "correct it or leave it out" in str(row.error)


def test_bytes_that_are_no_text_are_a_reason() -> None:
    row = parse(Row("in.md", 1, b"# \xff", {"id": "in.md"}, None, "markdown"))
    assert "not UTF-8" in str(row.error)
