"""Damaged and hostile files: each is told, and none stops the others."""

from __future__ import annotations

import bz2
import gzip
import os
from collections.abc import Callable
from errno import EACCES
from pathlib import Path
from socket import AF_UNIX, socket

import pytest

from ingest.documents import read_records
from ingest.files import open_sources
from reranker.base.errors import BadInput
from tests.ingest.records import ENGLISH, read

PACKERS = [gzip.compress, bz2.compress]
Packer = Callable[[bytes], bytes]


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


@pytest.mark.parametrize("pack", PACKERS)
def test_the_rows_before_the_damage_of_a_packed_file_are_read(tmp_path: Path, pack: Packer) -> None:
    path = tmp_path / "in.jsonl"
    # A second member, without its last bytes.
    path.write_bytes(pack(rows(0, 20)) + pack(rows(20, 40))[:-12])
    *good, damage = read(path)
    assert [record.doc_id for record in good][:20] == [str(number) for number in range(20)]
    assert all(record.document is not None for record in good)
    assert (damage.row.line, damage.document) == (len(good) + 1, None)
    assert "the file cannot be read from here on" in str(damage.reason)


@pytest.mark.parametrize("magic", ["28b52ffd", "504b0304", "fd377a585a00"], ids=["Zstandard", "zip", "xz"])
def test_a_file_that_is_packed_otherwise_is_to_be_unpacked(tmp_path: Path, magic: str) -> None:
    (tmp_path / "in.jsonl").write_bytes(bytes.fromhex(magic) + bytes(50))
    with pytest.raises(BadInput, match=r"in\.jsonl is packed, but not with gzip or bzip2; unpack it first"):
        read(tmp_path / "in.jsonl")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one good page."""
    made = tmp_path / "pages"
    made.mkdir()
    (made / "good.txt").write_text("good")
    return made


def damaged(packed: bytes) -> bytes:
    """With 50 bytes in the middle overwritten."""
    middle = len(packed) // 2
    return packed[:middle] + b"\xff" * 50 + packed[middle + 50 :]


@pytest.mark.parametrize("pack", PACKERS)
@pytest.mark.parametrize("damage", [damaged, lambda packed: packed[:-20], lambda packed: packed[: len(packed) // 2]])
def test_a_damaged_page_of_a_folder_is_rejected_and_the_others_are_read(
    folder: Path, pack: Packer, damage: Packer
) -> None:
    (folder / "bad.html.gz").write_bytes(damage(pack(rows(0, 5000))))
    bad, good = read(folder)
    assert good.document is not None
    assert bad.row.file == f"{folder}/bad.html.gz"
    assert "the file cannot be read" in str(bad.reason)
    assert "fetch or write it again" in str(bad.reason)


def test_special_files_and_links_that_leave_the_folder_are_ignored_and_counted(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    os.mkfifo(folder / "fifo.txt")
    (folder / "device.txt").symlink_to("/dev/zero")
    (folder / "broken.txt").symlink_to(tmp_path / "absent.txt")
    (folder / "out.txt").symlink_to("../secret.txt")
    (folder / "loop.txt").symlink_to("loop.txt")
    (folder / "in.txt").symlink_to("good.txt")
    with socket(AF_UNIX) as listener:
        listener.bind(os.path.relpath(folder / "socket.txt"))  # a socket's path may have 100 bytes or so
        with open_sources([str(folder)]) as sources:
            assert [record.doc_id for record in read_records(sources, ENGLISH)] == ["good.txt", "in.txt"]
            assert dict(sources[0].left_out) == {
                "link out of the folder": 3,
                "device, socket, FIFO or broken link": 3,
            }
            assert sources[0].identity()


def test_a_page_that_is_gone_since_the_folder_was_read_is_rejected(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingest.files.pages.pages_of", lambda _: [folder / "gone.txt", folder / "good.txt"])
    gone, good = read(folder)
    assert "gone.txt cannot be read (No such file or directory)" in str(gone.reason)
    assert good.document is not None


@pytest.mark.parametrize("name", ["closed", ""], ids=["a subfolder", "the folder"])
def test_a_folder_that_cannot_be_listed_is_rejected_and_the_pages_of_others_are_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (folder / "closed").mkdir()
    scandir = os.scandir

    def refusing(path: Path | str) -> object:
        if Path(path) == folder / name:
            raise PermissionError(EACCES, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr("os.scandir", refusing)
    *others, closed = read(folder)
    assert [one.doc_id for one in others] == ["good.txt"][: len(name)]
    assert f"{folder / name} cannot be read" in str(closed.reason)


@pytest.mark.parametrize("file_format", ["jsonl", "csv", "parquet"])
def test_a_fifo_is_refused_at_once(tmp_path: Path, file_format: str) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(BadInput, match=r"fifo is not a regular file; .* give - to read documents from standard input"):
        read(tmp_path / "fifo", file_format=file_format)


def test_a_parquet_row_that_is_not_utf_8_or_has_no_date_of_ours_is_rejected_and_the_others_are_read(
    tmp_path: Path,
) -> None:
    from pyarrow import array, int64, parquet, string, table, timestamp

    texts = array([b"one", b"t\xffo", b"three"], "binary").view(string())
    year_30000 = array([0, 0, 900_000_000_000], int64()).cast(timestamp("s"))
    path = tmp_path / "in.parquet"
    parquet.write_table(table({"text": texts, "day": year_30000}), path)

    first, second, third = read(path)

    assert first.document is not None
    assert first.document.text == "one"
    assert (second.row.line, third.row.line) == (2, 3)
    assert "a column cannot be read ('utf-8' codec" in str(second.reason)
    assert "correct it in the file" in str(third.reason)


def test_a_parquet_row_with_a_time_in_an_unknown_zone_is_rejected_and_the_others_are_read(tmp_path: Path) -> None:
    from pyarrow import array, parquet, table, timestamp

    days = array([0, None], timestamp("us", "Nowhere/City"))
    parquet.write_table(table({"text": ["one", "two"], "day": days}), tmp_path / "in.parquet")
    first, second = read(tmp_path / "in.parquet")
    assert "Nowhere/City" in str(first.reason)
    assert second.document is not None
