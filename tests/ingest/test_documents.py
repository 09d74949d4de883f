"""Rows of files become documents, or rejects that say why."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ingest.documents import Layout, Record, check_sources, content_id
from ingest.files import MAX_ROW_BYTES, Source
from reranker.base.errors import BadInput, NotFound
from reranker.text.documents import Document
from tests.ingest.records import documents, read


def read_text(tmp_path: Path, content: str | bytes, layout: Layout = Layout(), name: str = "in.jsonl") -> list[Record]:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read(path, layout=layout)


def test_a_json_line_becomes_a_document(tmp_path: Path) -> None:
    row = {
        "id": "1",
        "language": "fr-CA",
        "title": "T",
        "text": "x",
        "url": "https://a.example",
        "metadata": {"k": [1]},
    }
    assert documents(read_text(tmp_path, json.dumps(row))) == [
        Document("1", "x", "fr", "T", "https://a.example", {"k": [1]})
    ]


def test_other_fields_join_the_metadata_whose_own_values_win(tmp_path: Path) -> None:
    row = {"id": "1", "lang": "fr", "text": "x", "year": 7, "kind": "a", "none": None, "metadata": {"kind": "b"}}
    assert documents(read_text(tmp_path, json.dumps(row)))[0].metadata == {"year": 7, "kind": "b"}


def test_a_csv_row_becomes_a_document_with_the_other_columns_as_metadata(tmp_path: Path) -> None:
    content = '\ufeffid,lang,text,year,kind\r\n1,fr,"un, deux\r\ntrois",2001,\r\n\r\n2,en,"say ""x""",1,b\r\n'
    assert documents(read_text(tmp_path, content, name="in.csv")) == [
        Document("1", "un, deux\ntrois", "fr", metadata={"year": "2001"}),
        Document("2", 'say "x"', "en", metadata={"year": "1", "kind": "b"}),
    ]


def test_fields_may_have_other_names(tmp_path: Path) -> None:
    layout = Layout("nr", "sprache", "titel", "inhalt", "adresse")
    row = {"nr": 7, "sprache": "de", "titel": "T", "inhalt": "x", "adresse": "u", "id": "other"}
    assert documents(read_text(tmp_path, json.dumps(row), layout)) == [
        Document("7", "x", "de", "T", "u", {"id": "other"})
    ]


def test_the_default_language_is_for_rows_that_name_none(tmp_path: Path) -> None:
    content = (
        '{"id": "1", "text": "x"}\n{"id": "2", "text": "x", "language": "en"}\n{"id": "3", "text": "x", "lang": ""}'
    )
    found = documents(read_text(tmp_path, content, Layout(default_language="fr")))
    assert [document.language for document in found] == ["fr", "en", "fr"]


def test_a_document_without_an_id_keeps_the_one_of_its_contents(tmp_path: Path) -> None:
    rows = ['{"lang": "fr", "text": "x"}', '{"id": null, "text": "x", "lang": "en"}', '{"lang": "fr", "title": "x"}']
    ids = [document.doc_id for document in documents(read_text(tmp_path, "\n".join(rows)))]

    assert len(set(ids)) == 3
    assert ids[0] == content_id("fr", "", "x")
    assert ids[0] == documents(read_text(tmp_path, rows[0]))[0].doc_id


@pytest.mark.parametrize(
    ("fields", "doc_id", "metadata"),
    [
        ({"id": "", "docno": "D1"}, "D1", {}),
        ({"id": None, "doc_id": "", "_id": 7, "docno": "D1"}, "7", {"docno": "D1"}),
        ({"id": 0}, "0", {}),
        ({"id": 2**64 - 1}, "18446744073709551615", {}),
    ],
)
def test_the_first_id_field_that_is_not_empty_is_the_id_and_no_metadata(
    tmp_path: Path, fields: dict[str, object], doc_id: str, metadata: dict[str, object]
) -> None:
    row = json.dumps({**fields, "lang": "fr", "text": "x"})
    assert documents(read_text(tmp_path, row)) == [Document(doc_id, "x", "fr", metadata=metadata)]


REJECTED: list[tuple[str, str]] = [
    ("{broken", "not JSON: "),
    ("[1, 2]", "the line is a list, not an object"),
    ("null", "the line is null"),
    ('{"id": "x", "lang": "fr", "text": NaN}', "NaN is not a JSON number"),
    ('{"id": "x", "lang": "fr", "text": "\\ud800"}', "surrogate"),
    ("[" * 100_000, "the JSON cannot be read"),
    ('{"id": "x", "lang": "fr"}', "'x' has no text"),
    ('{"id": "x", "lang": "fr", "text": " \\n "}', "'x' has no text"),
    ('{"id": "x", "text": "y"}', "no field 'language'; add it, or give the language of all documents with --lang"),
    ('{"id": "x", "lang": "fx", "text": "y"}', "'fx' is not a language code"),
    ('{"id": "x", "lang": 3, "text": "y"}', "field 'lang' is a number, not a string"),
    ('{"id": "x", "lang": "fr", "text": ["y"]}', "field 'text' is a list, not a string"),
    ('{"id": "x", "lang": "fr", "title": true, "text": "y"}', "field 'title' is a boolean, not a string"),
    ('{"id": "x", "lang": "fr", "url": {}, "text": "y"}', "field 'url' is an object, not a string"),
    ('{"id": "x", "lang": "fr", "metadata": [], "text": "y"}', "field 'metadata' is a list, not an object"),
    ('{"id": 1.5, "lang": "fr", "text": "y"}', "field 'id' is a number, not a string or a whole number"),
    (
        '{"id": 18446744073709551616, "lang": "fr", "text": "y"}',
        "field 'id' is a number, not a string or a whole number of up to 64 bits; write it as a string",
    ),
    ('{"id": true, "lang": "fr", "text": "y"}', "field 'id' is a boolean"),
    # What no index takes.
    (f'{{"id": "{257 * "é"}", "lang": "fr", "text": "y"}}', "the id has 514 bytes; 512 is the most"),
    ('{"id": "a\\u0000b", "lang": "fr", "text": "y"}', "the id holds the character NUL"),
    ('{"id": "x", "lang": "fr", "url": "\\ud800", "text": "y"}', "it contains half a surrogate pair"),
    ('{"lang": "fr", "text": "a \\ud800"}', "it contains half a surrogate pair"),
    ('{"id": "x", "lang": "fr", "tag": "\\ud800", "text": "y"}', "the metadata cannot be written as JSON (str is not"),
    (f'{{"lang": "fr", "text": "y", "tag": {300 * "["}{300 * "]"}}}', "cannot be written as JSON (Recursion limit"),
    ('{"id": "x", "lang": "fr", "text": "y", "size": 1e999}', "1e999 is beyond the range of numbers"),
]


@pytest.mark.parametrize(("line", "reason"), REJECTED, ids=[reason[:30] for _, reason in REJECTED])
def test_a_row_that_is_no_document_is_rejected_with_its_line_and_the_others_stay(
    tmp_path: Path, line: str, reason: str
) -> None:
    good = '{"id": "%d", "lang": "fr", "text": "chat"}\n'
    records = read_text(tmp_path, good % 1 + "\n" + line + "\n" + good % 2)

    assert [record.doc_id for record in records if record.document] == ["1", "2"]
    (rejected,) = [record for record in records if record.document is None]
    assert rejected.row.line == 3
    assert rejected.row.raw == line.encode()
    assert reason in str(rejected.reason)


def test_a_page_whose_name_is_not_utf8_is_rejected_and_the_others_are_read(tmp_path: Path) -> None:
    for name in (b"caf\xe9.txt", b"tea.txt"):
        (tmp_path / os.fsdecode(name)).write_text("a cat")
    cafe, tea = read(tmp_path)
    assert "half a surrogate pair" in str(cafe.reason)
    assert tea.doc_id == "tea.txt"


def test_bytes_that_are_not_utf8_are_rejected_as_they_came(tmp_path: Path) -> None:
    line = b'{"id": "1", "lang": "fr", "text": "caf\xe9"}'
    (record,) = read_text(tmp_path, line + b"\n")
    assert record.row.raw == line
    assert record.reason == "not UTF-8 (byte 0xe9 at 39); save the file as UTF-8"


def test_a_line_that_is_too_long_is_rejected_and_reading_goes_on(tmp_path: Path) -> None:
    long = json.dumps({"id": "1", "lang": "fr", "text": "x" * MAX_ROW_BYTES})
    first, second = read_text(tmp_path, long + '\n{"id": "2", "lang": "fr", "text": "x"}\n')
    assert "longer than 16,777,216 bytes" in str(first.reason)
    assert second.document is not None
    assert second.row.line == 2


CSV_HEADER = "id,lang,text\n"


@pytest.mark.parametrize(
    ("rows", "reason", "raw"),
    [
        ("1,fr\n", "the row has 2 columns, the header 3", b"1,fr"),
        ("1,fr,a,b\n", "the row has 4 columns, the header 3", b"1,fr,a,b"),
        ('1,fr,"a"b\n', "not CSV: ", b'1,fr,"a"b'),
        ("1,fr,caf\udce9\n", "not UTF-8 (byte 0xe9 at 9)", b"1,fr,caf\xe9"),
        ('1,fr,"caf\udce9\nx"\n', "not UTF-8 (byte 0xe9 at 10)", b'1,fr,"caf\xe9\nx"'),
    ],
)
def test_a_csv_row_that_cannot_be_read_is_rejected_and_the_next_is_not(
    tmp_path: Path, rows: str, reason: str, raw: bytes
) -> None:
    content = (CSV_HEADER + rows + "2,en,b\n").encode(errors="surrogateescape")
    first, second = read_text(tmp_path, content, name="in.csv")
    assert reason in str(first.reason)
    assert (first.row.line, first.row.raw) == (2, raw)
    assert second.document == Document("2", "b", "en")


def test_a_quote_left_open_rejects_all_that_it_swallowed(tmp_path: Path) -> None:
    (record,) = read_text(tmp_path, CSV_HEADER + '1,fr,"a\n2,en,b\n', name="in.csv")
    assert record.row.raw == b'1,fr,"a\n2,en,b'
    assert "not CSV: unexpected end of data" in str(record.reason)


def test_a_quote_left_open_ends_at_the_size_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingest.files.lines.MAX_ROW_BYTES", 15)
    records = read_text(tmp_path, CSV_HEADER + '1,fr,"a\n' + "2,en,b\n" * 2 + "3,en,c\n", name="in.csv")
    assert "is a quote not closed?" in str(records[0].reason)
    assert records[-1].document == Document("3", "c", "en")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        ("id,lang,words\n", "has no column 'text' .its columns are id, lang, words.; name .* --text-field"),
        ("1,hello\n", "has no column 'text' .* --text-field, or all with --columns if the first row has no names"),
        ("id,text\n", "has no column 'language' .*--language-field.*--lang"),
        ("id,lang,text,text\n", "has the column 'text' twice"),
    ],
)
def test_a_csv_header_is_checked_before_the_run(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "in.csv"
    path.write_text(content)
    with pytest.raises(BadInput, match=message):
        check_sources([Source(path, "in.csv", "csv")], Layout())


def test_columns_of_one_name_are_refused_in_parquet_and_where_they_are_given(tmp_path: Path) -> None:
    from pyarrow import parquet, table

    parquet.write_table(table([["a"], ["b"]], ["text", "text"]), tmp_path / "in.parquet")
    (tmp_path / "in.csv").write_text("a,b\n")
    for name, columns in (("in.parquet", None), ("in.csv", ["text", "text"])):
        with pytest.raises(BadInput, match=f"{name} has the column 'text' twice; give each column one name"):
            read(tmp_path / name, columns=columns)


def test_a_column_that_is_named_for_the_text_has_to_be_there_beside_a_title_too(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text("id,language,title,body\n")
    with pytest.raises(BadInput, match=r"no column 'words' .its columns are id, language, title, body"):
        check_sources([Source(path, "in.csv", "csv")], Layout(text_field="words"))


@pytest.mark.parametrize(
    ("layout", "option"),
    [
        (Layout(id_field="ID"), "--id-field"),
        (Layout(language_field="ID", default_language="fr"), "--language-field"),
        (Layout(title_field="ID"), "--title-field"),
        (Layout(url_field="ID"), "--url-field"),
        (Layout(types={"ID": "int"}), "--types"),
    ],
    ids=["id", "language", "title", "url", "types"],
)
def test_a_column_that_an_option_names_has_to_be_in_a_file(tmp_path: Path, layout: Layout, option: str) -> None:
    header, other, rows = (tmp_path / name for name in ("in.csv", "other.csv", "in.jsonl"))
    header.write_text("id,language,text\n")
    other.write_text("ID,language,text\n")
    rows.write_text("")
    sources = [Source(header, "in.csv", "csv")]
    with pytest.raises(BadInput, match=rf"{option} names 'ID', but no file has this column .*are id, language, text"):
        check_sources(sources, layout)
    check_sources([*sources, Source(other, "other.csv", "csv")], layout)
    check_sources([*sources, Source(rows, "in.jsonl", "jsonl")], layout)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"there is no file .*absent.jsonl"):
        read(tmp_path / "absent.jsonl")


@pytest.mark.parametrize("name", ["in.json", "in.doc", "in"])
def test_a_name_that_says_no_format_needs_another_end_or_ingests_flag(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text('{"id": "1", "lang": "fr", "text": "x"}')
    with pytest.raises(BadInput, match=r"end it in \.jsonl, .* or give `sinkrank ingest` --format jsonl\|csv\|tsv"):
        read(path)
    assert documents(read(path, layout=Layout(), file_format="jsonl"))[0].doc_id == "1"
