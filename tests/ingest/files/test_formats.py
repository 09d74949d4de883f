"""Files of every format become the documents that they hold."""

from __future__ import annotations

import bz2
import gzip
import json
import os
import tracemalloc
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ingest.documents import Layout, read_records
from ingest.files import open_sources, read_rows
from reranker.base.errors import BadInput, NotFound
from reranker.text.documents import Document
from tests.ingest.records import ENGLISH, documents, read
from tests.support.commands import write_rows

PACKERS = {"gz": gzip.compress, "bz2": bz2.compress}


@pytest.mark.parametrize(("suffix", "pack"), PACKERS.items())
def test_packed_files_are_unpacked_whatever_they_are_called(tmp_path: Path, suffix: str, pack) -> None:
    content = pack(b'{"id": "1", "text": "a"}\n{"id": "2", "text": "b"}\n')
    for name in (f"in.jsonl.{suffix}", "in.jsonl"):
        (tmp_path / name).write_bytes(content)
        assert [one.doc_id for one in documents(read(tmp_path / name))] == ["1", "2"]


def test_parquet_rows_become_documents_with_typed_metadata(tmp_path: Path) -> None:
    table = pa.table(
        {
            "doc_id": ["a", "b"],
            "title": ["T", None],
            "body": ["one", "two"],
            "year": [1999, None],
            "day": [date(2020, 1, 2), None],
            "tags": [["x", "y"], []],
        }
    )
    pq.write_table(table, tmp_path / "in.parquet")
    assert documents(read(tmp_path / "in.parquet")) == [
        Document("a", "one", "en", "T", metadata={"year": 1999, "day": "2020-01-02", "tags": ["x", "y"]}),
        Document("b", "two", "en", metadata={"tags": []}),
    ]


def test_of_a_large_row_group_of_parquet_only_a_part_is_in_memory(tmp_path: Path) -> None:
    texts = [str(number) * 200 for number in range(10_000, 18_000)]  # 8 MB
    pq.write_table(pa.table({"text": texts}), tmp_path / "in.parquet", compression="none", use_dictionary=False)
    with open_sources([str(tmp_path / "in.parquet")]) as (source,):
        tracemalloc.start()
        n_rows = sum(1 for _ in read_rows(source))
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert n_rows == 8_000
    assert most < 4_000_000


def test_a_parquet_row_that_is_too_long_is_rejected(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": ["1", "2", "3"], "text": ["a", "b" * 2**24, "c"]}), tmp_path / "in.parquet")
    first, second, third = read(tmp_path / "in.parquet")
    assert (first.doc_id, second.doc_id, third.doc_id) == ("1", None, "3")
    assert (second.row.line, second.reason) == (2, "the row is longer than 16,777,216 bytes; split it")


def test_parquet_values_of_all_types_are_read_as_they_were_written(tmp_path: Path) -> None:
    table = pa.table(
        {
            "tags": [["a", None], None],
            "more": [{"x": "q"}, None],
            "map": pa.array([None, [("k", "v")]], pa.map_(pa.string(), pa.string())),
            "kind": pa.array(["a", "b"]).dictionary_encode(),
        }
    )
    pq.write_table(table, tmp_path / "in.parquet")
    with open_sources([str(tmp_path / "in.parquet")]) as (source,):
        found = [json.loads(row.raw) for row in read_rows(source)]
    assert found == [
        {"tags": ["a", None], "more": {"x": "q"}, "map": None, "kind": "a"},
        {"tags": None, "more": None, "map": [["k", "v"]], "kind": "b"},  # JSON has no tuples
    ]


def test_parquet_times_in_nanoseconds_become_microseconds(tmp_path: Path) -> None:
    seconds = 1_500_000_000  # 2017-07-14 02:40 UTC, as RFC 3339 has it
    times = pa.array([seconds * 10**9 + 123_456_789, None], pa.timestamp("ns"))
    table = pa.table({"text": ["a", "b"], "local": times, "utc": times.cast(pa.timestamp("ns", "UTC"))})
    pq.write_table(table, tmp_path / "in.parquet")
    first, second = documents(read(tmp_path / "in.parquet"))
    assert first.metadata == {"local": "2017-07-14T02:40:00.123456", "utc": "2017-07-14T02:40:00.123456+00:00"}
    assert second.metadata == {}


def test_parquet_times_in_nanoseconds_become_microseconds_at_every_depth(tmp_path: Path) -> None:
    times = pa.timestamp("ns")
    nanoseconds = 1_500_000_000 * 10**9 + 123_456_789
    moment = "2017-07-14T02:40:00.123456"
    columns = {
        "list": (pa.list_(times), [nanoseconds, None], [moment, None]),
        "large": (pa.large_list(times), [nanoseconds], [moment]),
        "fixed": (pa.list_(times, 1), [nanoseconds], [moment]),
        "struct": (
            pa.struct([("at", times), ("by", pa.string())]),
            {"at": nanoseconds, "by": "x"},
            {"at": moment, "by": "x"},
        ),
        "map": (pa.map_(pa.string(), times), [("k", nanoseconds)], [["k", moment]]),
        "deep": (pa.list_(pa.struct([("at", times)])), [{"at": nanoseconds}], [{"at": moment}]),
        "time": (pa.time64("ns"), 1_234_567, "00:00:00.001234"),
    }
    table = pa.table({name: pa.array([value, None], kind) for name, (kind, value, _) in columns.items()})
    pq.write_table(table, tmp_path / "in.parquet")
    with open_sources([str(tmp_path / "in.parquet")]) as (source,):
        found = [json.loads(row.raw) for row in read_rows(source)]
    assert found == [{name: expected for name, (_, _, expected) in columns.items()}, dict.fromkeys(columns)]


def test_a_file_that_is_no_parquet_is_bad_input(tmp_path: Path) -> None:
    (tmp_path / "in.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(BadInput, match="cannot be read as Parquet"):
        read(tmp_path / "in.parquet")


PAGE = """<!doctype html><html lang="fr-CA"><head><title>Le chat</title><script>var hidden = 1;</script></head><body>
<nav><a href="/">Accueil</a> <a href="/x">Plan du site</a></nav>
<main><h1>Le chat</h1><p>Le chat domestique est un mammifère carnivore de la famille des félidés, que l'on trouve dans
presque toutes les maisons.</p><p>Il dort beaucoup, chasse les souris pendant la nuit et aime les endroits chauds de la
maison.</p></main><footer>Tous droits réservés</footer></body></html>"""


def test_a_folder_of_pages_becomes_documents_by_their_paths(tmp_path: Path) -> None:
    (tmp_path / "site" / "b").mkdir(parents=True)
    (tmp_path / "site" / "chat.html").write_text(PAGE)
    (tmp_path / "site" / "b" / "note.txt").write_text("On cats\n\nCats sleep.\n\nA lot.")
    (tmp_path / "site" / "b" / "picture.png").write_bytes(b"\x89PNG")
    page, note = documents(read(tmp_path / "site"))
    assert (page.doc_id, page.language, page.title) == ("chat.html", "fr", "Le chat")
    assert "mammifère carnivore" in page.text
    assert "souris" in page.text
    assert "hidden" not in page.text
    assert "Plan du site" not in page.text
    assert "réservés" not in page.text
    assert note == Document("b/note.txt", "Cats sleep.\n\nA lot.", "en", "On cats")


def test_the_title_of_a_text_is_found_with_line_ends_of_windows(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_bytes(b"On cats\r\n\r\nCats sleep.\r\nA lot.\r\n")
    assert documents(read(tmp_path / "in.txt")) == [Document("in.txt", "Cats sleep.\nA lot.", "en", "On cats")]


def test_a_page_without_main_text_keeps_all_of_its_text(tmp_path: Path) -> None:
    (tmp_path / "in.html").write_text("<p>Cat</p><style>p {}</style>")
    (one,) = documents(read(tmp_path / "in.html"))
    assert one.text == "Cat"


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_a_page_without_main_text_is_read_as_utf_8_if_it_is(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "in.html").write_text("<p>L'été</p>", encoding=encoding)
    (one,) = documents(read(tmp_path / "in.html"))
    assert one.text == "L'été"


def test_the_language_of_xhtml_is_that_of_xml(tmp_path: Path) -> None:
    page = PAGE.replace("<!doctype html>", '<?xml version="1.0" encoding="UTF-8"?>').replace("lang=", "xml:lang=")
    (tmp_path / "in.xhtml").write_text(page, encoding="utf-8")
    (one,) = documents(read(tmp_path / "in.xhtml"))
    assert one.language == "fr"


SPHINX = """<html lang="en"><head><title>Manual</title></head><body><main>
<h1>Printing pages<a class="headerlink" href="#printing" title="Link to this heading">¶</a></h1>
<p>To print a page, choose Print and press OK. The printer then starts to work on the page.</p>
<h2><a class="anchor" href="print.html#size">#</a> Paper size</h2>
<p>Set the paper size in the printer's properties, or it is cut. Issue <a href="#i12">#12</a> tells more of C#.</p>
</main></body></html>"""


def test_marks_that_link_a_heading_to_itself_are_in_no_title_and_no_text(tmp_path: Path) -> None:
    (tmp_path / "in.html").write_text(SPHINX, encoding="utf-8")
    (page,) = documents(read(tmp_path / "in.html"))
    assert page.title == "Printing pages"
    assert "¶" not in page.text
    assert "\nPaper size\n" in page.text
    assert "Issue #12 tells more of C#." in page.text


def test_many_marks_in_one_paragraph_are_left_out_in_one_pass(tmp_path: Path) -> None:
    """In a time that grows with the square: half an hour."""
    n = 100_000
    page = f"""<html><body><p>{'cat<a href="#cat">#</a> ' * n}</p></body></html>"""
    (tmp_path / "in.html").write_text(page)
    (one,) = documents(read(tmp_path / "in.html"))
    assert one.text == " ".join(["cat"] * n)


@pytest.mark.parametrize("character", ["\x0c", "&#1;", "&#xfffe;"])
def test_marks_beside_a_character_that_xml_lacks_are_left_out(tmp_path: Path, character: str) -> None:
    (tmp_path / "in.html").write_text(
        f"<html><body><p>one {character} two<a href='#x'>#</a> {character} 3</p></body></html>"
    )
    (one,) = documents(read(tmp_path / "in.html"))
    assert one.text.split() == ["one", "two", "3"]


def test_a_page_that_is_no_html_is_a_reject_and_no_line_of_a_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "in.html").write_bytes(b"")
    (record,) = read(tmp_path / "in.html")
    assert record.reason == "the HTML cannot be read (Document is empty)"
    (tmp_path / "in.html").write_bytes(b"\xff\xfe\x00b")
    list(read(tmp_path / "in.html"))
    assert caplog.records == []


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    for name in ("docs/index.md", "docs/guide/print.md", "docs/guide/note.txt", "docs/guide/page.html"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(PAGE if name.endswith("html") else "# T\n\nThe printer prints.", encoding="utf-8")
    return tmp_path / "docs"


@pytest.mark.parametrize("folder", ["", "docs", "docs/guide"])
@pytest.mark.parametrize(
    "names",
    [
        [""],
        ["**/*.*"],
        ["index.md", "guide/note.txt", "guide/page.html", "guide/print.md"],
    ],
    ids=["folder", "pattern", "files"],
)
def test_ids_of_pages_begin_at_the_folder_wherever_one_stands(
    docs: Path, monkeypatch: pytest.MonkeyPatch, folder: str, names: list[str]
) -> None:
    monkeypatch.chdir(docs.parent / folder)
    with open_sources([os.path.relpath(docs / name) for name in names]) as sources:
        found = [record.doc_id for record in read_records(sources, ENGLISH)]
    assert sorted(map(str, found)) == ["guide/note.txt", "guide/page.html", "guide/print.md", "index.md"]


def test_a_page_alone_has_its_name_as_id_and_other_files_beside_it_change_nothing(docs: Path) -> None:
    rows = docs.parent / "rows.jsonl"
    rows.write_text('{"id": "1", "text": "cat"}', encoding="utf-8")
    with open_sources([str(docs / "guide" / "print.md"), str(rows)]) as sources:
        found = [record.doc_id for record in read_records(sources, ENGLISH)]
    assert found == ["print.md", "1"]


def test_what_is_not_read_of_a_folder_is_counted_by_kind(docs: Path) -> None:
    for name in ("a.png", "b.png", "rows.jsonl", "LICENSE", ".hidden.md", "old.tar.gz"):
        (docs / "guide" / name).write_text("x", encoding="utf-8")
    (docs / ".git").mkdir()
    (docs / ".git" / "page.html").write_text(PAGE, encoding="utf-8")
    (docs / "link").symlink_to(docs / "guide")
    with open_sources([str(docs)]) as (source,):
        assert dict(source.left_out) == {
            ".png": 2,
            ".jsonl": 1,
            "file without a suffix": 1,
            "hidden file": 1,
            ".tar.gz": 1,
            "hidden folder": 1,
            "link to a folder": 1,
        }
        assert len(list(read_rows(source))) == 4


def test_a_folder_without_pages_names_the_formats_that_it_may_hold(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text("{}", encoding="utf-8")
    with (
        pytest.raises(BadInput, match="without HTML, Markdown or text files; name the files in it"),
        open_sources([str(tmp_path)]),
    ):
        pass


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"doc_id": "1", "text": "x"}, Document("1", "x", "en")),  # ir_datasets
        ({"_id": "1", "title": "t", "text": "x"}, Document("1", "x", "en", "t")),  # BEIR
        ({"docno": "1", "body": "x", "url": "u"}, Document("1", "x", "en", url="u")),
        ({"id": "1", "contents": "x", "doc_id": "2"}, Document("1", "x", "en", metadata={"doc_id": "2"})),  # Anserini
    ],
)
def test_the_names_that_collections_use_are_known(tmp_path: Path, row: dict[str, str], expected: Document) -> None:
    (tmp_path / "in.jsonl").write_text(json.dumps(row))
    assert documents(read(tmp_path / "in.jsonl")) == [expected]


def test_columns_can_be_named_where_no_header_does(tmp_path: Path) -> None:
    (tmp_path / "collection.tsv").write_text("0\tfirst passage\n1\tsecond\n")
    found = documents(read(tmp_path / "collection.tsv", columns=["doc_id", " text"]))
    assert found == [Document("0", "first passage", "en"), Document("1", "second", "en")]


def test_csv_may_have_semicolons_as_excel_writes_it(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(b'\xef\xbb\xbf"id";Text;Preis, netto\r\n1;one, two;1,50\r\n2;"three; four";2,50\r\n3;five;6;7\r\n')
    records = read(path, layout=Layout(default_language="en", text_field="Text"))
    assert [(one.doc_id, one.text, one.metadata) for one in documents(records[:2])] == [
        ("1", "one, two", {"Preis, netto": "1,50"}),
        ("2", "three; four", {"Preis, netto": "2,50"}),
    ]
    assert records[2].reason == "the row has 4 columns, the header 3; check separators and quotes"


def test_semicolons_in_the_cells_of_csv_separate_nothing(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text('id,text,"a;b;c"\n1,x;y;z,2\n')
    (found,) = documents(read(tmp_path / "in.csv"))
    assert (found.text, found.metadata) == ("x;y;z", {"a;b;c": "2"})


def test_quotes_in_tsv_are_part_of_the_text(tmp_path: Path) -> None:
    texts = ['"We are here,', "good train station", 'bread and cheese"', '"well" said', '6" wide', '""']
    (tmp_path / "in.tsv").write_text("id\ttext\n" + "".join(f"{n}\t{text}\n" for n, text in enumerate(texts)))
    assert [(one.doc_id, one.text) for one in documents(read(tmp_path / "in.tsv"))] == [
        (str(number), text) for number, text in enumerate(texts)
    ]


def test_a_column_without_a_name_is_no_metadata(tmp_path: Path) -> None:
    """pandas writes the numbers of its rows so, and no engine takes a field without a name."""
    (tmp_path / "in.csv").write_text(",id,text,year\n0,a,cat,1999\n")
    assert documents(read(tmp_path / "in.csv")) == [Document("a", "cat", "en", metadata={"year": "1999"})]


def test_csv_metadata_has_the_types_that_are_given(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("id,text,year,price,new,tags\n1,x,1999,2.5,TRUE,a| b\n2,x,soon,1,true,\n")
    layout = Layout(default_language="en", types={"year": "int", "price": "float", "new": "bool", "tags": "list"})
    first, second = read(tmp_path / "in.csv", layout=layout)
    assert first.document == Document(
        "1", "x", "en", metadata={"year": 1999, "price": 2.5, "new": True, "tags": ["a", "b"]}
    )
    assert second.reason == "field 'year' is 'soon', not of type int; correct it or its type"


def test_patterns_stand_for_files_in_the_order_of_their_names(tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    for name in ("b.jsonl", "a.jsonl", "deep/er/c.jsonl"):
        (tmp_path / name).write_text(json.dumps({"id": name, "text": "x"}))
    assert [one.doc_id for one in documents(read(tmp_path / "*.jsonl"))] == ["a.jsonl", "b.jsonl"]
    assert len(documents(read(tmp_path / "**" / "*.jsonl"))) == 3
    for nothing in ("*.csv", "deep*"):
        with pytest.raises(NotFound, match="there is no file"):
            read(tmp_path / nothing)


def test_an_empty_name_is_no_file_and_not_the_working_folder(docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(docs)
    with pytest.raises(NotFound, match="there is no file ''"):
        read("")


def test_a_pattern_finds_reject_files_only_if_it_names_them(tmp_path: Path) -> None:
    for name in ("a.jsonl", "a.jsonl.rejects"):
        (tmp_path / name).write_text(json.dumps({"id": name, "text": "x"}))
    assert [one.doc_id for one in documents(read(tmp_path / "*"))] == ["a.jsonl"]
    assert [one.doc_id for one in documents(read(tmp_path / "*.rejects"))] == ["a.jsonl.rejects"]
    (tmp_path / "a.jsonl").unlink()
    with pytest.raises(NotFound):
        read(tmp_path / "*")


def test_standard_input_that_is_closed_is_bad_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)  # as Python has it under `<&-`
    with pytest.raises(BadInput, match=r"standard input \(-\) is closed"):
        read("-")


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Wasser für die Pflanzen im Garten", "de"),
        ("asiakirjan tulostaminen ja rivin korkeuden muuttaminen", "fi"),
        ("Ο λόγος του κειμένου και οι λέξεις", "el"),
        ("xq", "und"),
        ("12 34", "und"),
    ],
)
def test_languages_are_detected_where_there_is_enough_to_tell(tmp_path: Path, text: str, language: str) -> None:
    (tmp_path / "in.jsonl").write_text(json.dumps({"id": "1", "text": text}))
    assert documents(read(tmp_path / "in.jsonl", layout=Layout(default_language="auto")))[0].language == language


def test_a_language_that_is_named_is_not_detected(tmp_path: Path) -> None:
    rows = [
        {"id": "1", "text": "Wasser für die Pflanzen", "lang": "fr"},
        {"id": "2", "text": "Wasser für die Pflanzen"},
    ]
    path = write_rows(tmp_path / "in.jsonl", rows)
    layout = Layout(default_language="auto")
    assert [one.language for one in documents(read(path, layout=layout))] == ["fr", "de"]
