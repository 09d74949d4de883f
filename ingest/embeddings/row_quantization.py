"""Products in 8 bits for ONNX models, with a scale of its own for each row.

ONNX's `DynamicQuantizeLinear` has one scale for a whole batch, so that a text's vector depends on the texts beside it.
With a scale for each row of a product it does not: a text has the same vector, bit for bit, in every batch. The weights
have 7 bits: the sum of two products then fits into the 16 bits that processors without VNNI add them in (onnxruntime's
`reduce_range`), and all processors compute the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

VERSION = "rows 2"
"""Changes when the vectors of a model change."""

MAX_WEIGHT = 64
"""The largest weight: two products with numbers of 8 bits, 2 · 255 · 64, are less than 2^15."""

_MAX_NUMBER = 255
_LEAST = np.float32(1e-12)

AddNode = Callable[..., str]
"""Adds a node (operator, inputs, output, attributes) to a graph and returns the name of its output."""


class RowProducts:
    """Adds the nodes of products of rows with weights: x ≈ least + step · q, where q is of 8 bits, `least` is the
    smallest number of the row and `step` is a 255th of the distance to its largest.

    Rows of a transformer have a few large numbers, most of one sign. Over symmetric bounds the rounding of rows turns
    the vectors of sentences 3 times as far (1 - cosine).

    Args:
        onnx: the package.
        add_node: adds a node to the graph; the graph's operators are of version 18 or later.

    Attributes:
        constants: initializers of the products; add them to the model at the end.
    """

    def __init__(self, onnx: Any, add_node: AddNode) -> None:
        self._add_node, self._from_array = add_node, onnx.numpy_helper.from_array
        self.constants: list[Any] = []
        self._constant("row_axis", np.array([-1]))
        self._constant("row_flat", np.array([-1]))
        self._constant("row_least_span", _LEAST)
        self._constant("row_part", np.float32(1 / _MAX_NUMBER))
        self._constant("row_one", np.float32(1))
        self._constant("row_zero_point", np.uint8(0))

    def product(self, rows: str, weights: NDArray[np.float32], name: str) -> str:
        """The product of rows (n, n_in) with weights (n_in, n_out), by their names."""
        node = self._add_node
        small, scales = quantized_weights(weights)
        largest = node("ReduceMax", [rows, "row_axis"], f"{name}_largest", keepdims=1)
        least = node("ReduceMin", [rows, "row_axis"], f"{name}_least", keepdims=1)
        span = node("Add", [node("Sub", [largest, least], f"{name}_span"), "row_least_span"], f"{name}_bound")
        step = node("Mul", [span, "row_part"], f"{name}_step")
        steps = node("Reshape", [step, "row_flat"], f"{name}_steps")
        above = node("Sub", [rows, least], f"{name}_above")
        quantized = node("QuantizeLinear", [above, steps], f"{name}_quantized", axis=0)
        # Weights with their scales, for rows in units of their step.
        weights_name = self._constant(f"{name}_w", small)
        scales_name = self._constant(f"{name}_scales", scales)
        units = node(
            "MatMulIntegerToFloat",
            [quantized, weights_name, "row_one", scales_name, "row_zero_point"],
            f"{name}_units",
            domain="com.microsoft",
        )
        sums = self._constant(f"{name}_sums", (small.sum(axis=0, dtype=np.int64) * scales).astype(np.float32)[None])
        of_steps = node("Mul", [units, step], f"{name}_of_steps")
        return node("Add", [of_steps, node("Mul", [least, sums], f"{name}_of_least")], f"{name}_products")

    def _constant(self, name: str, values: NDArray[Any] | np.generic) -> str:
        self.constants.append(self._from_array(np.asarray(values), name))
        return name


def quantized_weights(weights: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Weights (n_in, n_out) in 7 bits, and the scale (n_out,) of each column. Weights that onnxruntime quantized with
    `reduce_range` stay what they are.

    >>> quantized_weights(np.array([[0.25, -128.0], [-1.0, 64.0]], dtype=np.float32))
    (array([[ 16, -64],
           [-64,  32]], dtype=int8), array([0.015625, 2.      ], dtype=float32))
    """
    scales = np.abs(weights).max(axis=0) / np.float32(MAX_WEIGHT)
    return np.round(weights / scales).astype(np.int8), scales.astype(np.float32)
