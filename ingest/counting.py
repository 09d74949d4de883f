"""Counts the document frequencies of an input, before its first document is weighted."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ingest.checkpoint import Checkpoint
from ingest.documents import Layout
from ingest.encoding import EncodingWorkers, RowCounter
from ingest.files import Row
from ingest.pieces import in_pieces
from ingest.progress import Progress
from reranker.text.idf import DocumentFrequencies, FrequencyCounter

# Each checkpoint writes the frequencies of all languages.
_SECONDS_BETWEEN_CHECKPOINTS = 30.0


def count_words(
    rows: Callable[[int], Iterator[Row]],
    layout: Layout,
    languages: Sequence[str],
    checkpoint: Checkpoint,
    workers: EncodingWorkers,
    progress: Progress,
) -> dict[str, DocumentFrequencies]:
    """Counts the document frequencies of the input, in those of the languages that have documents. Continues from the
    checkpoint, which also stores the number of documents and the words of each.

    Args:
        rows: returns the input's rows from the given one on.
    """
    n_rows, n_documents, counters = checkpoint.counted()
    if checkpoint.n_documents is None:
        counter = RowCounter(layout, languages)
        saved_at = time.monotonic()
        for piece, counted in workers.map(counter, in_pieces(rows(n_rows))):
            are_first = checkpoint.are_first([row.id_hash for row in counted], n_rows)
            for row, is_first in zip(counted, are_first, strict=True):
                if not row.id_hash or not is_first:
                    continue
                n_documents += 1
                if row.term_ids is not None:
                    counter_of_language = counters.setdefault(row.language, FrequencyCounter())
                    counter_of_language.add_terms(np.frombuffer(row.term_ids, np.int32))
            checkpoint.bags.add([row.words for row in counted])
            n_rows += len(piece)
            progress(n_rows, None, "counting words")
            if time.monotonic() - saved_at > _SECONDS_BETWEEN_CHECKPOINTS:
                checkpoint.save_counted(n_rows, n_documents, counters, is_whole=False)
                saved_at = time.monotonic()
        checkpoint.save_counted(n_rows, n_documents, counters, is_whole=True)
        progress(n_rows, n_rows, "counting words")
    return {language: counter.result() for language, counter in counters.items()}
