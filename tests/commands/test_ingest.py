"""`sinkrank ingest`."""

from __future__ import annotations

import gzip
import json
import os
import signal
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest
import urllib3

from ingest.files import Row
from ingest.rejects import RejectFile
from reranker.base.errors import NotFound
from reranker.stores import open_store
from tests.support.commands import DOCUMENTS, MakeForeign, Run, assert_one_line, write_rows
from tests.support.engines.sources import Engine
from tests.support.tiny import TRANSLATION_COST


def test_ingest_says_what_it_did(home: Path, run: Run) -> None:
    result = run("ingest", str(write_rows(home / "in.jsonl", DOCUMENTS)))

    assert "4 of 4 documents are in index 'documents' (en 1, fr 3)" in result.stdout
    assert result.stderr == ""


def test_a_reject_file_that_is_fed_in_again_is_told_from_documents(home: Path, run: Run) -> None:
    run("ingest", str(write_rows(home / "in.jsonl", ["{broken"])), "--rejects", "bad.jsonl", exits=1)
    run("ingest", "bad.jsonl", "--lang", "fr", "--rejects", "again.jsonl", exits=1)

    (again,) = (json.loads(line) for line in (home / "again.jsonl").read_text().splitlines())
    assert (again["raw"], again["file"], again["line"]) == ("{broken", str(home / "in.jsonl"), 1)
    assert "not JSON" in again["reason"]


def test_a_pattern_for_the_inputs_does_not_find_the_reject_file_of_the_first_run(home: Path, run: Run) -> None:
    (home / "rows").mkdir()
    write_rows(home / "rows" / "a.jsonl", [*DOCUMENTS, "{broken"])
    first = run("ingest", "rows/*.jsonl", exits=1)
    rejects = (home / "rows" / "a.jsonl.rejects").read_text()

    again = run("ingest", "rows/*.jsonl", exits=1)

    assert again.stdout.splitlines()[0] == first.stdout.splitlines()[0]
    assert (home / "rows" / "a.jsonl.rejects").read_text() == rejects
    # It is read where it is named, and a run of both is refused before it would be written over.
    files = [str(home / "rows" / name) for name in ("a.jsonl", "a.jsonl.rejects")]
    assert "is an input" in run("ingest", *files, exits=1).stderr
    run("ingest", files[1], exits=1)
    assert "not JSON" in (home / "rows" / "a.jsonl.rejects.rejects").read_text()


def test_a_mended_reject_file_is_ingested_as_it_is(home: Path, run: Run) -> None:
    (home / "in.csv").write_text("id,lang,text,year\n1,fx,chat,2001\n2,fr,eau,1999\n")
    write_rows(home / "in.jsonl", [{"id": "3", "lang": "fx", "text": "pain"}])
    run("ingest", "in.csv", "in.jsonl", "--rejects", "bad.jsonl", exits=1)
    bad = home / "bad.jsonl"
    bad.write_text(bad.read_text().replace("fx", "fr"))

    assert "2 of 2 documents" in run("ingest", "bad.jsonl").stdout
    hits = json.loads(run("search", "cat", "--lang", "en", "--json").stdout)["hits"]
    assert {hit["id"]: hit["metadata"] for hit in hits} == {"1": {"year": "2001"}, "2": {"year": "1999"}, "3": {}}


def test_a_document_may_have_the_fields_of_a_reject(home: Path, run: Run) -> None:
    row = {"id": "1", "file": "a.py", "line": 3, "reason": "x", "raw": "y", "lang": "fr", "text": "chat"}
    run("ingest", str(write_rows(home / "in.jsonl", [row])))


def test_the_summary_is_one_json_document(home: Path, run: Run) -> None:
    write_rows(home / "in.jsonl", [*DOCUMENTS, "{broken"])
    summary = json.loads(run("ingest", "in.jsonl", "--index", "pages", "--json", exits=1).stdout)
    assert {name: summary[name] for name in ("index", "read", "indexed", "rejected", "languages", "rejects")} == {
        "index": "pages",
        "read": 5,
        "indexed": 4,
        "rejected": 1,
        "languages": {"en": 1, "fr": 3},
        "rejects": "in.jsonl.rejects",
    }


def test_standard_input_is_read_twice_and_its_rejects_stay_in_the_working_folder(home: Path, run: Run) -> None:
    result = run("ingest", "-", "--lang", "fr", stdin='{"id": "1", "text": "chat"}\nbroken\n', exits=1)
    assert "1 of 2 documents" in result.stdout
    assert (home / "stdin.rejects").exists()


def test_gzipped_csv_from_standard_input(home: Path, run: Run) -> None:
    result = run("ingest", "-", "--format", "csv", stdin=gzip.compress(b"id,lang,text\n1,fr,chat\n"))
    assert "1 of 1 documents" in result.stdout


def test_a_rebuild_can_be_taken_back_and_brought_again(indexed: Path, run: Run) -> None:
    write_rows(indexed / "new.jsonl", DOCUMENTS[:1])
    rebuilt = run("ingest", "new.jsonl", "--rebuild")
    # With the store, so that it can be copied: another store may have an index of this name.
    assert "`sinkrank ingest rollback --index documents --store .sinkrank/store` goes back" in rebuilt.stdout
    assert run("ingest", "rollback").stdout == "index 'documents' now is documents-000001\n"
    assert len(json.loads(run("search", "cat", "--json").stdout)["hits"]) == 4
    run("ingest", "rollback", "--to", "documents-000002")
    assert len(json.loads(run("search", "cat", "--json").stdout)["hits"]) == 1
    assert versions(indexed) == {"documents-000001": False, "documents-000002": True}


def versions(home: Path) -> dict[str, bool]:
    """Of the index `documents`, whether each is serving."""
    with closing(open_store(str(home / ".sinkrank" / "store"))) as store:
        return {version.name: version.is_serving for version in store.versions("documents")}


def test_only_the_version_before_is_kept(indexed: Path, run: Run) -> None:
    for _ in range(2):
        run("ingest", "documents.jsonl", "--rebuild")
    assert list(versions(indexed)) == ["documents-000002", "documents-000003"]


def test_a_rebuild_after_a_roll_back_keeps_the_version_that_served(indexed: Path, run: Run) -> None:
    run("ingest", "documents.jsonl", "--rebuild")
    run("ingest", "rollback")
    run("ingest", "documents.jsonl", "--rebuild")
    assert list(versions(indexed)) == ["documents-000001", "documents-000003"]
    assert run("ingest", "rollback").stdout == "index 'documents' now is documents-000001\n"


def test_there_is_nothing_to_go_back_to(indexed: Path, run: Run) -> None:
    assert_one_line(run("ingest", "rollback", exits=1), "no version before the serving one")
    assert_one_line(run("ingest", "rollback", "--index", "absent", exits=1), "has no index 'absent'")
    assert_one_line(run("ingest", "rollback", "--to", "documents-000009", exits=1), "has no version 'documents-000009'")


def test_a_dry_run_checks_everything_and_writes_nothing(home: Path, run: Run) -> None:
    write_rows(home / "in.jsonl", [*DOCUMENTS, DOCUMENTS[0], "{broken"])
    summary = json.loads(run("ingest", "in.jsonl", "--dry-run", "--json", exits=1).stdout)
    assert (summary["read"], summary["indexed"], summary["rejected"], summary["is_dry_run"]) == (6, 4, 2, True)
    assert not (home / ".sinkrank" / "store").exists()
    assert not (home / ".sinkrank" / "ingest").exists()


def test_a_limit_ends_the_input(home: Path, run: Run) -> None:
    result = run("ingest", str(write_rows(home / "in.jsonl", DOCUMENTS)), "--limit", "2")
    assert "2 of 2 documents" in result.stdout


def test_documents_are_deleted_by_id(indexed: Path, run: Run) -> None:
    deleted = run("ingest", "delete", "fr/chat", "fr/pain")
    assert deleted.stdout == "2 documents deleted from index 'documents'\n"
    assert run("ingest", "delete", "en/car").stdout == "1 document deleted from index 'documents'\n"
    assert "\n1 found by hybrid" in run("search", "cat").stdout
    hits = json.loads(run("search", "cat", "--json").stdout)["hits"]
    assert {hit["id"] for hit in hits} == {"fr/animaux"}
    assert "not there: fr/chat" in run("ingest", "delete", "fr/chat", exits=1).stderr
    run("ingest", "delete", exits=2)


def test_an_id_that_is_given_twice_is_deleted_once(indexed: Path, run: Run) -> None:
    deleted = run("ingest", "delete", "fr/chat", "fr/chat", "en/car")
    assert (deleted.stdout, deleted.stderr) == ("2 documents deleted from index 'documents'\n", "")


def test_an_id_to_delete_that_is_not_utf_8_is_wrong_use_and_nothing_is_deleted(indexed: Path, run: Run) -> None:
    refused = run("ingest", "delete", "fr/chat", os.fsdecode(b"caf\xe9"), exits=2)
    assert "an id is not UTF-8" in refused.stderr
    assert run("ingest", "delete", "fr/chat").stdout == "1 document deleted from index 'documents'\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_run_that_is_told_to_end_leaves_no_temporary_file(
    home: Path, run: Run, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    (home / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(home / "temporary"))
    seen: list[Path] = []

    def told_to_end(*_: object, **__: object) -> None:
        seen.extend((home / "temporary").iterdir())  # the copy of standard input
        os.kill(os.getpid(), number)

    monkeypatch.setattr("ingest.pipeline.ingest", told_to_end)
    before = signal.signal(number, signal.SIG_DFL)  # nohup may have started the tests
    try:
        run("ingest", "-", stdin=json.dumps(DOCUMENTS[0]), exits=128 + number)
        after = signal.getsignal(number)
    finally:
        signal.signal(number, before)
    assert len(seen) == 1
    assert list((home / "temporary").iterdir()) == []
    assert after is signal.SIG_DFL


def test_a_signal_that_is_ignored_stays_so(home: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[object] = []
    monkeypatch.setattr("ingest.pipeline.ingest", lambda *_, **__: told.append(signal.getsignal(signal.SIGHUP)))
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    try:
        run("ingest", "-", stdin="{}", exits=None)
    finally:
        signal.signal(signal.SIGHUP, before)
    assert told == [signal.SIG_IGN]


def test_a_file_of_the_name_of_a_command_is_given_after_the_word_files(home: Path, run: Run) -> None:
    write_rows(home / "refresh", DOCUMENTS)
    run("ingest", "files", "refresh", "--format", "jsonl")


def test_languages_that_cannot_be_told_are_reported(home: Path, run: Run) -> None:
    rows = [{"id": "1", "text": "Wasser für die Pflanzen im Garten"}, {"id": "2", "text": "xq"}]
    result = run("ingest", str(write_rows(home / "in.jsonl", rows)), "--lang", "auto")
    assert "(de 1, und 1)" in result.stdout
    assert "1 have no detected language" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["in.jsonl", "--embeddings", "nowhere"], "`sinkrank embeddings prepare in.jsonl --output nowhere`"),
        (["in.jsonl", "--rejects", "no/such/folder.jsonl"], "name another file with --rejects"),
        (["-", "-"], "can be read only once"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_1(home: Path, run: Run, arguments: list[str], message: str) -> None:
    write_rows(home / "in.jsonl", DOCUMENTS)
    assert_one_line(run("ingest", *arguments, exits=1), message)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["in.jsonl", "--lang", "fx"], "'fx' is not a language code"),
        (["in.jsonl", "--index", "_bad"], "cannot be an index"),
        (["in.jsonl", "--format", "xml"], "give one of jsonl, csv, tsv"),
        (["in.jsonl", "--types", "year=number"], "give one of int, float, bool, list"),
        (["--from-index", "localhost"], "by URL/INDEX"),
    ],
)
def test_a_wrong_flag_is_one_line_and_exit_code_2(home: Path, run: Run, arguments: list[str], message: str) -> None:
    write_rows(home / "in.jsonl", DOCUMENTS)
    assert_one_line(run("ingest", *arguments, exits=2), message)


@pytest.fixture
def engine_options(engine: Engine) -> Iterator[list[str]]:
    """The options that name an index of this test on a real node; it is dropped at the end."""
    address, index = f"{engine.distribution}://{engine.url.removeprefix('http://')}", f"cli-{os.getpid()}"
    yield ["--store", address, "--index", index]
    store = open_store(address)
    with suppress(NotFound):
        store.drop(index)
    store.close()


@pytest.mark.engine
def test_an_engine_takes_the_place_of_the_default_store(home: Path, run: Run, engine_options: list[str]) -> None:
    write_rows(home / "in.jsonl", [*DOCUMENTS, "{broken"])
    for _ in range(2):
        assert "4 of 5 documents" in run("ingest", "in.jsonl", *engine_options, exits=1).stdout

    options = [*engine_options, "--lang", "en", "--method", "emd", "--json"]
    hits = json.loads(run("search", "cat", *options).stdout)["hits"]
    assert [hit["id"] for hit in hits] == ["fr/chat", "fr/animaux", "en/car", "fr/pain"]
    filtered = json.loads(run("search", "cat", *options, "--filter", "year>=2001").stdout)["hits"]
    assert {hit["id"] for hit in filtered} == {"fr/chat", "fr/pain"}
    explained = json.loads(run("explain", "cat", "fr/chat", *options).stdout)
    assert explained["distance"] == pytest.approx(TRANSLATION_COST, abs=1e-6)
    checks = json.loads(run("doctor", "--quick", "--json", *engine_options).stdout)
    assert checks["ok"] is True


@pytest.mark.engine
@pytest.mark.parametrize("flags", [[], ["--rebuild"]])
def test_an_index_of_another_program_is_refused_and_left_alone(
    home: Path, run: Run, engine: Engine, make_foreign: MakeForeign, flags: list[str]
) -> None:
    index = make_foreign({"text": {"type": "text"}}, [{"text": "not ours"}])
    write_rows(home / "in.jsonl", DOCUMENTS)
    where = ["--store", f"{engine.distribution}://{engine.url.removeprefix('http://')}", "--index", index]
    assert "was not made by Sinkrank" in run("ingest", "in.jsonl", *flags, *where, exits=1).stderr
    assert urllib3.request("GET", f"{engine.url}/{index}/_count", timeout=30).json()["count"] == 1


@pytest.mark.parametrize("arguments", [["in.jsonl", "--from-index", "http://old:9200/pages"], []])
def test_no_file_or_a_file_and_an_index_is_wrong_use(home: Path, run: Run, arguments: list[str]) -> None:
    write_rows(home / "in.jsonl", DOCUMENTS)
    run("ingest", *arguments, exits=2)


@pytest.mark.parametrize(
    ("source", "option", "message"),
    [
        (["in.jsonl"], ["--query", '{"term": {"lang": "fr"}}'], "--query: it needs --from-index"),
        *(
            (["--from-index", "http://old:9200/pages"], option, f"{option[0]}: it is for files")
            for option in (["--format", "csv"], ["--columns", "id,text"], ["--types", "year=int"])
        ),
    ],
)
def test_an_option_of_the_other_kind_of_source_is_wrong_use(
    home: Path, run: Run, source: list[str], option: list[str], message: str
) -> None:
    write_rows(home / "in.jsonl", DOCUMENTS)
    shown = " ".join(run("ingest", *source, *option, exits=2).stderr.split())
    assert f"Invalid value for {message}" in shown


def test_what_is_left_out_of_a_folder_is_told(run: Run, home: Path) -> None:
    (home / "docs").mkdir()
    (home / "docs" / "cat.md").write_text("# A cat\n\nThe cat.", encoding="utf-8")
    (home / "docs" / "cat.png").write_bytes(b"PNG")
    (home / "docs" / "cats.jsonl").write_text("{}", encoding="utf-8")
    result = run("ingest", "docs", "--lang", "en")
    assert "ignored in the folder docs: 1 .png, 1 .jsonl" in " ".join(result.stderr.split())
    counted = json.loads(run("ingest", "docs", "--lang", "en", "--json").stdout)
    assert counted["left_out"] == {"docs": {".png": 1, ".jsonl": 1}}
    shown = json.loads(run("search", "cat", "--json").stdout)["hits"]
    assert [(hit["id"], hit["title"], hit["text"]) for hit in shown] == [("cat.md", "A cat", "The cat.")]


def test_the_reason_of_the_first_reject_is_shown(run: Run, home: Path) -> None:
    write_rows(home / "rows.jsonl", [{"id": "1", "text": "cat"}, {"id": "2"}])
    shown = run("ingest", "rows.jsonl", exits=1).stdout
    assert "2 rejected, with their reasons in rows.jsonl.rejects" in shown
    assert "the first of them: rows.jsonl, line 1: no field 'language'; add it, or give" in shown


def test_the_first_reject_is_shown_if_the_reject_file_cannot_be_read_again(run: Run, home: Path) -> None:
    write_rows(home / "rows.jsonl", [{"id": "1"}])
    shown = run("ingest", "rows.jsonl", "--lang", "en", "--rejects", os.devnull, exits=1).stdout
    assert f"1 rejected, with their reasons in {os.devnull}\n" in shown
    assert "the first of them: rows.jsonl, line 1: document" in shown


def test_the_first_reject_of_a_shared_reject_file_is_that_of_the_run(run: Run, home: Path) -> None:
    write_rows(home / "rows.jsonl", [{"id": "1"}])
    with RejectFile(home / "shared.rejects", []) as of_another_run:
        of_another_run.add(Row("other.jsonl", 7, b"{}"), None, "bad")
        shown = run("ingest", "rows.jsonl", "--lang", "en", "--rejects", "shared.rejects", exits=1).stdout
    assert "the first of them: rows.jsonl, line 1: document" in shown


def test_an_input_without_a_document_is_told_of(run: Run, home: Path) -> None:
    (home / "empty.jsonl").write_text("", encoding="utf-8")
    assert "no document came: is the input empty?" in run("ingest", "empty.jsonl", "--lang", "en").stdout
