"""Trains embeddings on texts, without network, GPU or an existing model.

Across languages, the rows of a matrix are terms and its columns are groups of translations. A term and its translation
occur in the same groups, so their rows are similar. In one language the columns are its texts. The steps are positive
pointwise mutual information (with the totals of each language, so that a language with fewer translations has the same
weight), a truncated SVD, and smoothing over terms with similar spelling.

This is latent semantic indexing (of parallel text: Dumais, Landauer and Littman 1996) with the weights of Levy and
Goldberg 2014, and U·S^0.5 as Levy, Goldberg and Dagan 2015 recommend.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ingest.embeddings.sparse_rows import SparseRows
from ingest.embeddings.spectral import ppmi, truncated_svd, unit_rows
from ingest.embeddings.spelling import smooth
from ingest.embeddings.summary import EmbeddingsSummary
from ingest.embeddings.unit_counts import Counts, LanguageCounts, count_units
from ingest.embeddings.units import Unit
from ingest.progress import Progress, no_progress
from reranker.base.errors import BadEmbeddings, BadInput, NotFound, VersionMismatch
from reranker.embeddings import Embeddings, EmbeddingsWriter

DIM = 300
SEED = 2018

SINGULAR_VALUE_POWER = 0.5


def train(
    units: Iterable[Unit],
    output: Path,
    *,
    dim: int = DIM,
    seed: int = SEED,
    language: str | None = None,
    replace: bool = False,
    source: object = "aligned texts",
    progress: Progress = no_progress,
) -> EmbeddingsSummary:
    """Trains embeddings on texts and writes them to a store, which appears complete or not at all.

    Groups in two or more languages put these languages into one space.

    Args:
        units: documents, paragraphs or words; read once, as a stream.
        output: the folder to create.
        dim: dimensions. With too few or too similar groups the store has fewer, and a warning says so.
        seed: seed of the randomised SVD. The same seed and texts give the same embeddings.
        language: train on all texts of this language, and no others; None trains on groups in two or more languages.
        replace: replace a store at `output`.
        source: where the texts come from, for the store's `meta.json`.

    Raises:
        BadInput: the output exists, or there are no such texts.
    """
    started = time.monotonic()
    counts = count_units(units, language, progress)
    if not counts.n_groups:
        raise BadInput(
            "no texts are translations of each other; give them the same group, or name one language to train"
            if language is None
            else f"there is no text in {language!r} to train on; give one"
        )
    vectors = _vectors(counts, dim, seed, progress)
    dim_found = next(iter(vectors.values())).shape[1]
    with EmbeddingsWriter(output, dim=dim_found, source=source, replace=replace) as writer:
        n_without = _append_languages(writer, counts.languages, vectors)
        writer.commit({code: counts.languages[code].n_documents for code in writer.counts})
    embeddings = Embeddings.open(output)
    skipped = {
        "rare terms beyond the limit": sum(each.n_rare for each in counts.languages.values()),
        "terms in none of the texts for training, or in nearly all": n_without,
        "texts of groups in one language only": counts.n_unaligned,
    }
    return EmbeddingsSummary.of(embeddings, started, skipped, _warnings(counts, embeddings, dim))


def open_made(path: Path, source: object) -> Embeddings | None:
    """Opens the store at the path if its `meta.json` has this source; otherwise None."""
    try:
        embeddings = Embeddings.open(path)
    except (NotFound, BadEmbeddings, VersionMismatch):
        return None
    return embeddings if embeddings.meta.get("source") == source else None


def _vectors(counts: Counts, dim: int, seed: int, progress: Progress) -> dict[str, NDArray[np.float32]]:
    """(n_terms, k) unit vectors of each language; zeros for terms without information."""
    weighted = SparseRows.stacked([ppmi(language.units) for language in counts.languages.values()])
    if not len(weighted.values):
        raise BadInput("all texts contain the same words, so words cannot be told apart; give more and different texts")
    left, values = truncated_svd(weighted, dim, seed, progress)
    rows = unit_rows(left * values**SINGULAR_VALUE_POWER)
    # For a row without information the SVD gives rounding errors, which normalising would make a random direction.
    rows[weighted.n_values_of_rows == 0] = 0
    vectors: dict[str, NDArray[np.float32]] = {}
    start = 0
    for done, (code, language) in enumerate(counts.languages.items()):
        progress(done, len(counts.languages), "comparing spellings")
        end = start + len(language.terms)
        vectors[code] = smooth(rows[start:end], language.terms, language.units.n_values_of_rows)
        start = end
    progress(len(counts.languages), len(counts.languages), "compared spellings")
    return vectors


def _append_languages(
    writer: EmbeddingsWriter,
    languages: Mapping[str, LanguageCounts],
    vectors: Mapping[str, NDArray[np.float32]],
) -> int:
    """Writes the terms that have a vector; returns the number of the others."""
    n_without = 0
    for code, language in languages.items():
        known = vectors[code].any(axis=1)
        n_without += int((~known).sum())
        if known.any():
            terms = [language.terms[row] for row in np.flatnonzero(known)]
            writer.append(code, terms, vectors[code][known], language.document_frequencies[known])
    return n_without


def _warnings(counts: Counts, embeddings: Embeddings, dim: int) -> tuple[str, ...]:
    warnings = []
    if embeddings.dim < dim:
        warnings.append(
            f"the embeddings have {embeddings.dim} dimensions instead of {dim}, since {counts.n_groups} texts allow "
            "no more; give more, some thousands at least"
        )
    warnings += [
        f"no text in language {code!r} has a translation, so its words are skipped; put its texts into the groups of "
        "their translations"
        for code, language in counts.languages.items()
        if not len(language.units.values)
    ]
    return tuple(warnings)
