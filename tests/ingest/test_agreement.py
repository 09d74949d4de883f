"""A rebuilt version serves only when it is what it should be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ingest.agreement import disagreement
from ingest.encode import encode
from ingest.summary import Summary
from reranker.embeddings import Embeddings
from reranker.stores.base.writing import WriteResult
from reranker.stores.embedded.store import EmbeddedStore
from reranker.text.documents import Document, EncodedDocument
from reranker.text.idf import IdfTable
from tests.ingest.runs import WORDS, Wrapped, run, write_rows


def rebuild(store: Any, embeddings: Embeddings, folder: Path, n_documents: int = 40) -> Summary:
    rows = [{"id": str(n), "lang": "fr", "text": " ".join(WORDS[: 3 + n % 3]) + f" {n}"} for n in range(n_documents)]
    return run(write_rows(folder / "in.jsonl", rows), store, "pages", embeddings, folder, rebuild=True)


class _Changed(Wrapped):
    """A store that writes something else than it is given."""

    def __init__(self, store: EmbeddedStore, change: Any) -> None:
        super().__init__(store)
        self._change = change

    def write_prepared(self, index: str, documents: Any) -> Iterator[WriteResult]:
        for document in documents:
            changed = self._change(document)
            if changed is None:
                yield WriteResult(document.doc_id)
            else:
                yield from self._store.write_prepared(index, [changed])


@pytest.mark.parametrize(("n_copies", "reason"), [(48, None), (8, "only 0 of 2 sampled documents are found by a")])
def test_a_sample_that_is_copies_but_for_a_few_is_not_judged_by_these(
    embeddings: Embeddings, n_copies: int, reason: str | None
) -> None:
    texts = ["chat"] * n_copies + ["chien", "eau"]
    documents = [encode(Document(str(n), text, "fr"), embeddings, IdfTable()) for n, text in enumerate(texts)]

    class FindsNothing:
        def count(self, index: str) -> int:
            return len(documents)

        def fetch(self, index: str, doc_id: str) -> EncodedDocument:
            return documents[int(doc_id)]

        def knn(self, *arguments: Any) -> list[Any]:
            return []

    store: Any = FindsNothing()
    found = disagreement(store, "pages", len(documents), [str(n) for n in range(len(documents))])
    assert found is None if reason is None else str(found).startswith(reason)


def test_a_sound_rebuild_takes_the_place(embedded: EmbeddedStore, embeddings: Embeddings, tmp_path: Path) -> None:
    assert rebuild(embedded, embeddings, tmp_path).failure is None
    again = rebuild(embedded, embeddings, tmp_path)
    assert (again.failure, again.previous_version) == (None, "pages-000001")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda one: None if one.doc_id == "7" else one, "it holds 39 documents, 40 were confirmed"),
        (lambda one: one._replace(content=replace(one.content, terms="other")), "a search for its own words"),
        (
            lambda one: one._replace(content=replace(one.content, doc_id="x" + one.doc_id)),
            "was confirmed but is missing",
        ),
    ],
    ids=["lost", "words", "ids"],
)
def test_a_rebuild_that_is_not_what_it_should_be_does_not_serve(
    embedded: EmbeddedStore, embeddings: Embeddings, tmp_path: Path, change: Any, reason: str
) -> None:
    assert rebuild(embedded, embeddings, tmp_path, 10).failure is None
    summary = rebuild(_Changed(embedded, change), embeddings, tmp_path)
    assert summary.failure is not None
    assert reason in summary.failure
    assert "--to pages-000002" in summary.failure
    assert not summary.is_whole
    assert embedded.count("pages") == 10
    assert [version.name for version in embedded.versions("pages") if version.is_serving] == ["pages-000001"]


def test_vectors_of_others_are_found_out(embedded: EmbeddedStore, embeddings: Embeddings, tmp_path: Path) -> None:
    rebuild(embedded, embeddings, tmp_path)

    class Wrong(_Changed):
        def knn(self, *arguments: Any) -> list[Any]:
            return []

    assert (
        disagreement(Wrong(embedded, None), "pages", 40, ["1", "2"])
        == "only 0 of 2 sampled documents are found by a search for its own vector"
    )

    # Documents 0 and 3 consist of the same words: an approximate search may find others of the crowd in their place.
    assert disagreement(Wrong(embedded, None), "pages", 40, ["0", "3"]) is None
