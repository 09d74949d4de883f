"""What counting has found comes back row by row, or not at all."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ingest.bag_file import BagFile, pack_words, unpack_words
from reranker.text.bags import BagOfWords

PIECES = [[b"a", b"", b"ccc"], [b"dd"], [b"", b"f"]]
ROWS = [b"a", b"", b"ccc", b"dd", b"", b"f"]


def test_rows_come_back_in_order(tmp_path: Path) -> None:
    for folder in (None, tmp_path):
        file = BagFile(folder)
        for piece in PIECES:
            file.add(piece)
        assert list(file.read()) == ROWS
        file.close()
        assert list(file.read()) == []
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_written_is_given_up_and_the_run_goes_on(tmp_path: Path) -> None:
    file = BagFile(tmp_path / "no such folder")
    file.add([b"a"])
    (tmp_path / "no such folder").mkdir()
    file.add([b"b"])
    assert list(file.read()) == []


def test_a_bag_comes_back_with_its_unknown_words() -> None:
    bag = BagOfWords(np.array([3, 70_000], np.int32), np.array([1, 500], np.int32), 2, np.array([9], np.uint32))
    found, first_words = unpack_words(pack_words(bag, "Zmlyc3Q="))
    assert (found.term_ids.tolist(), found.counts.tolist()) == ([3, 70_000], [1, 500])
    assert found.unknown_hashes is not None
    assert (found.n_unknown, found.unknown_hashes.tolist(), first_words) == (2, [9], "Zmlyc3Q=")


def test_words_without_a_known_one_are_not_empty() -> None:
    none = np.empty(0, np.int32)
    assert pack_words(BagOfWords(none, none), "")
