"""Texts in C: declares `read_texts.c` for ctypes. What a text's words are is defined by `reranker.text.tokens`."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reranker.native.library import address, declare

UNDOTTED_I, LETTER_APOSTROPHE, JOINED_L = 1, 2, 4
"""Flags of `LanguageStruct.rules`."""

ASKED = -3
"""The number of the first word that Python is asked for; -4 of the second one."""

NONE, STOP_WORD = -1, -2
"""What a word is, if not a term."""

SHORT = 64
"""Bytes of a word, of `LanguageStruct.changes`."""

FIRST_SLOTS = 4096
"""Of `WordsStruct`."""

WORD = np.dtype(
    [
        ("start", "<i8"),
        ("n_bytes", "<i4"),
        ("language", "<i4"),
        ("term", "<i4"),
        ("hash", "<u4"),
        ("fingerprint", "<u4"),
    ],
    align=True,
)
QUERY_WORD = np.dtype([("hash", "<u4"), ("column", "<i4"), ("stem_key", "<u8")])
CHOICE = np.dtype([("document", "<i4"), ("query_word", "<i4"), ("likeness", "<f4"), ("may_be_near", "<i4")])
MARK = np.dtype(
    [("text", "<i4"), ("start", "<i4"), ("end", "<i4"), ("word", "<i4"), ("query_word", "<i4"), ("likeness", "<f4")]
)
REPLACED = np.dtype([("letter", "<i4"), ("first", "<i4"), ("second", "<i4")])
PAIR = np.dtype(
    [("first", "S4"), ("second", "S4"), ("n_first", "<i4"), ("n_second", "<i4"), ("n_first_letters", "<i4")]
)
"""As of `compounds.h`."""

_Address, _Integer = ctypes.c_void_p, ctypes.c_int64


class VocabularyStruct(ctypes.Structure):
    """As of `vocabulary.h`."""

    _fields_ = (
        ("bytes", _Address),
        ("offsets", _Address),
        ("places", _Address),
        ("slots", _Address),
        ("n_slots", _Integer),
        ("n_terms", _Integer),
    )


class SpellingsStruct(ctypes.Structure):
    """As of `spelling.h`."""

    _fields_ = (("entries", _Address), ("starts", _Address), ("n_entries", _Integer))


class LanguageStruct(ctypes.Structure):
    """As of `read_texts.c`; its rules are the first three."""

    _fields_ = (
        ("replaced", _Address),
        ("n_replaced", _Integer),
        ("rules", _Integer),
        ("stop_words", VocabularyStruct),
        ("has_unaccented_stop_words", _Integer),
        ("place", _Integer),
        ("same_rules", _Integer),
        ("compounding", _Address),
        ("others", _Address),
        ("n_others", _Integer),
        ("spelling_offset", ctypes.c_uint64),
        ("changes", _Address),
        ("seed", ctypes.c_uint32),
    )


class PieceStruct(ctypes.Structure):
    """As of `tokens.h`."""

    _fields_ = (("n_tokens", _Integer), ("bytes", _Address), ("offsets", _Address), ("places", _Address))


ReadPiece = ctypes.CFUNCTYPE(None, _Address, _Integer, _Integer, ctypes.POINTER(PieceStruct))
"""As of `tokens.h`."""


class ReaderStruct(ctypes.Structure):
    """As of `read_texts.c`."""

    _fields_ = (
        ("terms", VocabularyStruct),
        ("spellings", SpellingsStruct),
        ("languages", _Address),
        ("n_places", _Integer),
        ("read_piece", ReadPiece),
    )


class TextsStruct(ctypes.Structure):
    """As of `letters.h`."""

    _fields_ = (("bytes", _Address), ("offsets", _Address), ("n_texts", _Integer))


class Texts(NamedTuple):
    """Texts in UTF-8, end to end.

    Attributes:
        struct: for C.
        arrays: to which it points.
    """

    struct: TextsStruct
    n_bytes: int
    arrays: tuple[bytes, NDArray[np.int64]]

    @classmethod
    def of(cls, texts: Sequence[str]) -> Texts:
        encoded = [text.encode("utf-8", "surrogatepass") for text in texts]  # half a pair comes in from JSON
        joined = b"".join(encoded)
        offsets = np.zeros(len(texts) + 1, np.int64)
        np.cumsum(list(map(len, encoded)), out=offsets[1:])
        start = ctypes.cast(ctypes.c_char_p(joined), _Address)
        return cls(TextsStruct(start, address(offsets), len(texts)), len(joined), (joined, offsets))


class WordsStruct(ctypes.Structure):
    """As of `words.h`."""

    _fields_ = (
        ("words", _Address),
        ("n_words", _Integer),
        ("slots", _Address),
        ("n_slots", _Integer),
        ("letters", _Address),
        ("n_letters", _Integer),
    )


class CompoundingStruct(ctypes.Structure):
    """As of `compounds.h`."""

    _fields_ = (
        ("terms", VocabularyStruct),
        ("place", _Integer),
        ("ids", _Address),
        ("n_ids", _Integer),
        ("last_frequent", _Integer),
        ("links", _Address),
        ("n_links", _Integer),
        ("respelled", _Address),
        ("n_respelled", _Integer),
        ("spellings", SpellingsStruct),
        ("spelling_offset", ctypes.c_uint64),
        ("stem_keys", _Address),
        ("has_gradation", _Integer),
        ("seed", ctypes.c_uint32),
    )


class BagsStruct(ctypes.Structure):
    """As of `read_texts.c`."""

    _fields_ = (
        ("offsets", _Address),
        ("term_ids", _Address),
        ("counts", _Address),
        ("n_unknown", _Address),
        ("hash_offsets", _Address),
        ("hashes", _Address),
        ("parts", _Address),
        ("hash_parts", _Address),
    )


class QueryStruct(ctypes.Structure):
    """As of `marks.c`."""

    _fields_ = (("words", _Address), ("n", _Integer), ("least", ctypes.c_float), ("share_of_nearest", ctypes.c_float))


class ReadWordsStruct(ctypes.Structure):
    """As of `marks.c`."""

    _fields_ = (
        ("words", _Address),
        ("n", _Integer),
        ("rows", _Address),
        ("costs", _Address),
        ("width", _Integer),
        ("stem_keys", _Address),
        ("cosines", _Address),
        ("choices", _Address),
        ("near", _Address),
    )


read_texts = declare("read_texts", "pppqpppp", "q")
find_first_words = declare("find_first_words", "ppqppppp")
count_bags = declare("count_bags", "pqppppqpppp")
mark_tokens = declare("mark_tokens", "pppqpppppp", "q")
list_terms = declare("list_terms", "pqpppp", "q")
nearest_spelling = declare("nearest_spelling", "ppqqpq", "q")
stand_in = declare("stand_in", "pqpq", "q")
split_words = declare("split_words", "ppppppq", "q")
stem_key = declare("stem_key", "pq", "q")
set_hash_secret = declare("set_hash_secret", "q")

set_hash_secret(int.from_bytes(os.urandom(8), "little", signed=True))
