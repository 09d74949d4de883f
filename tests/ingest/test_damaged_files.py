"""Damaged and hostile files: each is told, and none stops the others."""

from __future__ import annotations

import bz2
import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from ingest.documents import Layout, Record, read_records
from ingest.files import open_sources

ENGLISH = Layout(default_language="en")
PACKERS = [gzip.compress, bz2.compress, zstandard.compress]
Packer = Callable[[bytes], bytes]


def read(path: Path) -> list[Record]:
    with open_sources([str(path)]) as sources:
        return list(read_records(sources, ENGLISH))


def rows(first: int, last: int) -> bytes:
    return b"".join(b'{"id": "%d", "text": "a %d"}\n' % (n, n * 7919 % 10007) for n in range(first, last))


@pytest.mark.parametrize("pack", PACKERS)
def test_a_file_cut_after_any_byte_is_told(tmp_path: Path, pack: Packer) -> None:
    path = tmp_path / "in.jsonl.packed"
    whole = pack(rows(0, 20))
    for n_bytes in range(4, len(whole)):
        path.with_suffix("").write_bytes(whole[:n_bytes])
        records = read(path.with_suffix(""))
        assert records[-1].document is None, n_bytes
        assert "fetch or write it again" in str(records[-1].reason)


def test_the_rows_before_the_cut_of_a_zstandard_frame_are_kept(tmp_path: Path) -> None:
    """The first frame holds 1,000 rows; the second is cut."""
    path = tmp_path / "in.jsonl.zst"
    path.write_bytes(zstandard.compress(rows(0, 1000)) + zstandard.compress(rows(1000, 2000))[:-1])

    *kept, last = read(path)

    assert [record.doc_id for record in kept[:1000]] == [str(n) for n in range(1000)]
    assert "the file ends inside a Zstandard frame" in str(last.reason)


def test_all_frames_of_a_zstandard_file_are_read(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl.zst"
    path.write_bytes(b"".join(zstandard.compress(rows(n, n + 1)) for n in range(50)) + zstandard.compress(b""))
    assert [record.doc_id for record in read(path)] == [str(n) for n in range(50)]


def test_what_unpacks_to_more_than_a_hundred_times_its_size_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingest.files.unpacking.ALWAYS_ALLOWED_BYTES", 1_000_000)
    path = tmp_path / "in.jsonl.gz"
    path.write_bytes(gzip.compress(b"\n" * 40_000_000))
    (record,) = read(path)
    assert record.row.line < 20_000_000
    assert "unpacks to more than 100 times its size" in str(record.reason)
    assert "unpack it by hand" in str(record.reason)


def test_ordinary_text_of_any_size_is_below_that_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingest.files.unpacking.ALWAYS_ALLOWED_BYTES", 0)
    path = tmp_path / "in.jsonl.gz"
    path.write_bytes(gzip.compress(rows(0, 2000)))
    assert len([record for record in read(path) if record.document]) == 2000
