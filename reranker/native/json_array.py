"""The elements of a JSON array in C (`json_array.c`)."""

from __future__ import annotations

import numpy as np

from reranker.native.library import address, declare

_element_starts = declare("element_starts", "pqqp", "q")


def element_starts(data: bytes, start: int, n: int) -> list[int]:
    """Where the elements of a sound array begin, in characters from its bracket on.

    Args:
        data: UTF-8.
        start: the byte of the bracket.
        n: of elements.
    """
    places = np.empty(n, np.int64)
    _element_starts(address(np.frombuffer(data, np.uint8)) + start, len(data) - start, n, places)
    return places.tolist()
