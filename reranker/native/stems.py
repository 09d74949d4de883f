"""The stems that bags of words hold, counted in C (`stems.c`)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reranker.native.library import declare

_count_stems = declare("count_stems", "ppppqpqpp", "q")


def count_stems(
    key_of_term: NDArray[np.uint64],
    term_ids: NDArray[np.int32],
    counts: NDArray[np.int32],
    offsets: NDArray[np.int64],
    keys: NDArray[np.uint64],
) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.int32]]:
    """How often bags hold terms of each stem (n_bags, n_keys); the terms that they hold of these; and the terms of
    which no key is known: where there are some, the others are of no use.

    Args:
        key_of_term: of each term of the store; 0 where it is not known.
        term_ids, counts, offsets: of the bags, end to end.
        keys: ascending.
    """
    found, held = np.zeros((len(offsets) - 1, len(keys))), np.empty(len(term_ids), np.int32)
    n = _count_stems(key_of_term, term_ids, counts, offsets, len(found), keys, len(keys), found, held)
    return found, held[: max(n, 0)], held[: max(-n, 0)]
