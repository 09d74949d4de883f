"""An embedded store whose folder may not be written: it is searched, and writing is refused."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

# Root may write everywhere, so the searches run as another user; what they import lazily is imported before.
_PROGRAM = """
import os, sys
from pathlib import Path
from reranker.base.errors import StoreUnavailable
from reranker.stores import open_store
from tests.stores.samples import *

folder = Path(sys.argv[1])
maker = open_store(str(folder))
fill(maker, "docs", *(make_document(str(number), "walrus", vector=(1, number, 0, 0)) for number in range(30)))
maker.open("docs").bm25("walrus", 10, ALL)

def make_read_only():
    for path in [*folder.iterdir(), folder]:
        path.chmod(0o555)
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)

def searches(store):
    return len(store.open("docs").bm25("walrus", 100, ALL)), len(store.open("docs").knn(query(1, 2, 0, 0), 100, ALL))

def refused(call):
    try:
        call()
    except StoreUnavailable as error:
        return str(error)
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as made:  # pytest's own folder is closed to other users
        Path(made).chmod(0o755)
        yield Path(made, "store")
        for path in Path(made).iterdir():
            path.chmod(0o755)


def run(folder: Path, code: str) -> None:
    program = textwrap.dedent(_PROGRAM) + textwrap.dedent(code)
    subprocess.run([sys.executable, "-c", program, str(folder)], check=True, timeout=120)


def test_a_store_that_may_only_be_read_is_searched_and_checked_and_not_written(folder: Path) -> None:
    run(
        folder,
        """
        maker.close()
        make_read_only()
        store = open_store(str(folder))
        assert searches(store) == (30, 30)
        assert len(list(store.checked_steps())) == 3  # pages, documents and vectors; FTS5 needs a writer's lock
        writes = (
            lambda: list(write_documents(store, "docs", [make_document("new")])),
            lambda: list(store.delete("docs", ["1"])),
            lambda: store.drop("docs"),
            lambda: store.claim("docs", "me", 5),
            lambda: store.save_idf("docs", store.open("docs").idf()),
        )
        for write in writes:
            assert "may only be read" in refused(write) and "permissions" in refused(write)
        store.close()
        """,
    )


def test_a_reader_without_rights_sees_what_another_process_writes(folder: Path) -> None:
    run(
        folder,
        """
        maker.close()
        reader = open_store(str(folder))
        wrote, written = os.pipe()
        searched, search = os.pipe()
        if not (child := os.fork()):
            try:
                if os.geteuid() == 0:
                    os.setgroups([]); os.setgid(65534); os.setuid(65534)
                else:
                    folder.chmod(0o555)
                assert searches(reader) == (30, 30)
                os.write(search, b"1")
                os.read(wrote, 1)
                assert searches(reader) == (31, 31)
                os._exit(0)
            finally:
                os._exit(1)
        os.read(searched, 1)
        folder.chmod(0o755)
        fill(maker, "docs", make_document("31", "walrus"))
        os.write(written, b"1")
        assert os.waitpid(child, 0)[1] == 0
        """,
    )


def test_a_log_that_nobody_may_write_is_an_error_with_the_cure(folder: Path) -> None:
    run(
        folder,
        """
        import shutil
        copy = folder.with_name("copy")
        copy.mkdir()
        for name in ("store.sqlite3", "store.sqlite3-wal"):  # as a killed writer leaves them
            shutil.copy(folder / name, copy / name)
        maker.close()
        folder = copy
        make_read_only()
        assert "sinkrank doctor" in refused(lambda: searches(open_store(str(copy), timeout_s=0.1)))
        """,
    )
