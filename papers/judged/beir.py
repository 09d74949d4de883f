"""Reads a judged collection in the layout of BEIR: `corpus.jsonl`, `queries.jsonl` and `qrels/test.tsv`."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass
from pathlib import Path

from ingest.documents import Layout, read_records
from ingest.files import Source
from reranker.base.errors import NotFound
from reranker.text.documents import Document
from sinkrank.evaluation.judgments import JudgedQuery, read_judged_queries

CORPUS, QUERIES, QRELS = "corpus.jsonl", "queries.jsonl", "qrels/test.tsv"


@dataclass(frozen=True)
class Collection:
    """A judged collection.

    Attributes:
        corpus: JSONL file of the documents.
        queries: the queries with a relevant document, in the order of the file.
    """

    name: str
    corpus: Path
    queries: tuple[JudgedQuery, ...]

    @property
    def source(self) -> Source:
        """Returns the documents as a source of `ingest`."""
        return Source(self.corpus, str(self.corpus), "jsonl")

    def documents(self, language: str) -> Iterator[Document]:
        """Yields the documents that can be indexed. `language` is for rows without one."""
        for record in read_records([self.source], Layout(default_language=language)):
            if record.document is not None:
                yield record.document

    def texts(self, doc_ids: Container[str], language: str) -> dict[str, str]:
        """Returns title and text of these documents by id. If several have the same id, the first is taken."""
        found: dict[str, str] = {}
        for document in self.documents(language):
            if document.doc_id in doc_ids:
                found.setdefault(document.doc_id, document.full_text)
        return found


def read_beir(folder: Path, qrels: Path | None = None) -> Collection:
    """Opens the collection in a folder.

    Args:
        qrels: other judgments than `qrels/test.tsv`.

    Raises:
        NotFound: the folder or one of its files is missing.
        BadInput: a file cannot be read, or no query has a relevant document.
    """
    for file in (CORPUS, QUERIES):
        if not (folder / file).is_file():
            raise NotFound(
                f"{folder} has no {file}; a collection is a folder with {CORPUS} (_id, title, text), {QUERIES} "
                f"(_id, text) and {QRELS} (query-id, corpus-id, score), all unpacked"
            )
    judgments = qrels or folder / QRELS
    if not judgments.is_file():
        others = sorted(str(path) for path in (folder / "qrels").glob("*.tsv"))
        cure = f"name one of {', '.join(others)} with --qrels" if others else "name the judgments with --qrels"
        raise NotFound(f"there is no file {judgments}; {cure}")
    queries = read_judged_queries(folder / QUERIES, judgments)
    return Collection(folder.resolve().name, folder / CORPUS, tuple(queries))
