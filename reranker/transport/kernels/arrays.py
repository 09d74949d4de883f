"""Types of the arrays that the loops take."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Single = NDArray[np.float32]
Double = NDArray[np.float64]
Float = NDArray[Any]  # float32 or float64: Numba compiles for each
Ints = NDArray[np.int64]
ShortInts = NDArray[np.int32]
