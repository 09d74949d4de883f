"""Products in 8 bits with a scale for each row, beside the exact products."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ingest.embeddings.row_quantization import RowProducts

onnx: Any = pytest.importorskip("onnx", reason="needs pip install 'sinkrank[prepare]'")
onnxruntime: Any = pytest.importorskip("onnxruntime", reason="needs pip install 'sinkrank[prepare]'")

# Quantized exactly: the largest of each column is 64 times its scale.
WEIGHTS = np.array([[0.64, -0.64], [0.16, 0.48], [-0.08, 1.28]], dtype=np.float32)


def model(weights: NDArray[np.float32]) -> bytes:
    nodes: list[Any] = []

    def add_node(operator: str, inputs: list[str], output: str, **attributes: Any) -> str:
        nodes.append(onnx.helper.make_node(operator, inputs, [output], **attributes))
        return output

    products = RowProducts(onnx, add_node)
    output = products.product("rows", weights, "only")
    of, number = onnx.helper.make_tensor_value_info, onnx.TensorProto.FLOAT
    graph = onnx.helper.make_graph(
        nodes,
        "products",
        [of("rows", number, ["n", len(weights)])],
        [of(output, number, ["n", weights.shape[1]])],
        products.constants,
    )
    opsets = [onnx.helper.make_opsetid("", 21), onnx.helper.make_opsetid("com.microsoft", 1)]
    return bytes(onnx.helper.make_model(graph, opset_imports=opsets, ir_version=10).SerializeToString())


def products(rows: NDArray[np.float32], weights: NDArray[np.float32] = WEIGHTS) -> NDArray[np.float32]:
    session = onnxruntime.InferenceSession(model(weights), providers=["CPUExecutionProvider"])
    return np.asarray(session.run(None, {"rows": rows})[0])


def test_a_row_is_as_exact_beside_a_large_one_as_alone() -> None:
    rows = np.array([[0.01, -0.02, 0.005], [100.0, -50.0, 25.0], [0.0, 0.0, 0.0], [7.0, 7.0, 7.0]], dtype=np.float32)
    exact = rows.astype(np.float64) @ WEIGHTS.astype(np.float64)
    found = products(rows)
    # A number is off by half of a 255th of its row's span at most; three of them are multiplied by the weights.
    bounds = np.ptp(rows, axis=1, keepdims=True) / 510 * np.abs(WEIGHTS).sum(axis=0) + 1e-5
    assert (np.abs(found - exact) <= bounds).all()
    assert all(np.array_equal(products(rows[place : place + 1])[0], row) for place, row in enumerate(found))


def test_a_large_number_of_one_sign_costs_no_precision_for_numbers_of_the_other() -> None:
    rows = np.array([[-1.0, 254.0, 0.0]], dtype=np.float32)
    # Over 255 steps of 1 from -1 all three are exact; steps of 2, from -254 to 254, would round -1 to -2 or 0.
    assert products(rows) == pytest.approx(rows @ WEIGHTS, rel=1e-6)
