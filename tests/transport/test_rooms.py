"""Memory of tables is used again when no array lies in it any more, and never before."""

import numpy as np
import pytest

from reranker.transport import buffers

BIG = 4 * buffers.STEP_BYTES


@pytest.fixture(autouse=True)
def nothing_kept():
    buffers._kept.clear()
    yield
    buffers._kept.clear()


def address(array):
    return array.ctypes.data


def test_room_is_used_again_once_no_array_lies_in_it():
    first = buffers.room(BIG)
    view, place = first[100:200].view(np.float32), address(first)
    del first
    second = buffers.room(BIG)
    assert address(second) != place  # the view still lies in the first
    del view
    assert address(buffers.room(BIG)) == place


def test_no_more_is_kept_than_allowed():
    taken = [buffers.room(buffers.KEPT_BYTES // 2) for _ in range(5)]
    del taken
    assert sum(map(len, buffers._kept)) == buffers.KEPT_BYTES


def test_room_of_another_size_makes_way():
    for size in (BIG, 4 * BIG, BIG, 4 * BIG, 16 * BIG // 2):
        room = buffers.room(size)
        assert len(room) >= size
        del room
    assert len(buffers._kept) <= 2


def test_little_room_is_not_kept():
    small = buffers.room(1000)
    assert len(small) == 1000
    del small
    assert not buffers._kept


def test_room_that_goes_when_the_interpreter_ends_is_let_go(monkeypatch):
    """The module's names are None by then; once seen as a TypeError at the end of a program."""
    lease = buffers._Lease(np.empty(BIG, np.uint8))
    monkeypatch.setattr(buffers, "_kept", None)
    assert lease.__del__() is None
