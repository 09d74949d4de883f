"""Few requests compute at once, and those that wait for the engine are not among them."""

from __future__ import annotations

import threading

import pytest

from reranker.base.errors import Busy
from reranker.service.slots import Slots
from tests.support.waiting import PATIENCE_S


def test_while_one_waits_for_the_engine_another_computes_and_else_none() -> None:
    slots, order, has_begun = Slots(1, 9), [], threading.Event()

    def second() -> None:
        has_begun.set()
        slots.acquire()
        order.append("second computes")
        slots.release()

    slots.acquire()
    with slots.waiting("node"):
        thread = threading.Thread(target=second)
        thread.start()
        thread.join(PATIENCE_S)
        order.append("the engine answers")
    # The turn is the first one's again: nobody else gets it before its end.
    has_begun.clear()
    thread = threading.Thread(target=second)
    thread.start()
    has_begun.wait(PATIENCE_S)
    order.append("first ends")
    slots.release()
    thread.join(PATIENCE_S)
    assert order == ["second computes", "the engine answers", "first ends", "second computes"]


def test_too_many_that_wait_for_one_node_are_refused_and_other_nodes_are_not() -> None:
    slots = Slots(1, 2)
    with slots.waiting("a"), slots.waiting("a"):
        with pytest.raises(Busy, match="2 requests wait for the engine at a; try again later"), slots.waiting("a"):
            pass
        with slots.waiting("b"):
            pass
    with slots.waiting("a"):
        pass


def test_an_engine_that_fails_gives_its_place_and_the_turn_back() -> None:
    slots = Slots(1, 1)
    slots.acquire()
    for _ in range(2):
        with pytest.raises(OSError, match="gone"), slots.waiting("a"):
            raise OSError("gone")
    slots.release()
    slots.release()  # nothing is given back twice: a bounded semaphore would raise
    slots.acquire()
    slots.release()
