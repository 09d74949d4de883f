"""Products in 8 bits for ONNX models, with a scale of its own for each row.

ONNX's `DynamicQuantizeLinear` has one scale for a whole batch, so that a text's vector depends on the texts beside it.
With a scale for each row of a product it does not: a text has the same vector, bit for bit, in every batch. The weights
have 7 bits: the sum of two products then fits into the 16 bits that processors without VNNI add them in (onnxruntime's
`reduce_range`), and all processors compute the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from ingest.embeddings.bert_onnx import BertGraph

VERSION = "rows 2"
"""Changes when the vectors of a model change."""

MAX_WEIGHT = 64
"""The largest weight: two products with numbers of 8 bits, 2 · 255 · 64, are less than 2^15."""

_MAX_NUMBER = 255
_LEAST = np.float32(1e-12)


def row_product(graph: BertGraph, rows: str, weights: NDArray[np.float32], name: str) -> str:
    """Adds the nodes of the product of rows (n, n_in) with weights (n_in, n_out): x ≈ least + step · q, where q is of 8
    bits, `least` is the smallest number of the row and `step` is a 255th of the distance to its largest. Returns the
    name of its output.

    Rows of a transformer have a few large numbers, most of one sign. Over symmetric bounds the rounding of rows turns
    the vectors of sentences 3 times as far (1 - cosine).
    """
    node, constant = graph.node, graph.constant
    axis, one = constant("row_axis", np.array([-1])), constant("row_one", np.float32(1))
    small, scales = quantized_weights(weights)
    largest = node("ReduceMax", [rows, axis], f"{name}_largest", keepdims=1)
    least = node("ReduceMin", [rows, axis], f"{name}_least", keepdims=1)
    span = node("Sub", [largest, least], f"{name}_span")
    bound = node("Add", [span, constant("row_least_span", _LEAST)], f"{name}_bound")
    step = node("Mul", [bound, constant("row_part", np.float32(1 / _MAX_NUMBER))], f"{name}_step")
    steps = node("Reshape", [step, axis], f"{name}_steps")
    above = node("Sub", [rows, least], f"{name}_above")
    quantized = node("QuantizeLinear", [above, steps], f"{name}_quantized", axis=0)
    # Weights with their scales, for rows in units of their step.
    inputs = [quantized, constant(f"{name}_w", small), one, constant(f"{name}_scales", scales)]
    zero_point = constant("row_zero_point", np.uint8(0))
    units = node("MatMulIntegerToFloat", [*inputs, zero_point], f"{name}_units", domain="com.microsoft")
    sums = constant(f"{name}_sums", (small.sum(axis=0, dtype=np.int64) * scales).astype(np.float32)[None])
    of_steps = node("Mul", [units, step], f"{name}_of_steps")
    return node("Add", [of_steps, node("Mul", [least, sums], f"{name}_of_least")], f"{name}_products")


def quantized_weights(weights: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Weights (n_in, n_out) in 7 bits, and the scale (n_out,) of each column. Weights that onnxruntime quantized with
    `reduce_range` stay what they are.

    >>> quantized_weights(np.array([[0.25, -128.0], [-1.0, 64.0]], dtype=np.float32))
    (array([[ 16, -64],
           [-64,  32]], dtype=int8), array([0.015625, 2.      ], dtype=float32))
    """
    scales = np.abs(weights).max(axis=0) / np.float32(MAX_WEIGHT)
    return np.round(weights / scales).astype(np.int8), scales.astype(np.float32)
