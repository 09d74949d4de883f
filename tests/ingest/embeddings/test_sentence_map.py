"""Embeddings mapped to encoded passages: the map, the mapped store, and the passages that are drawn."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ingest.embeddings.preparing.passages import draw_passages, split
from ingest.embeddings.sentence_map import ridge
from tests.ingest.records import read_as_texts


def test_the_map_keeps_what_the_encoder_tells_and_drops_the_rest() -> None:
    means = np.array([(0.6, 0.8), (0.6, -0.8), (-0.6, 0.8), (-0.6, -0.8)], dtype=np.float32)
    # The encoder tells the first number's sign alone.
    encoded = np.array([[1.0], [1.0], [-1.0], [-1.0]], dtype=np.float32)
    # Z'Z is diag(4 · 0.36, 4 · 0.64), and Z'E is (4 · 0.6, 0).
    assert ridge(means, encoded) == pytest.approx(np.array([[2.4 / (1.44 + 0.3)], [0.0]]), abs=1e-6)


@pytest.mark.parametrize(
    ("n_words", "lengths"), [(3, [3]), (40, [40]), (59, [40]), (60, [40, 20]), (100, [40, 40, 20])]
)
def test_a_text_is_split_into_passages_of_40_words_and_a_short_rest_is_left_out(
    n_words: int, lengths: list[int]
) -> None:
    passages = list(split(" ".join(f"w{n}" for n in range(n_words)), "en"))
    assert [len(passage.split()) for passage in passages] == lengths


def test_passages_of_a_language_without_spaces_have_40_words_too() -> None:
    words = ["学校", "旅行"] * 25  # a dictionary's words, each of two letters
    assert list(split("".join(words), "zh")) == ["".join(words[:40])]
    assert list(split("".join(words) + " the page " + "".join(words[:18]), "ja")) == [
        "".join(words[:40]),
        "".join(words[40:]) + " the page " + "".join(words[:18]),
    ]


def test_the_same_passages_are_drawn_in_whatever_order_the_documents_come(tmp_path: Path) -> None:
    rows = [{"id": str(n), "text": f"the page number {chr(97 + n % 26)}{chr(97 + n // 26)}"} for n in range(50)]
    drawn = draw_passages(read_as_texts(tmp_path / "one", rows, "en"), ["en"], 20)
    assert len(set(drawn)) == 20
    assert draw_passages(read_as_texts(tmp_path / "two", rows[::-1], "en"), ["en"], 20) == drawn
    assert len(draw_passages(read_as_texts(tmp_path / "three", rows, "en"), ["en"], 60)) == 50
