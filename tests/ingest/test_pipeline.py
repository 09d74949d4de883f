"""Files come into an index whole: nothing lost, nothing twice, and weights that stay."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ingest.files import open_sources
from ingest.pipeline import Options, ingest
from ingest.summary import IngestSummary
from reranker.base.errors import (
    BadInput,
    NotFound,
    StoreUnavailable,
    VersionMismatch,
)
from reranker.embeddings import Embeddings
from reranker.stores.base.description import IndexDescription
from reranker.stores.base.protocol import WritableStore
from reranker.stores.base.writing import PreparedDocument, WriteResult
from tests.ingest.records import ENGLISH, documents, read
from tests.ingest.runs import Pages, Wrapped, source
from tests.stores.samples import make_index
from tests.support.commands import write_rows
from tests.support.tiny import write_words


@pytest.fixture
def pages(tmp_path: Path, embedded: WritableStore, embeddings: Embeddings) -> Pages:
    return Pages(embedded, "pages", embeddings, tmp_path)


def document(doc_id: str, text: str, language: str = "fr") -> dict[str, Any]:
    return {"id": doc_id, "language": language, "text": text}


def read_rejects(path: Path | None) -> list[dict[str, Any]]:
    assert path is not None
    return [json.loads(line) for line in path.read_text().splitlines()]


def n_indexed(pages: Pages, rejects: Path, *paths: Path, store: Any = None) -> int:
    with open_sources(list(map(str, paths))) as sources:
        options = Options(ENGLISH, rejects=rejects, n_workers=1)
        return ingest(sources, store or pages.store, "pages", pages.embeddings, options).indexed


def frequencies(store: WritableStore, language: str) -> tuple[int, dict[int, int]]:
    """Documents of a language, and in how many of them each term id stands."""
    found = store.open("pages").idf().languages[language]
    return found.n_documents, dict(zip(found.term_ids.tolist(), found.counts.tolist(), strict=True))


CHAT, CHIEN, EAU = 5, 6, 7  # term ids of `tests.support.tiny`


def test_documents_come_into_a_new_index_with_their_document_frequencies(pages: Pages) -> None:
    rows = [
        document("1", "chat chat chien"),
        document("2", "chat"),
        document("3", "cat", "en"),
        document("4", "xyz", "sv"),
    ]

    summary = pages.ingest(*rows)

    assert replace(summary, seconds=0) == IngestSummary(
        index="pages",
        read=4,
        indexed=4,
        rejected=0,
        without_known_words=1,
        languages={"en": 1, "fr": 2, "sv": 1},
        seconds=0,
        rejects=None,
        version="pages-000001",
    )
    assert pages.store.open("pages").count() == 4
    assert pages.store.open("pages").description == IndexDescription(pages.embeddings.version, 2)
    assert frequencies(pages.store, "fr") == (2, {CHAT: 2, CHIEN: 1})
    assert frequencies(pages.store, "en") == (1, {0: 1})
    assert set(pages.store.open("pages").idf().languages) == {"en", "fr"}
    assert pages.store.open("pages").fetch("1").document.text == "chat chat chien"
    assert list(pages.folder.glob("*.rejects")) == []


def test_running_it_again_changes_nothing(pages: Pages) -> None:
    rows = [document("1", "chat"), {"language": "fr", "text": "chien"}]
    pages.ingest(*rows)
    before = pages.store.open("pages").idf().version

    again = pages.ingest(*rows)

    assert (again.indexed, again.rejected) == (2, 0)
    assert pages.store.open("pages").count() == 2
    assert pages.store.open("pages").idf().version == before


def test_a_language_that_comes_later_gets_its_own_idf_and_the_old_ones_stay(pages: Pages) -> None:
    pages.ingest(document("1", "chat"))

    later = [document("2", "chat eau"), document("3", "dog", "en"), document("4", "dog car", "en")]
    pages.ingest(*later)

    assert pages.store.open("pages").count() == 4
    assert frequencies(pages.store, "fr") == (1, {CHAT: 1})
    assert frequencies(pages.store, "en") == (2, {1: 2, 4: 1})


def test_a_run_that_adds_meanwhile_loses_no_frequencies_and_no_sample(pages: Pages) -> None:
    pages.ingest(document("0", "xyz", "sv"))  # has no embeddings
    other = replace(pages, folder=pages.folder / "other")
    other.folder.mkdir()

    class Meanwhile(Wrapped):
        def save_idf(self, *given: Any) -> Any:
            other.ingest(document("1", "cat", "en"), document("2", "chat chien"), document("3", "chat"))
            return self._store.save_idf(*given)

    pages.ingest(document("4", "eau"), document("5", "chat"), store=Meanwhile(pages.store))

    assert frequencies(pages.store, "en") == (1, {0: 1})
    # Of the run that was the first to save some. The documents of both runs are weighted with them.
    assert frequencies(pages.store, "fr") == (2, {CHAT: 2, CHIEN: 1})
    idf = pages.store.open("pages").idf()
    versions = {language: idf.weights_version(language) for language in idf.languages}
    assert list(pages.store.bags("pages", versions)) == []
    assert {language: len(queries) for language, queries in pages.sample().languages.items()} == {"en": 1, "fr": 4}


def test_a_refresh_keeps_the_frequencies_of_a_language_that_came_meanwhile(pages: Pages) -> None:
    pages.ingest(document("1", "chat"))
    pages.ingest(document("2", "eau"))

    class Meanwhile(Wrapped):
        def save_idf(self, *given: Any) -> Any:
            pages.ingest(document("3", "cat", "en"))
            return self._store.save_idf(*given)

    replace(pages, store=Meanwhile(pages.store)).refresh()

    assert frequencies(pages.store, "fr") == (2, {CHAT: 1, EAU: 1})
    assert frequencies(pages.store, "en") == (1, {0: 1})


def test_a_rebuild_leaves_only_the_new_documents_and_counts_anew(pages: Pages) -> None:
    pages.ingest(document("1", "chat"), document("x", "cat", "en"))

    pages.ingest(document("2", "eau"), rebuild=True)

    assert pages.store.open("pages").count() == 1
    assert frequencies(pages.store, "fr") == (1, {EAU: 1})
    assert set(pages.store.open("pages").idf().languages) == {"fr"}


def test_a_rebuild_with_no_document_leaves_the_index_as_it_was(pages: Pages) -> None:
    pages.ingest(document("1", "chat"))

    summary = pages.ingest("broken", rebuild=True)

    assert (summary.read, summary.rejected, summary.indexed) == (1, 1, 0)
    assert pages.store.open("pages").fetch("1").document.text == "chat"


def test_no_index_is_made_for_input_without_a_document(pages: Pages) -> None:
    summary = pages.ingest("broken")
    assert summary.rejected == 1
    with pytest.raises(NotFound):
        pages.store.open("pages")


def test_rejected_rows_are_kept_whole_with_file_line_and_reason(pages: Pages) -> None:
    bad_bytes = b'{"id": "3", "language": "fr", "text": "caf\xe9"}'
    first = source(
        pages.folder / "in.jsonl",
        document("1", "chat"),
        "{broken",
        document("2", "chat", "fx"),
        bad_bytes.decode(errors="surrogateescape"),
    )
    second = source(pages.folder / "second.jsonl", document("1", "eau"))

    summary = ingest([first, second], pages.store, "pages", pages.embeddings)

    assert (summary.read, summary.indexed, summary.rejected) == (5, 1, 4)
    assert summary.rejects == pages.folder / "in.jsonl.rejects"
    broken, language, undecoded, repeated = read_rejects(summary.rejects)
    assert broken["file"] == first.name
    assert (broken["line"], broken["id"], broken["raw"]) == (2, None, "{broken")
    assert "not JSON" in broken["reason"]
    assert (language["line"], language["id"]) == (3, "2")
    assert json.loads(language["raw"]) == document("2", "chat", "fx")
    assert "not UTF-8" in undecoded["reason"]
    assert undecoded["raw"] == bad_bytes.decode(errors="backslashreplace")
    assert (repeated["file"], repeated["line"], repeated["id"]) == (second.name, 1, "1")
    assert pages.store.open("pages").fetch("1").document.text == "chat"


def test_a_document_that_the_store_refuses_is_rejected_with_the_stores_reason(pages: Pages) -> None:
    refusing = Refusing(pages.store, "2")
    rows = [document("1", "chat"), document("2", "eau"), document("3", "pain")]

    summary = pages.ingest(*rows, store=refusing, rejects=pages.folder / "r.jsonl")

    assert (summary.indexed, summary.rejected) == (2, 1)
    (rejected,) = read_rejects(pages.folder / "r.jsonl")
    assert (rejected["line"], rejected["id"], rejected["reason"]) == (2, "2", "mapper_parsing_exception: no")


@pytest.mark.parametrize(
    ("name", "page"),
    [
        ("index.md", "# Chat\n\n{% raw %}\n\nchat"),
        ("index.md", "{% raw %}\n\nchat"),
        ("index.txt", '{"a": 1}\n\nchat'),
        ("index.html", "<title>Chat</title>{<p>chat"),
    ],
)
def test_a_rejected_page_can_be_corrected_and_ingested_however_often_it_is_rejected(
    pages: Pages, name: str, page: str
) -> None:
    one, two = pages.folder / "one" / name, pages.folder / "two" / name
    for path in (one, two):
        path.parent.mkdir()
        path.write_text(page)
    first, second, third = (pages.folder / f"{number}.jsonl" for number in (1, 2, 3))

    assert n_indexed(pages, first, one.parent, two.parent) == 1  # both have the same id
    assert n_indexed(pages, second, first, store=Refusing(pages.store, name)) == 0
    (before,), (rejected,) = read_rejects(first), read_rejects(second)
    assert rejected == {**before, "reason": "mapper_parsing_exception: no"}
    assert (rejected["file"], rejected["raw"]) == (str(two), page)

    write_rows(second, [{**rejected, "values": {**rejected["values"], "id": "corrected"}}])
    assert n_indexed(pages, third, second) == 1
    expected = replace(documents(read(one))[0], doc_id="corrected")
    assert pages.store.open("pages").fetch("corrected").document == expected


def test_a_page_that_could_not_be_read_can_be_corrected_as_it_is_written_or_given_a_text(pages: Pages) -> None:
    (pages.folder / "page").write_text("---\na: !!bool x\n---\n# Chat\n\nchat")
    rejects, again = pages.folder / "r.jsonl", pages.folder / "again.jsonl"
    with open_sources([str(pages.folder / "page")], "markdown") as sources:
        assert ingest(sources, pages.store, "pages", pages.embeddings, Options(ENGLISH, rejects=rejects)).indexed == 0
    (row,) = read_rejects(rejects)
    assert "the front matter cannot be read" in row["reason"]

    assert n_indexed(pages, again, rejects) == 0
    assert read_rejects(again) == [row]
    write_rows(rejects, [{**row, "raw": row["raw"].replace("!!bool x", "yes")}])
    assert n_indexed(pages, again, rejects) == 1
    found = pages.store.open("pages").fetch("page").document
    assert (found.title, found.text, found.metadata) == ("Chat", "chat", {"a": True})
    write_rows(rejects, [{**row, "values": {**row["values"], "text": "eau"}}])
    assert n_indexed(pages, again, rejects) == 1
    assert pages.store.open("pages").fetch("page").document.text == "eau"


def test_a_row_of_csv_that_begins_with_a_brace_can_be_corrected_and_ingested(pages: Pages) -> None:
    path, rejects = pages.folder / "in.csv", pages.folder / "r.jsonl"
    path.write_text("text,language,id\n{chat},fx,1\n")
    assert n_indexed(pages, rejects, path) == 0
    (row,) = read_rejects(rejects)
    assert row["values"] == {"text": "{chat}", "language": "fx", "id": "1"}
    write_rows(rejects, [{**row, "values": {**row["values"], "language": "fr"}}])
    assert n_indexed(pages, pages.folder / "again.jsonl", rejects) == 1
    assert pages.store.open("pages").fetch("1").document.text == "{chat}"


def test_a_row_of_csv_that_could_not_be_read_is_ingested_once_its_empty_values_are_filled(pages: Pages) -> None:
    path, rejects, again = (pages.folder / name for name in ("in.csv", "r.jsonl", "again.jsonl"))
    path.write_text("id,language,text\n1,fr,chat, chien\n")
    assert n_indexed(pages, rejects, path) == 0
    (row,) = read_rejects(rejects)
    assert row["reason"] == "the row has 4 columns, the header 3; check separators and quotes"
    assert (row["raw"], row["values"]) == ("1,fr,chat, chien", {"id": "", "language": "", "text": ""})

    assert n_indexed(pages, again, rejects) == 0
    assert read_rejects(again) == [row]
    write_rows(rejects, [{**row, "values": {"id": "1", "language": "fr", "text": "chat, chien"}}])
    assert n_indexed(pages, again, rejects) == 1
    assert pages.store.open("pages").fetch("1").document.text == "chat, chien"


def test_a_page_whose_file_could_not_be_read_keeps_the_reason_when_its_reject_is_ingested(pages: Pages) -> None:
    page, rejects, again = (pages.folder / name for name in ("a.md.gz", "r.jsonl", "again.jsonl"))
    page.write_bytes(gzip.compress(b"# Chat")[:-4])
    assert n_indexed(pages, rejects, page) == 0
    assert n_indexed(pages, again, rejects) == 0
    assert read_rejects(again) == read_rejects(rejects)
    assert "the file cannot be read" in read_rejects(again)[0]["reason"]


def test_a_page_that_is_not_utf_8_is_rejected_until_its_bytes_are_corrected(pages: Pages) -> None:
    page, rejects, again = (pages.folder / name for name in ("a.txt", "r.jsonl", "again.jsonl"))
    page.write_bytes("Le café\n\nun chat".encode("latin-1"))
    assert n_indexed(pages, rejects, page) == 0
    (row,) = read_rejects(rejects)
    assert row["raw"] == "Le caf\\xe9\n\nun chat"

    assert n_indexed(pages, again, rejects) == 0
    assert read_rejects(again) == [row]
    write_rows(rejects, [{**row, "raw": row["raw"].replace("\\xe9", "é")}])
    assert n_indexed(pages, again, rejects) == 1
    assert pages.store.open("pages").fetch("a.txt").document.title == "Le café"


def test_a_store_that_fails_midway_is_reported_with_what_was_not_confirmed(pages: Pages) -> None:
    rows = [document(str(n), "chat") for n in range(10)]

    summary = pages.ingest(*rows, store=Failing(pages.store, after=4))

    assert summary.indexed == 4
    assert summary.failure == "the node went away"
    assert summary.unconfirmed == 2
    assert summary.read == summary.indexed + summary.rejected + summary.unconfirmed
    assert pages.ingest(*rows).indexed == 10
    assert pages.store.open("pages").count() == 10


def test_a_document_that_the_store_says_nothing_of_is_a_failure(pages: Pages) -> None:
    summary = pages.ingest(document("1", "chat"), store=Silent(pages.store))
    assert (summary.indexed, summary.unconfirmed) == (0, 1)
    assert summary.failure is not None


def test_an_index_of_other_embeddings_is_refused_but_can_be_rebuilt(pages: Pages) -> None:
    make_index(pages.store, "pages", IndexDescription("of other embeddings", 2))

    with pytest.raises(VersionMismatch, match="--rebuild"):
        pages.ingest(document("1", "chat"))
    assert pages.store.open("pages").count() == 0

    assert pages.ingest(document("1", "chat"), rebuild=True).indexed == 1
    assert pages.store.open("pages").description.embeddings_version == pages.embeddings.version


def test_the_reject_file_must_be_writable_and_no_input(pages: Pages) -> None:
    for path in (pages.folder / "absent" / "r.jsonl", pages.folder, pages.folder / "in.jsonl"):
        with pytest.raises(BadInput, match="--rejects"):
            pages.ingest(document("1", "chat"), rejects=path)
    assert json.loads((pages.folder / "in.jsonl").read_text()) == document("1", "chat")


def test_words_are_not_counted_again_where_every_language_has_its_idf(tmp_path: Path, embedded: WritableStore) -> None:
    french = write_words(tmp_path / "one", {"fr": ["chat"]})
    sources = [source(tmp_path / "in.jsonl", *[document(str(n), "chat") for n in range(100)])]
    steps: list[tuple[int, int | None, str]] = []

    ingest(sources, embedded, "pages", french, progress=lambda *step: steps.append(step))
    assert [step for step in steps if step[2] == "indexing"] == [(50, 100, "indexing"), *[(100, 100, "indexing")] * 2]
    assert "counting words" in {step[2] for step in steps}

    steps.clear()
    ingest(sources, embedded, "pages", french, progress=lambda *step: steps.append(step))
    assert {step[2] for step in steps} == {"indexing"}


def test_a_rebuild_that_has_lost_a_document_does_not_serve(pages: Pages) -> None:
    pages.ingest(document("old", "chat"))
    rows = [document(str(n), "chat") for n in range(10)]

    summary = pages.ingest(*rows, store=Losing(pages.store), rebuild=True)

    assert "pages-000002, because it holds 9 documents and 10 were confirmed" in str(summary.failure)
    assert "--to pages-000002" in str(summary.failure)
    assert [version.name for version in pages.store.versions("pages") if version.is_serving] == ["pages-000001"]
    again = pages.ingest(*rows, rebuild=True)
    assert (again.failure, again.previous_version) == (None, "pages-000001")


def test_a_rebuild_that_an_older_sinkrank_left_unfinished_is_begun_again(
    pages: Pages, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Broken(Wrapped):
        def refresh(self, index: str) -> None:
            raise StoreUnavailable("the disk is full")

    pages.ingest(document("old", "chat"))
    given = [source(pages.folder / "in.jsonl", document("new", "chat"))]
    with monkeypatch.context() as older:
        older.setattr("ingest.pipeline.IndexDescription", partial(IndexDescription, mapping_version=1))
        failed = ingest(given, Broken(pages.store), "pages", pages.embeddings, Options(rebuild=True))
    assert failed.failure == "the disk is full"

    assert ingest(given, pages.store, "pages", pages.embeddings, Options(rebuild=True)).is_whole
    assert pages.store.open("pages").description == IndexDescription(pages.embeddings.version, pages.embeddings.dim)


def test_a_run_whose_version_is_replaced_meanwhile_fails_and_brings_its_documents_in_when_it_is_given_again(
    pages: Pages,
) -> None:
    pages.ingest(document("old", "chat"))
    other = replace(pages, folder=pages.folder / "other")
    other.folder.mkdir()

    class Meanwhile(Wrapped):
        def write_prepared(self, *given: Any) -> Any:
            assert other.ingest(document("new", "eau"), rebuild=True).is_whole
            return self._store.write_prepared(*given)

    summary = pages.ingest(document("added", "chat"), store=Meanwhile(pages.store))

    assert not summary.is_whole
    assert "pages-000001 is no longer the version that is searched" in str(summary.failure)
    assert pages.ingest(document("added", "chat")).is_whole
    assert {one.doc_id for one in pages.store.bags("pages")} == {"new", "added"}


class Losing(Wrapped):
    """Confirms a document that it does not write."""

    def write_prepared(self, index: str, documents: Iterable[PreparedDocument]) -> Iterator[WriteResult]:
        for document in documents:
            if document.doc_id == "7":
                yield WriteResult("7")
            else:
                yield from self._store.write_prepared(index, [document])


class Refusing(Wrapped):
    """Refuses one document."""

    def __init__(self, store: WritableStore, doc_id: str) -> None:
        super().__init__(store)
        self._doc_id = doc_id

    def write_prepared(self, index: str, documents: Iterable[PreparedDocument]) -> Iterator[WriteResult]:
        for document in documents:
            if document.doc_id == self._doc_id:
                yield WriteResult(self._doc_id, "mapper_parsing_exception: no")
            else:
                yield from self._store.write_prepared(index, [document])


class Failing(Wrapped):
    """Reads two documents ahead, and is gone after some."""

    def __init__(self, store: WritableStore, after: int) -> None:
        super().__init__(store)
        self._after = after

    def write_prepared(self, index: str, documents: Iterable[PreparedDocument]) -> Iterator[WriteResult]:
        stream = iter(documents)
        for _ in range(0, self._after, 2):
            yield from self._store.write_prepared(index, [next(stream), next(stream)])
        next(stream), next(stream)
        raise StoreUnavailable("the node went away")


class Silent(Wrapped):
    """Reads all and answers nothing."""

    def write_prepared(self, index: str, documents: Iterable[PreparedDocument]) -> Iterator[WriteResult]:
        list(documents)
        return iter(())
