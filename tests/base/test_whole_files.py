import os
from pathlib import Path

import pytest

from reranker.base.whole_files import whole_file, write_whole


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such rights")
def test_a_file_has_the_rights_that_the_user_gives_new_files(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        write_whole(tmp_path / "new" / "judged.json", b"{}")
    finally:
        os.umask(before)
    assert (tmp_path / "new" / "judged.json").stat().st_mode & 0o777 == 0o600


def test_a_file_that_is_not_complete_leaves_the_older_one_alone(tmp_path: Path) -> None:
    write_whole(tmp_path / "a", b"old")

    def write() -> None:
        with whole_file(tmp_path / "a") as file:
            file.write(b"new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write()
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("a", b"old")]
