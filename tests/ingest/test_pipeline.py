"""Files come into an index whole: nothing lost, nothing twice, and weights that stay."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ingest.documents import Layout
from ingest.files import Source
from ingest.pipeline import Options, ingest
from ingest.summary import Summary
from reranker.base.errors import (
    BadInput,
    NotFound,
    NotOurIndex,
    StoreUnavailable,
    UnknownLanguage,
    VersionMismatch,
)
from reranker.embeddings import Embeddings
from reranker.stores.base.description import IndexDescription
from reranker.stores.base.writing import Writable, WriteResult
from reranker.stores.embedded.store import EmbeddedStore
from tests.ingest.runs import Wrapped, write_rows
from tests.stores.samples import make_index
from tests.tiny import write_words


def source(tmp_path: Path, *rows: dict[str, Any] | str, name: str = "in.jsonl") -> Source:
    path = write_rows(tmp_path / name, rows)
    return Source(path, str(path), "jsonl")


def document(doc_id: str, text: str, language: str = "fr") -> dict[str, Any]:
    return {"id": doc_id, "language": language, "text": text}


def read_rejects(path: Path | None) -> list[dict[str, Any]]:
    assert path is not None
    return [json.loads(line) for line in path.read_text().splitlines()]


def frequencies(store: EmbeddedStore, language: str) -> tuple[int, dict[int, int]]:
    """Documents of a language, and in how many of them each term id stands."""
    found = store.idf("pages").languages[language]
    return found.n_documents, dict(zip(found.term_ids.tolist(), found.counts.tolist(), strict=True))


CHAT, CHIEN, EAU = 5, 6, 7  # term ids of `tests.tiny`


def test_documents_come_into_a_new_index_with_their_document_frequencies(
    tmp_path: Path, embedded: EmbeddedStore, embeddings: Embeddings
) -> None:
    rows = [
        document("1", "chat chat chien"),
        document("2", "chat"),
        document("3", "cat", "en"),
        document("4", "xyz", "sv"),
    ]

    summary = ingest([source(tmp_path, *rows)], embedded, "pages", embeddings)

    assert replace(summary, seconds=0) == Summary(
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
    assert embedded.count("pages") == 4
    assert embedded.describe("pages") == IndexDescription(embeddings.version, 2)
    assert frequencies(embedded, "fr") == (2, {CHAT: 2, CHIEN: 1})
    assert frequencies(embedded, "en") == (1, {0: 1})
    assert set(embedded.idf("pages").languages) == {"en", "fr"}
    assert embedded.fetch("pages", "1").document.text == "chat chat chien"
    assert list(tmp_path.glob("*.rejects.jsonl")) == []


def test_running_it_again_changes_nothing(tmp_path: Path, embedded: EmbeddedStore, embeddings: Embeddings) -> None:
    rows = [document("1", "chat"), {"language": "fr", "text": "chien"}]
    sources = [source(tmp_path, *rows)]
    ingest(sources, embedded, "pages", embeddings)
    before = embedded.idf("pages").version

    again = ingest(sources, embedded, "pages", embeddings)

    assert (again.indexed, again.rejected) == (2, 0)
    assert embedded.count("pages") == 2
    assert embedded.idf("pages").version == before


def test_a_language_that_comes_later_gets_its_own_idf_and_the_old_ones_stay(
    tmp_path: Path, embedded: EmbeddedStore, embeddings: Embeddings
) -> None:
    ingest([source(tmp_path, document("1", "chat"))], embedded, "pages", embeddings)

    later = [document("2", "chat eau"), document("3", "dog", "en"), document("4", "dog car", "en")]
    ingest([source(tmp_path, *later)], embedded, "pages", embeddings)

    assert embedded.count("pages") == 4
    assert frequencies(embedded, "fr") == (1, {CHAT: 1})
    assert frequencies(embedded, "en") == (2, {1: 2, 4: 1})


def test_a_rebuild_leaves_only_the_new_documents_and_counts_anew(
    tmp_path: Path, embedded: EmbeddedStore, embeddings: Embeddings
) -> None:
    ingest([source(tmp_path, document("1", "chat"), document("x", "cat", "en"))], embedded, "pages", embeddings)

    ingest([source(tmp_path, document("2", "eau"))], embedded, "pages", embeddings, Options(rebuild=True))

    assert embedded.count("pages") == 1
    assert frequencies(embedded, "fr") == (1, {EAU: 1})
    assert set(embedded.idf("pages").languages) == {"fr"}


def test_a_rebuild_with_no_document_leaves_the_index_as_it_was(
    tmp_path: Path, embedded: EmbeddedStore, embeddings: Embeddings
) -> None:
    ingest([source(tmp_path, document("1", "chat"))], embedded, "pages", embeddings)

    summary = ingest([source(tmp_path, "broken")], embedded, "pages", embeddings, Options(rebuild=True))

    assert (summary.read, summary.rejected, summary.indexed) == (1, 1, 0)
    assert embedded.fetch("pages", "1").document.text == "chat"


def test_no_index_is_made_for_input_without_a_document(
    tmp_path: Path, embedded: EmbeddedStore, embeddings: Embeddings
) -> None:
    summary = ingest([source(tmp_path, "broken")], embedded, "pages", embeddings)
    assert summary.rejected == 1
    with pytest.raises(NotFound):
        embedded.describe("pages")


def test_rejected_rows_are_kept_whole_with_file_line_and_reason(
    tmp_path: Path, embedded: EmbeddedStore, embeddings: Embeddings
) -> None:
    bad_bytes = b'{"id": "3", "language": "fr", "text": "caf\xe9"}'
    first = source(
        tmp_path,
        document("1", "chat"),
        "{broken",
        document("2", "chat", "fx"),
        bad_bytes.decode(errors="surrogateescape"),
    )
    second = source(tmp_path, document("1", "eau"), name="second.jsonl")

    summary = ingest([first, second], embedded, "pages", embeddings)

    assert (summary.read, summary.indexed, summary.rejected) == (5, 1, 4)
    assert summary.rejects == tmp_path / "in.jsonl.rejects.jsonl"
    broken, language, undecoded, repeated = read_rejects(summary.rejects)
    assert broken["file"] == first.name
    assert (broken["line"], broken["id"], broken["raw"]) == (2, None, "{broken")
    assert "not JSON" in broken["reason"]
    assert (language["line"], language["id"]) == (3, "2")
    assert json.loads(language["raw"]) == document("2", "chat", "fx")
    assert base64.b64decode(undecoded["raw_base64"]) == bad_bytes
    assert (repeated["file"], repeated["line"], repeated["id"]) == (second.name, 1, "1")
    assert embedded.fetch("pages", "1").document.text == "chat"


def test_rejected_rows_once_mended_come_in(tmp_path: Path, embedded: EmbeddedStore, embeddings: Embeddings) -> None:
    summary = ingest([source(tmp_path, document("1", "chat", "fx"))], embedded, "pages", embeddings)
    mended = [row["raw"].replace("fx", "fr") for row in read_rejects(summary.rejects)]

    assert ingest([source(tmp_path, *mended)], embedded, "pages", embeddings).indexed == 1


def test_a_document_that_the_store_refuses_is_rejected_with_the_stores_reason(
    tmp_path: Path, embedded: EmbeddedStore, embeddings: Embeddings
) -> None:
    refusing = Refusing(embedded, "2")
    rows = [document("1", "chat"), document("2", "eau"), document("3", "pain")]

    summary = ingest([source(tmp_path, *rows)], refusing, "pages", embeddings, Options(rejects=tmp_path / "r.jsonl"))

    assert (summary.indexed, summary.rejected) == (2, 1)
    (rejected,) = read_rejects(tmp_path / "r.jsonl")
    assert (rejected["line"], rejected["id"], rejected["reason"]) == (2, "2", "mapper_parsing_exception: no")


def test_a_store_that_fails_midway_is_reported_with_what_was_not_confirmed(
    tmp_path: Path, embedded: EmbeddedStore, embeddings: Embeddings
) -> None:
    rows = [document(str(n), "chat") for n in range(10)]
    sources = [source(tmp_path, *rows)]

    summary = ingest(sources, Failing(embedded, after=4), "pages", embeddings)

    assert summary.indexed == 4
    assert summary.failure == "the node went away"
    assert summary.unconfirmed == 2
    assert summary.first_unconfirmed == f"{sources[0].name}:5"
    assert summary.read == summary.indexed + summary.rejected + summary.unconfirmed
    assert ingest(sources, embedded, "pages", embeddings).indexed == 10
    assert embedded.count("pages") == 10


def test_a_document_that_the_store_says_nothing_of_is_a_failure(
    tmp_path: Path, embedded: EmbeddedStore, embeddings: Embeddings
) -> None:
    summary = ingest([source(tmp_path, document("1", "chat"))], Silent(embedded), "pages", embeddings)
    assert (summary.indexed, summary.unconfirmed) == (0, 1)
    assert summary.failure is not None


def test_an_index_of_other_embeddings_is_refused_but_can_be_rebuilt(
    tmp_path: Path, embedded: EmbeddedStore, embeddings: Embeddings
) -> None:
    make_index(embedded, "pages", IndexDescription("of other embeddings", 2))
    sources = [source(tmp_path, document("1", "chat"))]

    with pytest.raises(VersionMismatch, match="--rebuild"):
        ingest(sources, embedded, "pages", embeddings)
    assert embedded.count("pages") == 0

    assert ingest(sources, embedded, "pages", embeddings, Options(rebuild=True)).indexed == 1
    assert embedded.describe("pages").embeddings_version == embeddings.version


@pytest.mark.parametrize("rebuild", [False, True])
def test_an_index_that_is_not_ours_is_left_alone(
    tmp_path: Path, embedded: EmbeddedStore, embeddings: Embeddings, rebuild: bool
) -> None:
    foreign = Foreign(embedded)
    with pytest.raises(NotOurIndex, match="not made by Sinkrank"):
        ingest([source(tmp_path, document("1", "chat"))], foreign, "pages", embeddings, Options(rebuild=rebuild))
    assert foreign.dropped == []


@pytest.mark.parametrize("index", ["_all", "Pages", "a/b", ""])
def test_a_name_that_cannot_be_an_index_is_refused(
    tmp_path: Path, embedded: EmbeddedStore, embeddings: Embeddings, index: str
) -> None:
    with pytest.raises(BadInput, match="cannot be an index"):
        ingest([source(tmp_path, document("1", "chat"))], embedded, index, embeddings)


def test_a_wrong_default_language_is_refused_before_anything_is_read(
    tmp_path: Path, embedded: EmbeddedStore, embeddings: Embeddings
) -> None:
    with pytest.raises(UnknownLanguage, match="'fx'"):
        ingest([source(tmp_path)], embedded, "pages", embeddings, Options(Layout(default_language="fx")))


def test_the_reject_file_must_be_writable_and_no_input(
    tmp_path: Path, embedded: EmbeddedStore, embeddings: Embeddings
) -> None:
    sources = [source(tmp_path, document("1", "chat"))]
    for path in (tmp_path / "absent" / "r.jsonl", tmp_path, sources[0].path):
        with pytest.raises(BadInput, match="--rejects"):
            ingest(sources, embedded, "pages", embeddings, Options(rejects=path))
    assert json.loads(sources[0].path.read_text()) == document("1", "chat")


def test_words_are_not_counted_again_where_every_language_has_its_idf(tmp_path: Path, embedded: EmbeddedStore) -> None:
    french = write_words(tmp_path / "one", {"fr": ["chat"]})
    sources = [source(tmp_path, *[document(str(n), "chat") for n in range(100)])]
    steps: list[tuple[int, int | None, str]] = []

    ingest(sources, embedded, "pages", french, progress=lambda *step: steps.append(step))
    assert [step for step in steps if step[2] == "indexing"] == [(50, 100, "indexing"), *[(100, 100, "indexing")] * 2]
    assert "counting words" in {step[2] for step in steps}

    steps.clear()
    ingest(sources, embedded, "pages", french, progress=lambda *step: steps.append(step))
    assert {step[2] for step in steps} == {"indexing"}


class Refusing(Wrapped):
    """Refuses one document."""

    def __init__(self, store: EmbeddedStore, doc_id: str) -> None:
        super().__init__(store)
        self._doc_id = doc_id

    def write_prepared(self, index: str, documents: Iterable[Writable]) -> Iterator[WriteResult]:
        for document in documents:
            if document is not None and document.doc_id == self._doc_id:
                yield WriteResult(self._doc_id, "mapper_parsing_exception: no")
            else:
                yield from self._store.write_prepared(index, [document])


class Failing(Wrapped):
    """Reads two documents ahead, and is gone after some."""

    def __init__(self, store: EmbeddedStore, after: int) -> None:
        super().__init__(store)
        self._after = after

    def write_prepared(self, index: str, documents: Iterable[Writable]) -> Iterator[WriteResult]:
        stream = iter(documents)
        for _ in range(0, self._after, 2):
            yield from self._store.write_prepared(index, [next(stream), next(stream)])
        next(stream), next(stream)
        raise StoreUnavailable("the node went away")


class Silent(Wrapped):
    """Reads all and answers nothing."""

    def write_prepared(self, index: str, documents: Iterable[Writable]) -> Iterator[WriteResult]:
        list(documents)
        return iter(())


class Foreign(Wrapped):
    """Holds an index that another program made."""

    def __init__(self, store: EmbeddedStore) -> None:
        super().__init__(store)
        self.dropped: list[str] = []

    def describe(self, index: str) -> IndexDescription:
        return IndexDescription.from_meta({"made by": "someone else"}, index)

    def drop(self, index: str) -> None:
        self.dropped.append(index)
