"""Bags of words: distinct term ids with counts or weights, single or many together, and their packed form."""

from __future__ import annotations

import binascii
import struct
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from reranker.base.errors import BadInput
from reranker.native import transport as loops

_PACKED_FORMAT, _WITH_PARTS = 2, 3
# Format, number of unknown tokens, number of their hashes.
_HEADER = struct.Struct("<BIH")
_MOST = 65_535
_NONE = np.empty(0, np.uint32)
_UINT32, _UINT16 = np.dtype("<u4"), np.dtype("<u2")

# Distinct unknown tokens of a text whose hashes its bag holds, 4 bytes each: a page has tens, a log file any number.
MAX_UNKNOWN_HASHES = 2_000

LONG_TEXT = 384
"""Tokens; of a text with more its bag tells in which parts of it a word stands. From 256 on scientific abstracts
lose (papers/results/order.md)."""


# A frozen one takes three times as long to make, and a search unpacks hundreds.
@dataclass(slots=True, eq=False)
class BagOfWords:
    """The known words of one text, counted; not to be changed.

    Attributes:
        term_ids: (m,) int32, distinct, ascending; rows of one embedding store.
        counts: (m,) int32, occurrences of each term, at least 1.
        n_unknown: tokens of the text that have no embedding.
        unknown_hashes: (k,) uint32, distinct, ascending: `unknown_hash` of these tokens. By them a name or number
            without an embedding still matches.
        exact_keys: keys of the short texts it was made from, such as titles (`exact_text`); not packed.
        parts: (m + k,) uint32, of each term and then of each unknown hash: bit i is set where the i-th 64 tokens of the
            text have it; the last bit stands for all that follow. None for a text of up to `LONG_TEXT` tokens.
        weighed: what the last re-ranker computed of it (`ranking.candidate_cache`).
    """

    term_ids: NDArray[np.int32]
    counts: NDArray[np.int32]
    n_unknown: int = 0
    unknown_hashes: NDArray[np.uint32] = field(default_factory=lambda: _NONE)
    exact_keys: frozenset[int] = frozenset()
    parts: NDArray[np.uint32] | None = None
    weighed: Any = field(default=None, init=False, repr=False)

    def __len__(self) -> int:
        return len(self.term_ids)

    def at_parts(self, parts: int) -> BagOfWords:
        """The words of some parts of the text, each once.

        Args:
            parts: a bit for each, as of `self.parts`, which is known.
        """
        assert self.parts is not None  # noqa: S101 - the caller has looked
        here = self.parts & np.uint32(parts)
        term_ids, hashes = self.term_ids[here[: len(self)] != 0], self.unknown_hashes[here[len(self) :] != 0]
        return BagOfWords(term_ids, np.ones_like(term_ids), len(hashes), hashes, self.exact_keys)

    def is_within(self, n_terms: int) -> bool:
        """Whether all term ids are rows of an embedding store of `n_terms` terms. Check it for bags from outside."""
        # Read as unsigned, a negative one is larger than any.
        return not len(self.term_ids) or int(np.maximum.reduce(self.term_ids.view(np.uint32))) < n_terms


class JoinedBags(NamedTuple):
    """Many bags end to end: bag i is `term_ids[offsets[i]:offsets[i + 1]]` with the counts at the same places.

    Attributes:
        term_ids, counts: (n_words,) int32.
        offsets: (n_bags + 1,) int64, ascending from 0; an empty bag repeats its offset.
    """

    term_ids: NDArray[np.int32]
    counts: NDArray[np.int32]
    offsets: NDArray[np.int64]

    @classmethod
    def of(cls, bags: Sequence[BagOfWords]) -> JoinedBags:
        words = [bag.term_ids for bag in bags]
        offsets = np.zeros(len(words) + 1, dtype=np.int64)
        np.add.accumulate(list(map(len, words)), out=offsets[1:])
        return cls(end_to_end(words, np.int32), end_to_end([bag.counts for bag in bags], np.int32), offsets)


@dataclass(frozen=True, slots=True, eq=False)
class WeightedBag:
    """nBOW of one text: `term_ids` (m,) int32, distinct; `weights` (m,) float64, positive, sum 1 (both empty if no word
    is known)."""

    term_ids: NDArray[np.int32]
    weights: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.term_ids)


class DistinctTerms(NamedTuple):
    """The distinct terms of many bags.

    Attributes:
        term_ids: (k,) int32, ascending: every term of the bags, and maybe some that no bag holds any more.
        places: (n_words,) int32, the place of each word's term among these.
    """

    term_ids: NDArray[np.int32]
    places: NDArray[np.int32]


@dataclass(slots=True, eq=False)
class WeightedBags:
    """Many nBOWs end to end: bag i is `term_ids[offsets[i]:offsets[i + 1]]` with the weights at the same places; not to
    be changed.

    Attributes:
        term_ids: (n_words,) int32.
        weights: (n_words,) float64; each bag's sum to 1.
        offsets: (n_bags + 1,) int64, ascending from 0; an empty bag repeats its offset.
        known_distinct: what `distinct` has found; None where nobody has asked.
    """

    term_ids: NDArray[np.int32]
    weights: NDArray[np.float64]
    offsets: NDArray[np.int64]
    known_distinct: DistinctTerms | None = None

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> WeightedBag:
        if not 0 <= index < len(self):
            raise IndexError(index)
        start, end = self.offsets[index], self.offsets[index + 1]
        return WeightedBag(self.term_ids[start:end], self.weights[start:end])

    def slice(self, first: int, last: int) -> WeightedBags:
        """The bags from `first` to before `last`."""
        start, end = self.offsets[first], self.offsets[last]
        offsets = self.offsets[first : last + 1] - start
        return WeightedBags(self.term_ids[start:end], self.weights[start:end], offsets)

    @property
    def distinct(self) -> DistinctTerms:
        """The distinct terms of all bags, found once."""
        if self.known_distinct is None:
            self.known_distinct = distinct_terms(self.term_ids)
        return self.known_distinct

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


def end_to_end(arrays: Iterable[NDArray[Any] | bytes], dtype: DTypeLike) -> NDArray[Any]:
    """Arrays of one type, or their bytes, as one array: for many short ones in a third of the time of `concatenate`."""
    return np.frombuffer(bytearray().join(arrays), dtype)  # type: ignore[arg-type]


def distinct_terms(term_ids: NDArray[np.int32], n_terms: int | None = None) -> DistinctTerms:
    """The distinct terms of many words.

    Args:
        n_terms: of the embeddings; None where the words are known to be of them.

    Raises:
        BadInput: as `check_term_ids`.
    """
    if n_terms is None:
        n_terms = int(term_ids.max(initial=-1)) + 1
    check_term_ids(term_ids, n_terms)
    return DistinctTerms(*loops.distinct_terms(np.ascontiguousarray(term_ids, np.int32), n_terms))


def check_term_ids(term_ids: NDArray[np.int32], n_terms: int) -> None:
    """
    Raises:
        BadInput: a term id is none of the `n_terms` embeddings.
    """
    if len(term_ids) and (term_ids.min() < 0 or term_ids.max() >= n_terms):
        wrong = (term_ids < 0) | (term_ids >= n_terms)
        raise BadInput(
            f"term id {int(term_ids[wrong][0])} is outside the {n_terms} embeddings;"
            " index the documents again with this store"
        )


def unknown_hash(token: str) -> int:
    """The hash of a token without an embedding: CRC-32 of its UTF-8, 0 to 2^32 - 1, the same in every process."""
    return zlib.crc32(token.encode(errors="surrogatepass"))  # half a pair comes in from JSON


def unknown_hashes(tokens: Iterable[str]) -> NDArray[np.uint32]:
    """The distinct hashes of the tokens, ascending; the smallest `MAX_UNKNOWN_HASHES` if there are more."""
    return np.array(sorted({unknown_hash(token) for token in tokens})[:MAX_UNKNOWN_HASHES], dtype=np.uint32)


def holds_hashes(bags: Sequence[BagOfWords], hashes: Sequence[int]) -> NDArray[np.bool_]:
    """(n_bags, n_hashes): which bags hold which hashes of unknown tokens."""
    found = np.zeros((len(bags), len(hashes)), np.bool_)
    of_bags = [bag.unknown_hashes for bag in bags]
    ends, every_hash = np.cumsum(list(map(len, of_bags))), np.concatenate([_NONE, *of_bags])
    for place, one in enumerate(hashes):
        found[np.searchsorted(ends, np.flatnonzero(every_hash == one), side="right"), place] = True
    return found


def pack(bag: BagOfWords) -> str:
    """Packs a bag into base64 text for an index.

    Little-endian: a format byte, the number of unknown tokens (uint32), the number of their hashes (uint16), the hashes
    (uint32), the term ids (uint32), the counts (uint16, at most 65,535). Where parts are known, the format byte is 3,
    not 2, and the parts (uint32) come last.
    """
    hashes = bag.unknown_hashes
    kind = _PACKED_FORMAT if bag.parts is None else _WITH_PARTS
    header = _HEADER.pack(kind, bag.n_unknown, len(hashes))
    # What has the byte order of the format already is not copied.
    known = hashes.astype(_UINT32, copy=False).tobytes()
    counts = np.minimum(bag.counts, _MOST).astype(_UINT16)
    parts = b"" if bag.parts is None else bag.parts.astype(_UINT32, copy=False).tobytes()
    raw = b"".join([header, known, bag.term_ids.astype("<i4", copy=False).tobytes(), counts.tobytes(), parts])
    return binascii.b2a_base64(raw, newline=False).decode("ascii")


def unpack(packed: str, exact_keys: frozenset[int] = frozenset()) -> BagOfWords:
    """Reads a bag that `pack` wrote; the padding of the base64 may be missing, as in OpenSearch's doc values.

    Args:
        exact_keys: of its document, which are not packed.

    Raises:
        BadInput: the text is not base64, or not in this format.
    """
    try:
        raw = binascii.a2b_base64(packed + "=" * (-len(packed) % 4), strict_mode=True)
    except (binascii.Error, ValueError) as error:
        raise BadInput(f"a packed bag of words is not base64 ({error}); index the document again") from error
    if len(raw) < _HEADER.size or raw[0] not in (_PACKED_FORMAT, _WITH_PARTS):
        raise _wrong_format(raw)
    kind, n_unknown, n_hashes = _HEADER.unpack_from(raw)
    has_parts = kind == _WITH_PARTS
    start = _HEADER.size + 4 * n_hashes
    n_bytes, a_term = len(raw) - start - has_parts * 4 * n_hashes, 10 if has_parts else 6
    if n_bytes < 0 or n_bytes % a_term:
        raise _wrong_format(raw)
    n_terms = n_bytes // a_term
    # Copied once, since they lie at odd places.
    numbers = np.frombuffer(raw, _UINT32, n_hashes + n_terms, _HEADER.size).astype(np.uint32)
    return BagOfWords(
        numbers[n_hashes:].view(np.int32),
        np.frombuffer(raw, _UINT16, n_terms, start + 4 * n_terms).astype(np.int32),
        n_unknown,
        numbers[:n_hashes],
        exact_keys,
        np.frombuffer(raw, _UINT32, n_terms + n_hashes, start + 6 * n_terms).astype(np.uint32) if has_parts else None,
    )


def _wrong_format(raw: bytes) -> BadInput:
    return BadInput(
        f"a packed bag of words of {len(raw)} bytes is of neither format {_PACKED_FORMAT} nor {_WITH_PARTS}; "
        "index the document again"
    )
