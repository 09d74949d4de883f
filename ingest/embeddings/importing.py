"""Imports one or several published embeddings files into one store."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ingest.embeddings.formats import VectorFormat, inspect
from ingest.embeddings.selection import Selection, VectorSource
from ingest.embeddings.summary import EmbeddingsSummary
from ingest.embeddings.vector_rows import Block, read_blocks
from ingest.progress import Progress, no_progress
from reranker.base.errors import BadEmbeddings
from reranker.embeddings import Embeddings, EmbeddingsWriter


def import_embeddings(
    sources: Sequence[VectorSource],
    output: Path,
    *,
    replace: bool = False,
    max_terms_per_language: int | None = None,
    progress: Progress = no_progress,
) -> EmbeddingsSummary:
    """Writes the embeddings of files to a store, which appears complete or not at all.

    Several files must share one space, as aligned fastText, MUSE and Numberbatch do. Terms are normalised as the
    tokenizer does. Terms that it cannot produce are skipped and counted; for equal terms the first row counts.

    Args:
        sources: at least one.
        max_terms_per_language: number of words to take of each language: the first ones of the file, since files
            usually have frequent words first.

    Raises:
        UnknownLanguage: Sinkrank does not know a language.
        BadInput: the output exists, a file cannot be opened, or a language is missing.
        BadEmbeddings: a file cannot be read (the message names the line and the cure), or the files have different
            dimensions.
    """
    started = time.monotonic()
    formats = [inspect(source.path) for source in sources]
    _check_same_dim(sources, formats)
    seen: dict[str, set[str]] = {}
    skipped: Counter[str] = Counter()
    described = _described(sources, formats)
    with EmbeddingsWriter(output, dim=formats[0].dim, source=described, replace=replace) as writer:
        for source, file_format in zip(sources, formats, strict=True):
            selection = Selection(source, max_terms_per_language, seen)
            for block in read_blocks(source.path, file_format, selection.term):
                _append(writer, block)
                progress(block.n_rows, file_format.n_rows, f"importing {source.path.name}")
                if selection.is_full:
                    break
            selection.check()
            skipped += selection.skipped
        writer.commit()
    progress(1, 1, "imported")
    return EmbeddingsSummary.of(Embeddings.open(output), started, skipped)


def _check_same_dim(sources: Sequence[VectorSource], formats: Sequence[VectorFormat]) -> None:
    for source, file_format in zip(sources, formats, strict=True):
        if file_format.dim != formats[0].dim:
            raise BadEmbeddings(
                f"{sources[0].path} has {formats[0].dim} dimensions and {source.path} has {file_format.dim}; all files "
                "of a store must share one space, so give files that were aligned with each other"
            )


def _described(sources: Sequence[VectorSource], formats: Sequence[VectorFormat]) -> list[dict[str, str | None]]:
    return [
        {"file": source.path.name, "file_format": file_format.kind, "language": source.language}
        for source, file_format in zip(sources, formats, strict=True)
    ]


def _append(writer: EmbeddingsWriter, block: Block) -> None:
    """Adds the block's terms language by language, in the order of the file."""
    rows: dict[str, list[int]] = {}
    for row, (language, _) in enumerate(block.terms):
        rows.setdefault(language, []).append(row)
    for language, places in rows.items():
        writer.append(language, [block.terms[row][1] for row in places], block.vectors[np.array(places)])
