"""Products in 8 bits with a scale for each row, beside the exact products and those with one scale for the batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ingest.embeddings.row_quantization import with_row_scales

onnx: Any = pytest.importorskip("onnx", reason="needs pip install 'sinkrank[prepare]'")
onnxruntime: Any = pytest.importorskip("onnxruntime", reason="needs pip install 'sinkrank[prepare]'")

WEIGHTS = np.array([[64, -32], [16, 48], [-8, 64]], dtype=np.int8)
SCALES = np.array([0.01, 0.02], dtype=np.float32)


def quantized_model(opset: int) -> bytes:
    """rows (n, 3) times WEIGHTS · SCALES, as onnxruntime's dynamic quantization writes it."""
    node, number = onnx.helper.make_node, onnx.TensorProto.FLOAT
    nodes = [
        node("DynamicQuantizeLinear", ["rows"], ["q", "scale", "zero"]),
        node("MatMulInteger", ["q", "weights", "zero"], ["sums"]),
        node("Cast", ["sums"], ["numbers"], to=number),
        node("Mul", ["scale", "scales"], ["both"]),
        node("Mul", ["numbers", "both"], ["products"]),
    ]
    graph = onnx.helper.make_graph(
        nodes,
        "products",
        [onnx.helper.make_tensor_value_info("rows", number, ["n", 3])],
        [onnx.helper.make_tensor_value_info("products", number, ["n", 2])],
        [onnx.numpy_helper.from_array(WEIGHTS, "weights"), onnx.numpy_helper.from_array(SCALES, "scales")],
    )
    opsets = [onnx.helper.make_opsetid("", opset)]
    return bytes(onnx.helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString())


def products(model: bytes, rows: NDArray[np.float32]) -> NDArray[np.float32]:
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    return np.asarray(session.run(None, {"rows": rows})[0])


@pytest.mark.parametrize("opset", [11, 18])  # where the axes of a reduction are an attribute, and an input
def test_a_row_is_as_exact_beside_a_large_one_as_alone(opset: int) -> None:
    rows = np.array([[0.01, -0.02, 0.005], [100.0, -50.0, 25.0], [0.0, 0.0, 0.0]], dtype=np.float32)
    exact = rows.astype(np.float64) @ (WEIGHTS.astype(np.float64) * SCALES)
    model = with_row_scales(quantized_model(opset), onnx)
    # A number is off by half of max / 127 of its row at most, and three of them are multiplied by 0.64 to 1.28.
    bounds = np.abs(rows).max(axis=1, keepdims=True) / 254 * np.abs(WEIGHTS * SCALES).sum(axis=0) + 1e-9
    assert (np.abs(products(model, rows) - exact) <= bounds).all()
    assert np.array_equal(products(model, rows)[:1], products(model, rows[:1]))
    # With one scale for all, the small row is lost.
    assert not np.allclose(products(quantized_model(opset), rows)[0], exact[0], rtol=0.1)
