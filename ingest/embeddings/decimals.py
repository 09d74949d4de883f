"""Parses lines of decimal numbers into float32 with compiled code, several times as fast as NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from reranker.transport.kernels.compiling import compiled

_SPACE, _TAB, _PLUS, _MINUS, _POINT, _ZERO, _E = b" \t+-.0e"
# Further digits are less than the rounding of a double. One more digit still fits into 64 bits.
_ENOUGH = 10**17
# 18 digits, multiplied or divided by such a power, cover the range of float32.
_MAX_POWER = 60
_POWERS: NDArray[np.float64] = 10.0 ** np.arange(_MAX_POWER + 1, dtype=np.float64)


def parse_lines(lines: Sequence[bytes], dim: int) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Parses numbers separated by blanks: `-0.25`, `2.5e-1`, `7`. Each result is within 0.5000001 units in the last
    place.

    Returns:
        (n, dim) float32, and (n,) whether each line was parsed. The other lines have more or fewer numbers, or a number
        with another spelling (`inf`) or outside of float32. They need a slower parser.
    """
    text = np.frombuffer(b"".join(lines), dtype=np.uint8)
    offsets = np.fromiter(accumulate(map(len, lines), initial=0), dtype=np.int64, count=len(lines) + 1)
    vectors = np.empty((len(lines), dim), dtype=np.float32)
    sound = np.zeros(len(lines), dtype=np.bool_)
    _parse(text, offsets, _POWERS, vectors, sound)
    return vectors, sound


@compiled
def _parse(
    text: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    powers: NDArray[np.float64],
    vectors: NDArray[np.float32],
    sound: NDArray[np.bool_],
) -> None:
    dim = vectors.shape[1]
    for row in range(len(sound)):
        place, end = offsets[row], offsets[row + 1]
        column = 0
        while True:
            while place < end and (text[place] == _SPACE or text[place] == _TAB):
                place += 1
            if place == end:
                sound[row] = column == dim
                break
            if column == dim:
                break
            negative = text[place] == _MINUS
            if negative or text[place] == _PLUS:
                place += 1
            digits, first, n_points, power = np.int64(0), place, 0, 0
            while place < end:
                digit = np.int64(text[place]) - _ZERO
                if 0 <= digit <= 9:
                    if digits < _ENOUGH:
                        digits = digits * 10 + digit
                        power -= n_points
                    else:
                        power += 1 - n_points
                elif text[place] == _POINT and not n_points:
                    n_points = 1
                else:
                    break
                place += 1
            n_digits = place - first - n_points
            if place < end and text[place] | 32 == _E:  # 32 is the bit between E and e
                place += 1
                below = place < end and text[place] == _MINUS
                if below or (place < end and text[place] == _PLUS):
                    place += 1
                exponent, first = np.int64(0), place
                while place < end and place - first < 3 and 0 <= np.int64(text[place]) - _ZERO <= 9:
                    exponent = exponent * 10 + np.int64(text[place]) - _ZERO
                    place += 1
                if place == first:
                    break
                power += int(-exponent if below else exponent)
            if n_digits == 0 or abs(power) > _MAX_POWER:
                break
            if place < end and text[place] != _SPACE and text[place] != _TAB:
                break
            number = np.float64(digits)
            number = number / powers[-power] if power < 0 else number * powers[power]
            vectors[row, column] = -number if negative else number
            column += 1
