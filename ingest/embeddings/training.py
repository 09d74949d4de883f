"""Turns texts into a store of embeddings, with no network, no GPU and no model to start from.

Across languages, terms are rows and groups of translations are columns, which all languages share: a term and its
translation are in the same groups, so their rows are alike. In one language the columns are its texts. Positive
pointwise mutual information weighs the pairs (each language by its own totals, so that one with fewer translations is
not pushed aside), a truncated SVD turns rows into vectors, and terms of like spelling lend each other what is known of
them.

This is latent semantic indexing (of parallel text: Dumais, Landauer and Littman 1996) with the weights of Levy and
Goldberg 2014, and U·S^0.5 as Levy, Goldberg and Dagan 2015 recommend.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ingest.embeddings.dictionaries import Dictionary
from ingest.embeddings.document_units import Unusable, units_of
from ingest.embeddings.languages import choose_language, other_languages
from ingest.embeddings.spectral import ppmi, truncated_svd, unit_rows
from ingest.embeddings.spelling import smooth
from ingest.embeddings.summary import Summary
from ingest.embeddings.unit_counts import Counts, LanguageCounts, UnitCounter
from ingest.embeddings.units import Unit, Units, read_units
from ingest.progress import Progress, no_progress
from reranker.base.errors import BadInput
from reranker.base.extras import extra
from reranker.embeddings import Embeddings, EmbeddingsWriter, Precision, check_output
from reranker.text.documents import Document

with extra("train", "training embeddings"):
    from scipy import sparse

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
    """Trains embeddings on texts and writes them to a store, which appears whole or not at all.

    Groups in two or more languages put these languages into one space. Without any, one language is trained: the only
    one, or the one of at least nine tenths of the texts.

    Args:
        units: JSONL files or rows: `{"group": id, "language": code, "text": …}`; texts of one group say the same in
            different languages, be they documents, paragraphs or words. A `"document"` names what the text is a part
            of, for document frequencies; without it they are counted over groups. Bilingual dictionaries too, each
            sense being a group, and a part of no document.
        output: the folder to make.
        dim: dimensions; with fewer groups (or less in them) the store has fewer, and a warning says so.
        min_count: a term that occurs less often in its language is left out.
        seed: of the randomised SVD; the same seed and texts give the same embeddings.
        language: the only one to take.
        replace: whether to put the new store in the place of an old one.
        source: where the texts come from, for the store's `meta.json`; by default the file's name.
        precision: in what the numbers are kept (`reranker.embeddings.rows`).

    Raises:
        NotFound: there is no such file.
        BadInput: a line cannot be used (its number is named), the output exists, the texts are in several languages and
            none are translations of each other, or there are too few.
    """
    if source is None:
        source = units.name if isinstance(units, Path) else "aligned texts"
    return _train(
        read_units(units, progress), output, dim, min_count, seed, language, replace, source, precision, progress
    )


def train_documents(
    documents: Iterable[Document],
    output: Path,
    *,
    group_field: str | None = None,
    dictionaries: Iterable[Dictionary] = (),
    unusable: Unusable | None = None,
    dim: int = DIM,
    min_count: int = MIN_COUNT,
    seed: int = SEED,
    language: str | None = None,
    replace: bool = False,
    source: object = "documents",
    precision: Precision = "float32",
    progress: Progress = no_progress,
) -> Summary:
    """Trains embeddings on the titles and texts of documents, which are read once, as a stream.

    Args:
        documents: those with the same group are translations of each other; a document without one trains its language
            alone. The metadata field `document` names what a document with a group is a part of.
        group_field: the field of `metadata` with the group, or `id`; None takes `group` where it is there.
        dictionaries: bilingual ones, that train with the documents.
        unusable: what the caller has left out already; documents that cannot be trained on join it.
        dim, min_count, seed, language, replace, source, precision: as for `train`.

    Raises:
        BadInput: as for `train`, or a field was named and no document has it.
    """
    unusable = Unusable() if unusable is None else unusable
    units = chain(units_of(documents, group_field, unusable, progress), read_units(dictionaries))
    try:
        summary = _train(units, output, dim, min_count, seed, language, replace, source, precision, progress)
    except BadInput as error:
        if not unusable.n:
            raise
        raise BadInput(f"{error}. {unusable}") from error
    if not unusable.n:
        return summary
    skipped = {"documents that cannot be trained on": unusable.n, **summary.skipped}
    return dataclasses.replace(summary, skipped=skipped, warnings=(str(unusable), *summary.warnings))


def _train(
    units: Iterable[Unit],
    output: Path,
    dim: int,
    min_count: int,
    seed: int,
    language: str | None,
    replace: bool,
    source: object,
    precision: Precision,
    progress: Progress,
) -> Summary:
    started = time.monotonic()
    for name, value in (("dim", dim), ("min_count", min_count)):
        if value < 1:
            raise BadInput(f"{name} is {value}; give 1 or more")
    check_output(output, replace=replace)
    counter = UnitCounter()
    for unit in units:
        counter.add(unit)
    chosen = choose_language(counter, language)
    counts = counter.result(min_count, chosen)
    vectors = _vectors(counts, dim, seed, progress)
    dim_found = next(iter(vectors.values())).shape[1]
    with EmbeddingsWriter(output, dim=dim_found, source=source, replace=replace, precision=precision) as writer:
        # Entries of dictionaries alone are no documents, and say nothing of how frequent a word is.
        counted = any(each.n_documents for each in counts.languages.values())
        n_without = append_languages(writer, counts.languages, vectors, counted=counted)
        n_documents = {code: counts.languages[code].n_documents for code in writer.counts}
        writer.commit(n_documents if counted else None)
    embeddings = Embeddings.open(output)
    skipped = {
        "texts outside the sample that trained": counter.n_left_out,
        "texts in other languages": 0 if chosen is None else sum(counter.n_units.values()) - counter.n_units[chosen],
        "terms that came too seldom": sum(each.n_rare for each in counts.languages.values()),
        "terms in no text that trained, or in nearly all": n_without,
        "texts of groups in one language only": counts.n_unaligned,
    }
    warnings = [] if language is not None or chosen is None else other_languages(counter, chosen)
    return Summary.of(embeddings, started, skipped, [*warnings, *_warnings(counts, embeddings, dim)])


def _vectors(counts: Counts, dim: int, seed: int, progress: Progress) -> dict[str, NDArray[np.float32]]:
    """(n_terms, k) unit vectors of each language; a term of which nothing is known has zeros."""
    weighted = sparse.vstack([ppmi(language.units) for language in counts.languages.values()]).tocsr()
    if not weighted.nnz:
        raise BadInput(
            "every text holds the same words, so nothing tells the words apart; give more and different texts"
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
            f"the embeddings have {embeddings.dim} dimensions instead of {dim}: {counts.n_groups} texts hold no more; "
            "give more, some thousands at least"
        )
    warnings += [
        f"no text in language {code!r} has a translation, so its words are left out; put its texts into the groups of "
        "their translations"
        for code, language in counts.languages.items()
        if not language.units.nnz
    ]
    return tuple(warnings)
