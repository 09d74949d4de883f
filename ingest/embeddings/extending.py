"""Adds languages to an embedding store, with texts that are aligned with texts in its languages.

A unit gets its vector from its words of known languages, and a new term from its units. This is the folding-in of
latent semantic indexing (Deerwester et al. 1990): existing terms do not change, term ids included.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ingest.embeddings.copying import append_store
from ingest.embeddings.spectral import ppmi, unit_rows
from ingest.embeddings.spelling import smooth
from ingest.embeddings.summary import Summary
from ingest.embeddings.training import append_languages
from ingest.embeddings.unit_counts import Counts, LanguageCounts, count_units
from ingest.embeddings.units import Units, read_units
from ingest.progress import Progress, no_progress
from reranker.base.errors import BadInput
from reranker.embeddings import Embeddings, EmbeddingsWriter, check_output


def extend(
    embeddings: Embeddings,
    units: Units,
    output: Path,
    *,
    replace: bool = False,
    progress: Progress = no_progress,
) -> Summary:
    """Writes a store with the unchanged terms of another and with new languages.

    Args:
        units: as for `train`. Groups need a text in a language of the store and one in a new language; others are
            ignored.
        output: the folder to create; may be that of the store, with `replace`.

    Raises:
        NotFound: there is no such file.
        BadInput: a line cannot be used, the output exists, or all texts are in new languages, or none is.
    """
    started = time.monotonic()
    check_output(output, replace=replace)
    counts = count_units(read_units(units, progress)).result()
    new = {code: language for code, language in counts.languages.items() if code not in embeddings.languages}
    if not new or len(new) == len(counts.languages):
        raise BadInput(
            f"the texts are in {', '.join(counts.languages) or 'no language'}, the store in "
            f"{', '.join(embeddings.languages)}; give texts in a new language with their translations into one of these"
        )
    places = _unit_vectors(counts, embeddings)
    vectors: dict[str, NDArray[np.float32]] = {}
    for done, (code, language) in enumerate(new.items()):
        progress(done, len(new), "adding new languages")
        rows = unit_rows(np.asarray(ppmi(language.units) @ places, dtype=np.float32))
        vectors[code] = smooth(rows, language.terms, np.diff(language.units.indptr))
    progress(len(new), len(new), "added new languages")
    source = {"extended": embeddings.meta["source"], "languages": list(new)}
    counted = embeddings.meta["n_documents"]
    with EmbeddingsWriter(output, dim=embeddings.dim, source=source, replace=replace) as writer:
        append_store(writer, embeddings, counted=counted is not None)
        n_without = append_languages(writer, new, vectors, counted=counted is not None)
        added = {code: language.n_documents for code, language in new.items() if code in writer.counts}
        writer.commit(None if counted is None else {**counted, **added})
    skipped = {"terms in no unit with a known word": n_without}
    return Summary.of(Embeddings.open(output), started, skipped, _warnings(new, vectors))


def _unit_vectors(counts: Counts, embeddings: Embeddings) -> NDArray[np.float32]:
    """(n_groups, dim) vectors of length 1 of the groups, from their words in the store's languages; zeros without such
    words."""
    places = np.zeros((counts.n_groups, embeddings.dim), dtype=np.float32)
    for code, language in counts.languages.items():
        if code not in embeddings.languages:
            continue
        term_ids = [embeddings.term_id(code, term) for term in language.terms]
        known = np.array([term_id is not None for term_id in term_ids], dtype=bool)
        rows = np.asarray(embeddings.vectors[np.array([t for t in term_ids if t is not None], dtype=np.int64)])
        places += ppmi(language.units)[known].T @ rows
    return unit_rows(places)


def _warnings(new: dict[str, LanguageCounts], vectors: dict[str, NDArray[np.float32]]) -> tuple[str, ...]:
    return tuple(
        f"no text in language {code!r} has a translation with known words, so its words are skipped"
        for code in new
        if not vectors[code].any()
    )
