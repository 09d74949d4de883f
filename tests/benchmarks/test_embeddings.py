"""The made-up embeddings file of the benchmark, and the sides that read it."""

import pytest

from benchmarks.embeddings import SIDES, write_file
from reranker.embeddings import Embeddings

N_TERMS = 700  # more than 26², so that the third letter changes too


@pytest.mark.parametrize("side", ["sinkrank", "numpy"])
def test_each_side_reads_all_of_the_file(tmp_path, side):
    write_file(tmp_path / "file", N_TERMS, 4)
    assert SIDES[side](tmp_path / "file", tmp_path / "store") == N_TERMS


def test_the_file_has_as_many_different_words_as_it_says(tmp_path):
    write_file(tmp_path / "file", N_TERMS, 4)
    lines = (tmp_path / "file").read_text().splitlines()
    assert lines[0] == f"{N_TERMS} 4"
    assert len({line.split()[0] for line in lines[1:]}) == N_TERMS
    assert {len(line.split()) for line in lines[1:]} == {5}
    assert SIDES["read"](tmp_path / "file", tmp_path) == (tmp_path / "file").stat().st_size


def test_the_store_of_our_side_is_whole(tmp_path):
    write_file(tmp_path / "file", 30, 4)
    SIDES["sinkrank"](tmp_path / "file", tmp_path / "store")
    Embeddings.open(tmp_path / "store").verify()
