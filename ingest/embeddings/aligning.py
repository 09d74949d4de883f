"""Aligns two stores into one space by a rotation that is fitted to a dictionary.

The rotation minimises the squared distances between the words of the second store and their translations in the first
(orthogonal Procrustes: Schönemann 1966; for word embeddings Xing et al. 2015, Smith et al. 2017).
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from ingest.embeddings.copying import append_store, joint_documents
from ingest.embeddings.dictionaries import Pair
from ingest.embeddings.summary import Summary
from ingest.progress import Progress, no_progress
from reranker.base.errors import BadInput
from reranker.embeddings import Embeddings, EmbeddingsWriter, check_output


def align(
    target: Embeddings,
    source: Embeddings,
    pairs: Iterable[Pair],
    output: Path,
    *,
    replace: bool = False,
    progress: Progress = no_progress,
) -> Summary:
    """Writes a store with the vectors of `target`, unchanged, and the rotated vectors of `source`.

    Args:
        pairs: translations in either direction. Pairs with an unknown word are ignored.
        output: the folder to create.

    Raises:
        BadInput: the output exists, the stores have different dimensions, or they know no pair.
    """
    started = time.monotonic()
    check_output(output, replace=replace)
    if target.dim != source.dim:
        raise BadInput(
            f"{target.path} has {target.dim} dimensions and {source.path} {source.dim}; a rotation needs the same "
            "number in both: train or import one of them again, or join them with `sinkrank embeddings join`"
        )
    progress(0, None, "reading translations")
    in_target, in_source = _known(pairs, target, source)
    if not len(in_target):
        raise BadInput(
            f"no pair of the dictionary has a word in {target.path} ({', '.join(target.languages)}) and one in "
            f"{source.path} ({', '.join(source.languages)}); give a dictionary of these languages"
        )
    progress(0, None, "rotating")
    there, here = (
        np.asarray(store.vectors[ids], np.float64) for store, ids in ((target, in_target), (source, in_source))
    )
    left, _, right = np.linalg.svd(here.T @ there)
    rotation = left @ right
    cosine = float(np.einsum("ij,ij->i", here @ rotation, there).mean())
    described = {
        "aligned": [target.meta["source"], source.meta["source"]],
        "n_pairs": len(in_target),
        "mean_cosine_of_pairs": round(cosine, 4),
    }
    n_documents = joint_documents(target, source)
    with EmbeddingsWriter(output, dim=target.dim, source=described, replace=replace) as writer:
        append_store(writer, target, counted=n_documents is not None)
        append_store(writer, source, lambda rows: rows @ rotation, counted=n_documents is not None)
        writer.commit(n_documents)
        skipped = {"words that the first store also has": writer.n_duplicates}
    progress(1, 1, "rotated")
    return Summary.of(Embeddings.open(output), started, skipped, _warnings(len(in_target), target.dim))


def _known(pairs: Iterable[Pair], target: Embeddings, source: Embeddings) -> tuple[list[int], list[int]]:
    """The term ids of the pairs that both stores know, each pair once."""
    found: dict[tuple[int, int], None] = {}
    for one, other in pairs:
        for mine, theirs in ((one, other), (other, one)):
            ids = target.term_id(*mine), source.term_id(*theirs)
            if ids[0] is not None and ids[1] is not None:
                found[ids[0], ids[1]] = None
                break
    return [mine for mine, _ in found], [theirs for _, theirs in found]


def _warnings(n_pairs: int, dim: int) -> tuple[str, ...]:
    if n_pairs >= dim:
        return ()
    return (
        f"the stores know only {n_pairs:,} pairs of the dictionary, fewer than the {dim} dimensions, so the rotation "
        "is partly random; give some thousand pairs",
    )
