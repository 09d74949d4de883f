"""What counting has found comes back row by row, and a file that has lost something says so by its end."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from ingest.bag_file import BagFile, pack_words, unpack_words
from reranker.text.bags import BagOfWords

PIECES = [[b"a", b"", b"ccc"], [b"dd"], [b"", b"f"]]
ROWS = [b"a", b"", b"ccc", b"dd", b"", b"f"]


def filled(path: Path | None) -> BagFile:
    file = BagFile(path)
    for piece in PIECES:
        file.add(piece)
    return file


@pytest.mark.parametrize("first_row", range(8))
def test_rows_come_back_from_any_row_on(tmp_path: Path, first_row: int) -> None:
    for path in (None, tmp_path / "x.bags"):
        file = filled(path)
        assert list(file.read(first_row)) == ROWS[first_row:]
        file.delete()


def test_an_earlier_run_left_more_than_it_confirmed(tmp_path: Path) -> None:
    first = filled(tmp_path / "x.bags")
    n_bytes = first.sync()
    first.add([b"not confirmed"])
    first.close()
    second = BagFile(tmp_path / "x.bags", n_bytes)
    second.add([b"new"])
    assert list(second.read(0)) == [*ROWS, b"new"]
    second.close()


def test_what_is_damaged_ends_the_rows(tmp_path: Path) -> None:
    path = tmp_path / "x.bags"
    file = BagFile(path)
    file.add([b"first"])
    n_first = file.sync()
    file.add([random.Random(1).randbytes(200)])
    n_bytes = file.sync()
    file.close()
    contents = bytearray(path.read_bytes())
    contents[(n_first or 0) + 100] ^= 1
    path.write_bytes(contents)
    again = BagFile(path, n_bytes)
    assert list(again.read(0)) == [b"first"]
    again.close()


@pytest.mark.parametrize("n_bytes", [None, 10_000])
def test_a_file_that_lacks_rows_takes_no_more_and_gives_none(tmp_path: Path, n_bytes: int | None) -> None:
    filled(tmp_path / "x.bags").close()
    file = BagFile(tmp_path / "x.bags", n_bytes)
    file.add([b"later"])
    assert list(file.read(0)) == []
    assert file.sync() is None


def test_a_file_that_cannot_be_written_is_given_up_and_the_run_goes_on(tmp_path: Path) -> None:
    file = BagFile(tmp_path / "no such folder" / "x.bags")
    file.add([b"a"])
    assert file.sync() is None
    assert list(file.read(0)) == []


def test_a_bag_comes_back_with_its_unknown_words() -> None:
    bag = BagOfWords(np.array([3, 70_000], np.int32), np.array([1, 500], np.int32), 2, np.array([9], np.uint32))
    found, first_words = unpack_words(pack_words(bag, "Zmlyc3Q="))
    assert (found.term_ids.tolist(), found.counts.tolist()) == ([3, 70_000], [1, 500])
    assert found.unknown_hashes is not None
    assert (found.n_unknown, found.unknown_hashes.tolist(), first_words) == (2, [9], "Zmlyc3Q=")


def test_words_without_a_known_one_are_not_empty() -> None:
    none = np.empty(0, np.int32)
    assert pack_words(BagOfWords(none, none), "")
