"""Writes an encoder of BERT's form (Devlin et al. 2019) as an ONNX model with products in 8 bits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ingest.embeddings.row_quantization import row_product

# The first versions with tensors of 4 bits.
_OPSET, _IR_VERSION = 21, 10
RUNTIME = "com.microsoft"
"""The domain of onnxruntime's own operators."""
_MASKED = np.float32(-1e9)


@dataclass(frozen=True, slots=True, eq=False)
class BertWeights:
    """The weights of a model.

    Attributes:
        read_words: adds the nodes that read the vectors of `input_ids` (n_texts, n_tokens) and returns the name of
            their output, (n_texts, n_tokens, dim).
        tensors: `emb.pos` and `emb.type`, whose rows follow each other; of each layer (`l0.`) the matrices (n_in,
            n_out) and biases `q`, `k`, `v`, `ao`, `fi` and `fo` (`.w`, `.b`); of the normalisations (`emb.ln`,
            `l0.aln`, `l0.oln`) `.w` and `.b`.
    """

    dim: int
    n_layers: int
    n_heads: int
    epsilon: float
    read_words: Callable[[BertGraph], str]
    tensors: Mapping[str, NDArray[np.float32]]


class BertGraph:
    """The nodes and constants of a model; most methods add nodes and return the name of their output."""

    def __init__(self, weights: BertWeights, onnx: Any) -> None:
        self._weights, self.onnx = weights, onnx
        self._nodes: list[Any] = []
        self.constants: dict[str, Any] = {}

    def model(self, name: str) -> bytes:
        """The ONNX model; its output is (n_texts, n_tokens, dim)."""
        helper, types, dim, n_heads = self.onnx.helper, self.onnx.TensorProto, self._weights.dim, self._weights.n_heads
        # Rows are tokens, of all texts together, so that each has a scale of its own.
        shape = self.node("Shape", ["input_ids"], "texts_and_tokens")
        for sizes, of in (([n_heads, dim // n_heads], "by_head"), ([dim], "by_text")):
            self.node("Concat", [shape, self.constant(f"{of}_sizes", np.array(sizes))], of, axis=0)
        self.constant("as_rows", np.array([-1, dim]))
        read = self.node("Reshape", [self._read_tokens(), "as_rows"], "read_rows")
        rows = self._layer_norm(read, "emb.ln")
        bias = self._mask_bias()
        for number in range(self._weights.n_layers):
            rows = self._layer(rows, f"l{number}.", bias)
        self.node("Reshape", [rows, "by_text"], "last_hidden_state")
        graph = helper.make_graph(
            self._nodes,
            name,
            [
                helper.make_tensor_value_info(given, types.INT64, ["n_texts", "n_tokens"])
                for given in ("input_ids", "attention_mask")
            ],
            [helper.make_tensor_value_info("last_hidden_state", types.FLOAT, ["n_texts", "n_tokens", dim])],
            list(self.constants.values()),
        )
        opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid(RUNTIME, 1)]
        return bytes(helper.make_model(graph, opset_imports=opsets, ir_version=_IR_VERSION).SerializeToString())

    def constant(self, name: str, values: NDArray[Any] | np.generic) -> str:
        """Adds a constant; again with the same name it is the same one."""
        array = np.ascontiguousarray(values)
        if not np.ndim(values):
            array = array.reshape(())
        self.constants[name] = self.onnx.numpy_helper.from_array(array, name)
        return name

    def node(self, operator: str, inputs: list[str], output: str, **attributes: Any) -> str:
        self._nodes.append(self.onnx.helper.make_node(operator, inputs, [output], **attributes))
        return output

    def _read_tokens(self) -> str:
        """The vectors of the tokens and of their places."""
        tensors, dim = self._weights.tensors, self._weights.dim
        words = self._weights.read_words(self)
        places = self.constant("places", tensors["emb.pos"].reshape(-1, dim) + tensors["emb.type"].reshape(-1)[:dim])
        n_tokens = self.node("Shape", ["input_ids"], "n_tokens", start=1, end=2)
        first, axis = self.constant("first", np.array([0])), self.constant("place_axis", np.array([0]))
        return self.node("Add", [words, self.node("Slice", [places, first, n_tokens, axis], "places_read")], "read")

    def _mask_bias(self) -> str:
        """0 for a token, -1e9 for padding, (n_texts, 1, 1, n_tokens)."""
        mask = self.node("Cast", ["attention_mask"], "mask", to=self.onnx.TensorProto.FLOAT)
        padding = self.node("Sub", [self.constant("one", np.float32(1)), mask], "padding")
        bias = self.node("Mul", [padding, self.constant("masked", _MASKED)], "padding_bias")
        return self.node("Unsqueeze", [bias, self.constant("head_axes", np.array([1, 2]))], "bias")

    def _layer(self, rows: str, layer: str, bias: str) -> str:
        attended = self._linear(self._attended(rows, layer, bias), layer, "ao")
        rows = self._layer_norm(self.node("Add", [rows, attended], f"{layer}attended"), f"{layer}aln")
        inner = self.node("Gelu", [self._linear(rows, layer, "fi")], f"{layer}gelu")
        outer = self.node("Add", [rows, self._linear(inner, layer, "fo")], f"{layer}outer")
        return self._layer_norm(outer, f"{layer}oln")

    def _attended(self, rows: str, layer: str, bias: str) -> str:
        dim, n_heads = self._weights.dim, self._weights.n_heads
        parts = [f"{layer}{part}" for part in ("queries", "keys", "values")]
        sizes = self.constant(f"{layer}sizes", np.array([dim] * 3))
        every = self._linear(rows, layer, "q", "k", "v")
        self._nodes.append(self.onnx.helper.make_node("Split", [every, sizes], parts, axis=-1))

        def heads(part: str, order: list[int]) -> str:
            split = self.node("Reshape", [part, "by_head"], f"{part}_heads")
            return self.node("Transpose", [split], f"{part}_by_head", perm=order)

        queries, keys, values = (
            heads(part, order) for part, order in zip(parts, ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]), strict=True)
        )
        scale = self.constant(f"{layer}scale", np.float32((dim // n_heads) ** -0.5))
        scores = self.node("Mul", [self.node("MatMul", [queries, keys], f"{layer}dots"), scale], f"{layer}scaled")
        masked = self.node("Add", [scores, bias], f"{layer}masked")
        shares = self.node("Softmax", [masked], f"{layer}shares", axis=-1)
        context = self.node("MatMul", [shares, values], f"{layer}context")
        ordered = self.node("Transpose", [context], f"{layer}ordered", perm=[0, 2, 1, 3])
        return self.node("Reshape", [ordered, "as_rows"], f"{layer}context_rows")

    def _linear(self, rows: str, layer: str, *parts: str) -> str:
        """Products of rows with the matrices of the parts side by side, in 8 bits, and their biases."""
        tensors, name = self._weights.tensors, layer + "".join(parts)
        weights = np.concatenate([tensors[f"{layer}{part}.w"] for part in parts], axis=1)
        biases = np.concatenate([tensors[f"{layer}{part}.b"] for part in parts])
        products = row_product(self, rows, weights, name)
        return self.node("Add", [products, self.constant(f"{name}_b", biases)], f"{name}_linear")

    def _layer_norm(self, rows: str, name: str) -> str:
        tensors = self._weights.tensors
        inputs = [
            rows,
            self.constant(f"{name}.w", tensors[f"{name}.w"]),
            self.constant(f"{name}.b", tensors[f"{name}.b"]),
        ]
        return self.node("LayerNormalization", inputs, f"{name}_normalized", axis=-1, epsilon=self._weights.epsilon)
