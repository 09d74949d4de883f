"""The ids of an input are kept in a temporary file."""

from __future__ import annotations

import pytest

from ingest.seen_ids import SeenIds
from reranker.base.errors import SinkrankError


def test_a_full_temporary_folder_is_an_error_that_names_it() -> None:
    seen = SeenIds()
    seen._connection.execute("PRAGMA max_page_count = 4")  # as SQLite finds a disk of four pages
    with pytest.raises(SinkrankError, match=r"temporary folder .*database or disk is full.* TMPDIR"):
        seen.are_first(range(1, 10_000), 0)
