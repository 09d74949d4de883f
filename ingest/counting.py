"""Counts the document frequencies of an input, before its first document is weighted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ingest.encoding import EncodingWorkers, RowCounter
from ingest.files import Row, in_pieces
from ingest.progress import Progress
from ingest.seen_ids import SeenIds
from reranker.text.bags import end_to_end
from reranker.text.idf import DocumentFrequencies, FrequencyCounter


class Counted(NamedTuple):
    """The numbers of rows and documents of an input, and the document frequencies of its languages."""

    n_rows: int
    n_documents: int
    frequencies: dict[str, DocumentFrequencies]


def count_words(
    rows: Iterable[Row],
    languages: Sequence[str],
    seen: SeenIds,
    workers: EncodingWorkers,
    progress: Progress,
) -> Counted:
    """Counts the document frequencies of the input, in those of the languages that have documents.

    Args:
        rows: all of the input.
    """
    n_rows = n_documents = 0
    counters: dict[str, FrequencyCounter] = {}
    for piece, counted in workers.map(RowCounter(languages), in_pieces(rows)):
        are_first = seen.are_first([row.id_hash for row in counted], n_rows)
        terms: dict[str, list[bytes]] = {}
        for row, is_first in zip(counted, are_first, strict=True):
            if not row.id_hash or not is_first:
                continue
            n_documents += 1
            if row.term_ids is not None:
                terms.setdefault(row.language, []).append(row.term_ids)
        for language, found in terms.items():
            counters.setdefault(language, FrequencyCounter()).add_terms(end_to_end(found, np.int32), len(found))
        n_rows += len(piece)
        progress(n_rows, None, "counting words")
    progress(n_rows, n_rows, "counting words")
    return Counted(n_rows, n_documents, {language: counter.result() for language, counter in counters.items()})
