"""Turns aligned texts into a store of cross-lingual embeddings, with no network, no GPU and no model to start from.

Terms are rows and aligned units are columns, and all languages share the columns: a term and its translation stand in
the same units, so their rows are alike. Positive pointwise mutual information weighs the pairs (each language by its
own totals, so that one with fewer translations is not pushed aside), a truncated SVD turns rows into vectors, and
terms of like spelling lend each other what is known of them.

This is latent semantic indexing of parallel text (Dumais, Landauer and Littman 1996) with the weights of Levy and
Goldberg 2014, and U·S^0.5 as Levy, Goldberg and Dagan 2015 recommend.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ingest.embeddings.spectral import ppmi, truncated_svd, unit_rows
from ingest.embeddings.spelling import smooth
from ingest.embeddings.summary import Summary
from ingest.embeddings.units import Counts, LanguageCounts, Unit, Units, count_units, read_units
from ingest.progress import Progress, no_progress
from reranker.embeddings import Embeddings, EmbeddingsWriter, Precision, check_output
from reranker.errors import BadInput

DIM = 300
# A term that came once is placed by its one unit and by terms of like spelling. Leaving such terms out (they are nearly
# half) cost 0.04 of nBOW's MRR from Finnish to English.
MIN_COUNT = 1
SEED = 2018

SINGULAR_VALUE_POWER = 0.5


def train(
    units: Units,
    output: Path,
    *,
    dim: int = DIM,
    min_count: int = MIN_COUNT,
    seed: int = SEED,
    language: str | None = None,
    replace: bool = False,
    source: object = None,
    precision: Precision = "float32",
    progress: Progress = no_progress,
) -> Summary:
    """Trains embeddings on aligned texts and writes them to a store, which appears whole or not at all.

    Args:
        units: JSONL files or rows: `{"group": id, "language": code, "text": …}`; texts of one group say the same in
            different languages, be they documents, paragraphs or words. A `"document"` names what the text is a part
            of, for document frequencies; without it they are counted over groups. Bilingual dictionaries too, each
            sense being a group, and a part of no document.
        output: the folder to make.
        dim: dimensions; with fewer aligned groups (or less in them) the store has fewer, and a warning says so.
        min_count: a term that occurs less often in its language is left out.
        seed: of the randomised SVD; the same seed and texts give the same embeddings.
        language: the only one to take, whose texts then need no translations: a store for `align`.
        replace: whether to put the new store in the place of an old one.
        source: where the texts come from, for the store's `meta.json`; by default the file's name.
        precision: in what the numbers are kept (`reranker.embeddings.rows`).

    Raises:
        NotFound: there is no such file.
        BadInput: a line cannot be used (its number is named), the output exists, or nothing is aligned.
    """
    started = time.monotonic()
    for name, value in (("dim", dim), ("min_count", min_count)):
        if value < 1:
            raise BadInput(f"{name} is {value}; give 1 or more")
    check_output(output, replace=replace)
    counts = _counted(read_units(units, progress), min_count, language)
    vectors = _vectors(counts, dim, seed, progress)
    if source is None:
        source = units.name if isinstance(units, Path) else "aligned texts"
    dim_found = next(iter(vectors.values())).shape[1]
    with EmbeddingsWriter(output, dim=dim_found, source=source, replace=replace, precision=precision) as writer:
        # Entries of dictionaries alone are no documents, and say nothing of how frequent a word is.
        counted = any(language.n_documents for language in counts.languages.values())
        n_without = append_languages(writer, counts.languages, vectors, counted=counted)
        n_documents = {code: counts.languages[code].n_documents for code in writer.counts}
        writer.commit(n_documents if counted else None)
    embeddings = Embeddings.open(output)
    skipped = {
        "terms that came too seldom": sum(language.n_rare for language in counts.languages.values()),
        "terms in no aligned unit, or in nearly all": n_without,
        "units of groups in one language only": counts.n_unaligned,
    }
    return Summary.of(embeddings, started, skipped, _warnings(counts, embeddings, dim))


def _counted(units: Iterable[Unit], min_count: int, language: str | None) -> Counts:
    if language is None:
        counts = count_units(units, min_count)
        _check_aligned(counts)
        return counts
    counts = count_units((unit for unit in units if unit.language == language), min_count, least_languages=1)
    if counts.n_groups < 2:
        raise BadInput(
            f"{counts.n_groups} of the groups stand in {language!r}, but training needs at least 2, and some "
            "thousands to be good; give more texts in this language"
        )
    return counts


def _check_aligned(counts: Counts) -> None:
    cure = 'give texts that are translations of each other the same "group", in at least two languages'
    if not counts.languages:
        raise BadInput(f"there are no aligned texts to train on; {cure}")
    if counts.n_groups < 2:
        raise BadInput(
            f"{counts.n_groups} of the groups stand in two or more languages ({', '.join(counts.languages)} came), but "
            f"training needs at least 2, and some thousands to be good; {cure}"
        )


def _vectors(counts: Counts, dim: int, seed: int, progress: Progress) -> dict[str, NDArray[np.float32]]:
    """(n_terms, k) unit vectors of each language; a term of which nothing is known has zeros."""
    weighted = sparse.vstack([ppmi(language.units) for language in counts.languages.values()]).tocsr()
    if not weighted.nnz:
        raise BadInput(
            "every unit holds the same words, so nothing tells the words apart; give more and different aligned texts"
        )
    left, values = truncated_svd(weighted, dim, seed, progress)
    rows = unit_rows(left * values**SINGULAR_VALUE_POWER)
    # A row without information comes out of the SVD as rounding; at length 1 it would point anywhere.
    rows[np.diff(weighted.indptr) == 0] = 0
    vectors: dict[str, NDArray[np.float32]] = {}
    start = 0
    for done, (code, language) in enumerate(counts.languages.items()):
        progress(done, len(counts.languages), "comparing spellings")
        end = start + len(language.terms)
        vectors[code] = smooth(rows[start:end], language.terms, np.diff(language.units.indptr))
        start = end
    progress(len(counts.languages), len(counts.languages), "compared spellings")
    return vectors


def append_languages(
    writer: EmbeddingsWriter,
    languages: Mapping[str, LanguageCounts],
    vectors: Mapping[str, NDArray[np.float32]],
    *,
    counted: bool,
) -> int:
    """Writes the terms that have a vector; returns how many have none.

    Args:
        counted: whether their document frequencies go with them.
    """
    n_without = 0
    for code, language in languages.items():
        known = vectors[code].any(axis=1)
        n_without += int((~known).sum())
        if known.any():
            terms = [language.terms[row] for row in np.flatnonzero(known)]
            writer.append(code, terms, vectors[code][known], language.document_frequencies[known] if counted else None)
    return n_without


def _warnings(counts: Counts, embeddings: Embeddings, dim: int) -> tuple[str, ...]:
    warnings = []
    if embeddings.dim < dim:
        warnings.append(
            f"the embeddings have {embeddings.dim} dimensions instead of {dim}: {counts.n_groups} aligned groups hold "
            "no more; give more aligned texts, some thousands at least"
        )
    warnings += [
        f"no text in language {code!r} has a translation, so its words are left out; put its texts into the groups of "
        "their translations"
        for code, language in counts.languages.items()
        if not language.units.nnz
    ]
    return tuple(warnings)
