"""The model that is written from a published one's weights of 8 bits, beside BERT's formulas in NumPy."""

from __future__ import annotations

from math import erf
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ingest.embeddings.minilm_onnx import minilm_model
from reranker.base.errors import BadInput

onnx: Any = pytest.importorskip("onnx", reason="needs pip install 'sinkrank[prepare]'")
onnxruntime: Any = pytest.importorskip("onnxruntime", reason="needs pip install 'sinkrank[prepare]'")

Floats = NDArray[np.float64]

N_WORDS, N_PLACES, DIM, INNER, N_LAYERS, N_HEADS = 11, 9, 24, 40, 6, 12
MATRICES = {
    "attention/self/query": (DIM, DIM),
    "attention/self/key": (DIM, DIM),
    "attention/self/value": (DIM, DIM),
    "attention/output/dense": (DIM, DIM),
    "intermediate/dense": (DIM, INNER),
    "output/dense": (INNER, DIM),
}
NORMS = ("attention.output.LayerNorm", "output.LayerNorm")
IDS = np.array([[1, 5, 3, 2], [4, 10, 0, 0]])
MASK = np.array([[1, 1, 1, 1], [1, 1, 0, 0]])


class Published:
    """A model of random weights in the form of the published one, and what its numbers of 8 bits stand for."""

    def __init__(self) -> None:
        self.chance = np.random.default_rng(7)
        self.initializers: list[Any] = []
        self.nodes: list[Any] = []
        self.exact: dict[str, Floats] = {}
        for name, rows in (("word", N_WORDS), ("position", N_PLACES), ("token_type", 2)):
            self.table(f"embeddings.{name}_embeddings.weight", rows)
        self.norm("embeddings.LayerNorm")
        for layer in (f"encoder.layer.{number}." for number in range(N_LAYERS)):
            for part, shape in MATRICES.items():
                self.matrix(f"/{layer.rstrip('.').replace('encoder.', 'encoder/')}/{part}", shape)
                self.given(f"{layer}{part.replace('/', '.')}.bias", self.chance.standard_normal(shape[1]))
            for norm in NORMS:
                self.norm(layer + norm)

    def given(self, name: str, values: NDArray[Any]) -> None:
        array = values.astype(np.float32) if values.dtype == np.float64 else values
        self.initializers.append(onnx.numpy_helper.from_array(array, name))
        self.exact[name] = array.astype(np.float64)

    def norm(self, name: str) -> None:
        self.given(f"{name}.weight", 1 + 0.1 * self.chance.standard_normal(DIM))
        self.given(f"{name}.bias", 0.1 * self.chance.standard_normal(DIM))

    def table(self, name: str, n_rows: int) -> None:
        numbers = self.chance.integers(0, 256, (n_rows, DIM), dtype=np.uint8)
        self.given(f"{name}_quantized", numbers)
        self.given(f"{name}_scale", np.array(0.01, dtype=np.float32))
        self.given(f"{name}_zero_point", np.array(120, dtype=np.uint8))
        self.exact[name] = 0.01 * (numbers.astype(np.float64) - 120)

    def matrix(self, name: str, shape: tuple[int, int]) -> None:
        numbers = self.chance.integers(-64, 65, shape, dtype=np.int8)
        numbers[0] = 64  # the largest of each column, as reduce_range gives it
        scales = self.chance.uniform(0.008, 0.016, shape[1]).astype(np.float32)
        constant = f"onnx::MatMul_{len(self.nodes)}"
        self.given(f"{constant}_quantized", numbers)
        self.given(f"{constant}_scale", scales)
        self.given(f"{constant}_zero_point", np.zeros(shape[1], dtype=np.int8))
        inputs = ["rows", f"{constant}_quantized", "zero", f"{constant}_zero_point"]
        self.nodes.append(onnx.helper.make_node("MatMulInteger", inputs, [name], name=f"{name}/MatMul_quant"))
        self.exact[name] = numbers.astype(np.float64) * scales

    def content(self) -> bytes:
        graph = onnx.helper.make_graph(self.nodes, "published", [], [], self.initializers)
        return bytes(onnx.helper.make_model(graph).SerializeToString())

    def encoded(self, ids: list[int]) -> Floats:
        """The vectors (n_tokens, dim) of one text, by BERT's formulas."""
        exact, of = self.exact, "embeddings."
        rows = exact[f"{of}word_embeddings.weight"][ids] + exact[f"{of}position_embeddings.weight"][: len(ids)]
        rows = self.normed(rows + exact[f"{of}token_type_embeddings.weight"][0], f"{of}LayerNorm")
        for number in range(N_LAYERS):
            parts = [self.linear(rows, number, f"attention/self/{part}") for part in ("query", "key", "value")]
            queries, keys, values = (part.reshape(len(ids), N_HEADS, -1).transpose(1, 0, 2) for part in parts)
            shares = np.exp(queries @ keys.transpose(0, 2, 1) / np.sqrt(DIM / N_HEADS))
            context = (shares / shares.sum(axis=-1, keepdims=True)) @ values
            joined = context.transpose(1, 0, 2).reshape(len(ids), DIM)
            attended = rows + self.linear(joined, number, "attention/output/dense")
            rows = self.normed(attended, f"encoder.layer.{number}.attention.output.LayerNorm")
            inner = self.linear(rows, number, "intermediate/dense")
            inner = inner * (1 + np.vectorize(erf)(inner / np.sqrt(2))) / 2
            outer = rows + self.linear(inner, number, "output/dense")
            rows = self.normed(outer, f"encoder.layer.{number}.output.LayerNorm")
        return rows

    def linear(self, rows: Floats, layer: int, part: str) -> Floats:
        bias = self.exact[f"encoder.layer.{layer}.{part.replace('/', '.')}.bias"]
        return rows @ self.exact[f"/encoder/layer.{layer}/{part}"] + bias

    def normed(self, rows: Floats, name: str) -> Floats:
        centred = rows - rows.mean(axis=1, keepdims=True)
        deviation = np.sqrt((centred**2).mean(axis=1, keepdims=True))
        normed: Floats = centred / deviation * self.exact[f"{name}.weight"] + self.exact[f"{name}.bias"]
        return normed


@pytest.fixture(scope="module")
def published() -> Published:
    return Published()


def encoded(content: bytes, ids: NDArray[np.int64], mask: NDArray[np.int64]) -> NDArray[np.float32]:
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    return np.asarray(session.run(None, {"input_ids": ids, "attention_mask": mask})[0])


def test_tokens_have_the_vectors_of_berts_formulas(published: Published) -> None:
    found = encoded(minilm_model(published.content(), onnx), IDS, MASK)
    for row, n_tokens in ((0, 4), (1, 2)):
        expected = published.encoded(IDS[row, :n_tokens].tolist())
        cosines = np.einsum("ij,ij->i", found[row, :n_tokens], expected) / (
            np.linalg.norm(found[row, :n_tokens], axis=1) * np.linalg.norm(expected, axis=1)
        )
        # Only what is multiplied is rounded to 8 bits; the weights are the published ones.
        assert cosines == pytest.approx(np.ones(n_tokens), abs=5e-4)


def test_a_text_has_the_same_vectors_alone_and_beside_a_longer_one(published: Published) -> None:
    model = minilm_model(published.content(), onnx)
    alone = encoded(model, IDS[1:, :2], MASK[1:, :2])
    assert np.array_equal(encoded(model, IDS, MASK)[1, :2], alone[0])


def test_a_model_of_another_form_is_refused() -> None:
    graph = onnx.helper.make_graph([], "other", [], [], [])
    with pytest.raises(BadInput, match="is of another form"):
        minilm_model(onnx.helper.make_model(graph).SerializeToString(), onnx)
