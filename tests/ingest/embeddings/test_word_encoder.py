"""The cache of encoded words: what a fault of its file is to the caller."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ingest.embeddings.word_encoder import Encoder, WordVectors
from reranker.base.errors import BadInput

ENCODER = Encoder("fake 1", 32, lambda words: np.full((len(words), 32), len(words[0]), dtype=np.float32))
WORDS = [f"word{n}" for n in range(1_000)]
PAGE = 32_768


def encode(path: Path, *, max_pages: int | None = None) -> None:
    with WordVectors(path, ENCODER) as vectors:
        if max_pages is not None:
            vectors._connection.execute(f"PRAGMA max_page_count = {max_pages}")
        vectors.encode(WORDS)


def test_a_full_disk_is_an_error_with_the_file_and_the_cure(tmp_path: Path) -> None:
    """SQLite says the same of a file that has reached its largest size."""
    with pytest.raises(BadInput, match=r"words\.sqlite3 cannot store .*\(database or disk is full\); delete it"):
        encode(tmp_path / "words.sqlite3", max_pages=2)


def test_damaged_pages_are_an_error_with_the_file_and_the_cure(tmp_path: Path) -> None:
    path = tmp_path / "words.sqlite3"
    encode(path)
    n_pages, rest = divmod(path.stat().st_size, PAGE)
    assert (n_pages > 2, rest) == (True, 0)
    with path.open("r+b") as file:
        file.seek(PAGE)
        file.write(b"\xff" * (path.stat().st_size - PAGE))
    with pytest.raises(BadInput, match=r"words\.sqlite3 cannot store .*malformed.*; delete it"):
        encode(path)


def test_a_folder_in_the_place_of_the_file_is_an_error_with_the_cure(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot store encoded words"):
        encode(tmp_path)
