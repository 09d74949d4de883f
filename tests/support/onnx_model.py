"""Writes a tiny ONNX model by hand (the protobuf of onnx.proto3), a table whose rows are the token vectors; and the
`tokenizer.json` beside it."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from typing import Any

_FLOAT, _INT64 = 1, 7


def embedding_model(rows: Sequence[tuple[float, ...]]) -> bytes:
    """A model of one Gather: `input_ids` (1, n) picks (1, n, dim) of the rows."""
    table = (
        _number(1, len(rows))
        + _number(1, len(rows[0]))
        + _number(2, _FLOAT)
        + _text(8, "table")
        + _bytes(9, b"".join(struct.pack("<f", value) for row in rows for value in row))
    )
    node = _text(1, "table") + _text(1, "input_ids") + _text(2, "last_hidden_state") + _text(4, "Gather")
    graph = (
        _bytes(1, node)
        + _text(2, "tiny")
        + _bytes(5, table)
        + _bytes(11, _tensor("input_ids", _INT64, 2))
        + _bytes(12, _tensor("last_hidden_state", _FLOAT, 3))
    )
    return _number(1, 8) + _bytes(7, graph) + _bytes(8, _number(2, 13))


def tokenizer(tokens: Sequence[str], pre_tokenizer: dict[str, Any], **more: Any) -> bytes:
    """A `tokenizer.json` whose token ids are the places of the tokens; the first stands for unknown ones.

    Args:
        more: sections in place of the usual ones.
    """
    parts = ("truncation", "padding", "normalizer", "post_processor", "decoder")
    vocabulary = {token: place for place, token in enumerate(tokens)}
    model = {"type": "WordLevel", "vocab": vocabulary, "unk_token": tokens[0]}
    sections = {"version": "1.0", "added_tokens": [], "pre_tokenizer": pre_tokenizer, "model": model}
    return json.dumps({**dict.fromkeys(parts), **sections, **more}).encode()


def _tensor(name: str, element: int, rank: int) -> bytes:
    """ValueInfoProto of a tensor whose dimensions are not fixed."""
    shape = b"".join(_bytes(1, _text(2, f"{name}_{axis}")) for axis in range(rank))
    return _text(1, name) + _bytes(2, _bytes(1, _number(1, element) + _bytes(2, shape)))


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _text(field: int, content: str) -> bytes:
    return _bytes(field, content.encode())


def _varint(value: int) -> bytes:
    parts = []
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*parts, value])
