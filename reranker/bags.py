"""Bags of words: distinct term ids with counts or weights, one by one and many at once, and their packed form."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reranker.errors import BadInput

_PACKED_FORMAT = 1


@dataclass(frozen=True, slots=True, eq=False)
class BagOfWords:
    """The known words of one text, counted.

    Attributes:
        term_ids: (m,) int32, distinct, ascending; rows of one embedding store.
        counts: (m,) int32, occurrences of each term, at least 1.
        n_unknown: tokens of the text that have no embedding.
    """

    term_ids: NDArray[np.int32]
    counts: NDArray[np.int32]
    n_unknown: int = 0

    def __len__(self) -> int:
        return len(self.term_ids)


@dataclass(frozen=True, slots=True, eq=False)
class WeightedBag:
    """nBOW of one text: `term_ids` (m,) int32, distinct; `weights` (m,) float64, positive, sum 1 (both empty if no word
    is known)."""

    term_ids: NDArray[np.int32]
    weights: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.term_ids)


@dataclass(frozen=True, slots=True, eq=False)
class WeightedBags:
    """Many nBOWs end to end: bag i is `term_ids[offsets[i]:offsets[i + 1]]` with the weights at the same places.

    Attributes:
        term_ids: (n_words,) int32.
        weights: (n_words,) float64; each bag's sum to 1.
        offsets: (n_bags + 1,) int64, ascending from 0; an empty bag repeats its offset.
    """

    term_ids: NDArray[np.int32]
    weights: NDArray[np.float64]
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> WeightedBag:
        if not 0 <= index < len(self):
            raise IndexError(index)
        start, end = self.offsets[index], self.offsets[index + 1]
        return WeightedBag(self.term_ids[start:end], self.weights[start:end])

    @classmethod
    def join(cls, bags: Sequence[WeightedBag]) -> WeightedBags:
        """Lays single bags end to end, in order."""
        offsets = np.zeros(len(bags) + 1, dtype=np.int64)
        if not bags:
            return cls(np.empty(0, np.int32), np.empty(0, np.float64), offsets)
        np.cumsum([len(bag) for bag in bags], out=offsets[1:])
        return cls(
            np.concatenate([bag.term_ids for bag in bags]).astype(np.int32, copy=False),
            np.concatenate([bag.weights for bag in bags]).astype(np.float64, copy=False),
            offsets,
        )


def pack(bag: BagOfWords) -> str:
    """A bag as base64 text for an index: a format byte, the unknown tokens (uint32), the term ids (uint32), the counts
    (uint16), little-endian. A count over 65,535 is kept as 65,535."""
    counts = np.minimum(bag.counts, np.iinfo(np.uint16).max).astype("<u2")
    raw = b"".join(
        [
            bytes([_PACKED_FORMAT]),
            np.uint32(bag.n_unknown).astype("<u4").tobytes(),
            bag.term_ids.astype("<u4").tobytes(),
            counts.tobytes(),
        ]
    )
    return base64.b64encode(raw).decode("ascii")


def unpack(packed: str) -> BagOfWords:
    """The bag that `pack` wrote.

    Raises:
        BadInput: the text is not base64 or not of this format.
    """
    try:
        raw = base64.b64decode(packed, validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadInput(f"a packed bag of words is not base64 ({error}); index the document again") from error
    if len(raw) < 5 or raw[0] != _PACKED_FORMAT or (len(raw) - 5) % 6:
        raise BadInput(
            f"a packed bag of words of {len(raw)} bytes is not of format {_PACKED_FORMAT}; index the document again"
        )
    n_terms = (len(raw) - 5) // 6
    return BagOfWords(
        term_ids=np.frombuffer(raw, "<u4", n_terms, 5).astype(np.int32),
        counts=np.frombuffer(raw, "<u2", n_terms, 5 + 4 * n_terms).astype(np.int32),
        n_unknown=int(np.frombuffer(raw, "<u4", 1, 1)[0]),
    )
