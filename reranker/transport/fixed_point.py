"""Says when products with query words are computed in fixed point, and rounds the words for it (fixed_point.h).

Products are then off by 1.3e-5 in the mean square, 7e-5 at most of some ten million. Over the words of a long query it
averages out: distances are off by some 1e-6, 6e-5 at the most seen (nearly all weight on one word, or vectors whose
values are of few sizes).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reranker.native import transport as loops

# Fewer words average little out, and their products take less time than fetching the embeddings does.
LEAST_WORDS = 128
# Nor is it worth the rounding of vectors that are shorter than a register.
_LEAST_DIM = 16
# A Euclidean cost is off by the error of the product, divided by the cost: below this it is computed again from the
# difference (in float32 from `cost.CLOSE_COST` down).
CLOSE_COST = 0.6

_ONE = 32767
_DIMS_TOGETHER = 2


def serves(n_words: int, dim: int) -> bool:
    """Whether products with so many query words are to be computed in fixed point on this machine."""
    return loops.HAS_FIXED_POINT and n_words >= LEAST_WORDS and dim >= _LEAST_DIM


def rounded(rows: NDArray[np.floating]) -> tuple[NDArray[np.int16], NDArray[np.float32]]:
    """Rows of norm 1 in fixed point, filled up with a zero to whole pairs of dimensions, and by what their products are
    to be multiplied: 1 / norm, 0 for a row of zeros."""
    whole = np.rint(np.clip(rows, -1, 1) * _ONE).astype(np.int16)
    norms = np.sqrt(np.einsum("ij,ij->i", whole, whole, dtype=np.float64))
    factors = np.divide(1, norms, out=np.zeros(len(rows)), where=norms > 0).astype(np.float32)
    return np.pad(whole, ((0, 0), (0, -rows.shape[1] % _DIMS_TOGETHER))), factors
