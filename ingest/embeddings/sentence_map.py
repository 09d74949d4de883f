"""Maps word embeddings into the space of a sentence encoder, so that texts have similar distances in both.

One linear map for all words is learned from passages: it should map the nBOW embedding of a passage near the encoder's
vector of that passage. So the map keeps the directions that carry the topic of a text, and shrinks the others.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# 0.1 to 1 give the same quality (papers/results/order.md).
_RIDGE = 0.3


def ridge(rows: NDArray[np.float32], targets: NDArray[np.float32]) -> NDArray[np.float64]:
    """(dim, target_dim): the map M that minimises ‖rows · M − targets‖² + 0.3 ‖M‖², for rows (n, dim) of length 1."""
    exact = rows.astype(np.float64)
    squares = exact.T @ exact + _RIDGE * np.eye(exact.shape[1])
    return np.asarray(np.linalg.solve(squares, exact.T @ targets), dtype=np.float64)
