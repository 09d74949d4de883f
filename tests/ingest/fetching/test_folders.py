"""Two processes do not fetch into one folder at a time, and the second says what it waits for."""

from __future__ import annotations

import fcntl
import logging
import threading
from pathlib import Path

import pytest

from ingest.fetching.folders import only_one


def test_the_second_says_what_it_waits_for_and_goes_on_when_the_first_is_done(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "vectors"
    entered = threading.Event()

    def second() -> None:
        with only_one(folder):
            entered.set()

    with only_one(folder):
        waiting = threading.Thread(target=second)
        waiting.start()
        while not caplog.records:
            waiting.join(0.01)
        assert not entered.is_set()
    waiting.join()
    assert entered.is_set()
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert record.getMessage() == f"another process fetches files to {folder}; waiting until it is done"


def test_one_alone_says_nothing_and_leaves_the_folder_to_the_next(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(2):
        with only_one(tmp_path), (tmp_path / "fetching.lock").open("w") as lock, pytest.raises(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert caplog.records == []
