"""Products in 8 bits for ONNX models, with a scale of its own for each token.

ONNX's `DynamicQuantizeLinear` has one scale for a whole batch, so that a text's vector depends on the texts beside it.
With a scale for each row of a product it does not: a text has the same vector, bit for bit, in every batch. The weights
have 7 bits: the sum of two products then fits into the 16 bits that processors without VNNI add them in (onnxruntime's
`reduce_range`), and all processors compute the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

MAX_WEIGHT = 63
"""The largest weight of 7 bits."""

_MAX_ROW = np.float32(127)
_ZERO_POINT = np.uint8(128)
_LEAST = np.float32(1e-12)
# From this version of ONNX's operators on, the axes of a reduction are an input.
_OPSET_WITH_AXES_INPUT = 18


class RowQuantizer:
    """Makes the nodes that turn rows into 8 bits: x ≈ (q - 128) / factor, where factor = 127 / max |x| of the row.

    Args:
        onnx: the package.
        opset: version of ONNX's operators in the model.

    Attributes:
        constants: initializers that the nodes need; add them to the model once.
    """

    ZERO_POINT = "row_zero_point"

    def __init__(self, onnx: Any, opset: int) -> None:
        self._make_node = onnx.helper.make_node
        values: dict[str, Any] = {
            "row_largest": _MAX_ROW,
            "row_least": _LEAST,
            "row_shift": np.float32(_ZERO_POINT),
            self.ZERO_POINT: _ZERO_POINT,
        }
        self._has_axes_input = opset >= _OPSET_WITH_AXES_INPUT
        if self._has_axes_input:
            values["row_axis"] = np.array([-1], dtype=np.int64)
        self.constants = [onnx.numpy_helper.from_array(np.asarray(value), name) for name, value in values.items()]
        self._to_uint8 = onnx.TensorProto.UINT8

    def nodes(self, rows: str, quantized: str, factor: str) -> list[Any]:
        """The nodes from a tensor (…, dim) to its 8 bits (…, dim) and its factors (…, 1), by their names.

        Divide products by the factors. (onnxruntime takes a product that is multiplied by scales for one with a single
        scale, `MatMulIntegerToFloat`.)
        """
        name = f"{quantized}_of_rows"
        axes: dict[str, Any] = {} if self._has_axes_input else {"axes": [-1]}
        reduced = [f"{name}_abs", *(["row_axis"] if self._has_axes_input else [])]
        return [
            self._make_node("Abs", [rows], [f"{name}_abs"]),
            self._make_node("ReduceMax", reduced, [f"{name}_max"], keepdims=1, **axes),
            self._make_node("Add", [f"{name}_max", "row_least"], [f"{name}_bound"]),
            self._make_node("Div", ["row_largest", f"{name}_bound"], [factor]),
            self._make_node("Mul", [rows, factor], [f"{name}_scaled"]),
            self._make_node("Round", [f"{name}_scaled"], [f"{name}_round"]),
            self._make_node("Add", [f"{name}_round", "row_shift"], [f"{name}_shifted"]),
            self._make_node("Cast", [f"{name}_shifted"], [quantized], to=self._to_uint8),
        ]


def quantized_weights(weights: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Weights (n_in, n_out) in 7 bits, and the scale (n_out,) of each column.

    >>> quantized_weights(np.array([[0.25, -126.0], [-1.0, 63.0]], dtype=np.float32))
    (array([[ 16, -63],
           [-63,  32]], dtype=int8), array([0.01587302, 2.        ], dtype=float32))
    """
    scales = np.abs(weights).max(axis=0) / np.float32(MAX_WEIGHT)
    return np.round(weights / scales).astype(np.int8), scales.astype(np.float32)


def with_row_scales(content: bytes, onnx: Any) -> bytes:
    """A model that was quantized dynamically (onnxruntime's `quantize_dynamic`), with a scale for each row instead of
    one for the whole batch."""
    model = onnx.load_from_string(content)
    graph = model.graph
    quantizer = RowQuantizer(onnx, next(each.version for each in model.opset_import if not each.domain))
    nodes: list[Any] = []
    factors: dict[str, str] = {}
    zero_points: set[str] = set()
    for node in graph.node:
        if node.op_type == "DynamicQuantizeLinear":
            quantized, scale, zero_point = node.output
            factors[scale] = f"{scale}_factor"
            zero_points.add(zero_point)
            nodes += quantizer.nodes(node.input[0], quantized, factors[scale])
            continue
        for place, name in enumerate(node.input):
            if name in zero_points:
                node.input[place] = RowQuantizer.ZERO_POINT
        if node.op_type == "Mul" and node.input[0] in factors:
            node = onnx.helper.make_node("Div", [node.input[1], factors[node.input[0]]], node.output)
        nodes.append(node)
    del graph.node[:]
    graph.node.extend(nodes)
    graph.initializer.extend(quantizer.constants)
    return bytes(model.SerializeToString())
