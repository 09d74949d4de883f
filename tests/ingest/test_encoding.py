"""Rows that are read in advance are read once, and are encoded as if they were read again."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ingest.documents import Layout
from ingest.encoding import EncodedRow, RowCounter, RowEncoder, RowReader
from ingest.files import Row
from reranker.embeddings import Embeddings
from reranker.stores.engine.actions import preparer
from reranker.text.idf import DocumentFrequencies, IdfTable


def rows_of(*texts: str, first_line: int = 1) -> list[Row]:
    """Rows of French documents; an empty text gives a row that is none."""
    contents = [json.dumps({"id": f"d{number}", "lang": "fr", "text": text}) for number, text in enumerate(texts)]
    return [Row("in.jsonl", line, content.encode()) for line, content in enumerate(contents, start=first_line)]


PIECES = [rows_of("chat chien", "", "inconnu"), rows_of("eau pain", "chien 8601", first_line=4)]


def encoded(reader: RowReader, pieces: Sequence[Sequence[Row]]) -> list[EncodedRow]:
    """The rows, with idf and for an engine."""
    idf = IdfTable({"fr": DocumentFrequencies.count(reader.embeddings.bags(["chat", "chien eau"], ["fr", "fr"]))})
    encode = RowEncoder(idf, preparer("opensearch"))
    return [row for piece in pieces for row in encode(reader, piece)]


def test_rows_read_in_advance_are_read_once(embeddings: Embeddings) -> None:
    reader = RowReader(embeddings, Layout())
    first = [reader.read_ahead(piece) for piece in PIECES]
    assert all(reader.read(piece) is kept for piece, kept in zip(PIECES, first, strict=True))
    # What was given is kept no longer.
    assert all(reader.read(piece) is not kept for piece, kept in zip(PIECES, first, strict=True))


def test_rows_that_were_counted_are_encoded_as_if_they_were_read_again(embeddings: Embeddings) -> None:
    expected = encoded(RowReader(embeddings, Layout()), PIECES)
    assert [row.document is not None for row in expected] == [True, False, True, True, True]
    reader, count = RowReader(embeddings, Layout()), RowCounter(["fr"])
    counted = [row for piece in PIECES for row in count(reader, piece)]
    assert [row.term_ids is None for row in counted] == [False, True, False, False, False]
    assert encoded(reader, PIECES) == expected
