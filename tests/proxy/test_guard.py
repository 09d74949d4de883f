import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest

from reranker.proxy.guard import CircuitBreaker, Guard
from reranker.upstream.calls import Deadline, Fallback
from tests.support.clock import Clock
from tests.support.waiting import PATIENCE_S, wait_until


@pytest.fixture
def clock() -> Clock:
    return Clock(100.0)


@pytest.fixture
def states() -> list[tuple[float, str]]:
    return []


@pytest.fixture
def breaker(clock: Clock, states: list[tuple[float, str]]) -> CircuitBreaker:
    return CircuitBreaker(3, 10.0, clock, on_state=lambda state: states.append((clock.now, state)))


def run(breaker: CircuitBreaker, *results: bool | None) -> None:
    for result in results:
        assert breaker.enter()
        breaker.leave(result)


def test_what_says_nothing_changes_nothing(breaker: CircuitBreaker) -> None:
    run(breaker, False, False, None, None)
    assert breaker.state == "closed"
    run(breaker, False)
    assert breaker.state == "open"


def test_after_its_rest_one_call_is_tried(breaker: CircuitBreaker, clock: Clock) -> None:
    run(breaker, False, False, False)
    clock.now += 9.9
    assert not breaker.enter()
    clock.now += 0.2
    assert breaker.state == "half_open"
    assert [breaker.enter(), breaker.enter()] == [True, False]
    breaker.leave(True)
    assert breaker.state == "closed"
    run(breaker, False, False)
    assert breaker.state == "closed"


def test_a_trial_that_fails_opens_it_again(
    breaker: CircuitBreaker, clock: Clock, states: list[tuple[float, str]]
) -> None:
    run(breaker, False, False, False)
    clock.now += 10
    run(breaker, False)
    assert not breaker.enter()
    assert states == [(100.0, "open"), (110.0, "half_open"), (110.0, "open")]
    clock.now += 10
    run(breaker, None)  # nothing was learned: the next one is tried
    run(breaker, True)
    assert states[3:] == [(120.0, "half_open"), (120.0, "half_open"), (120.0, "closed")]


def test_opening_and_closing_are_logged_once_each(
    breaker: CircuitBreaker, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        run(breaker, False, False, False)
        clock.now += 10
        run(breaker, False)
        clock.now += 10
        run(breaker, True, True)
    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == 2
    assert "3 times in a row" in messages[0]
    assert "works again" in messages[1]


def within(seconds: float) -> Deadline:
    """So many seconds are left, however long it took to come here."""
    return Deadline(seconds, lambda: 0.0)


class Work:
    """Goes on until it is told to end."""

    def __init__(self) -> None:
        self.has_begun = threading.Event()
        self.may_end = threading.Event()

    def __call__(self) -> str:
        self.has_begun.set()
        assert self.may_end.wait(PATIENCE_S)
        return "done"


class UntilItHasBegun(ThreadPoolExecutor):
    """Whoever waits for a result does so until the work has begun, however long that takes, and no longer."""

    def __init__(self, work: Work) -> None:
        super().__init__(1)
        self._work = work

    def submit(self, *given: Any, **named: Any) -> Future[Any]:
        running = super().submit(*given, **named)
        result = running.result

        def at_once(left_s: float | None) -> Any:
            assert self._work.has_begun.wait(PATIENCE_S)
            return result(0)

        running.result = at_once  # type: ignore[method-assign, assignment]
        return running


def is_free(guard: Guard) -> bool:
    try:
        with guard.slot():
            return True
    except Fallback as failed:
        return failed.reason != "busy"


def test_what_outlasts_its_time_is_a_failure_and_counts_until_it_ends(breaker: CircuitBreaker) -> None:
    guard, work = Guard(1, breaker), Work()
    for _ in range(2):
        breaker.leave(False)
    with guard.slot() as slot:
        slot.threads = UntilItHasBegun(work)
        with pytest.raises(Fallback) as raised:
            slot.run(work, within(0.5))
    assert work.has_begun.is_set()
    assert raised.value.reason == "out_of_time"
    assert breaker.state == "open"
    breaker.clock = lambda: 200.0
    assert not is_free(guard)
    work.may_end.set()
    wait_until(lambda: is_free(guard), "the work has ended")


def test_what_has_not_begun_in_time_is_no_failure(breaker: CircuitBreaker) -> None:
    guard, work = Guard(1, breaker), Work()
    for _ in range(2):
        breaker.leave(False)
    with guard.slot() as first, guard.slot() as second, ThreadPoolExecutor(1) as threads:
        running = threads.submit(first.run, work, within(PATIENCE_S))
        assert work.has_begun.wait(PATIENCE_S)
        with pytest.raises(Fallback) as raised:
            second.run(lambda: "never", within(0.05))
        work.may_end.set()
        assert (raised.value.reason, second.succeeded) == ("busy", None)
        assert running.result(PATIENCE_S) == "done"
    assert breaker.state == "closed"


def failing() -> None:
    raise ValueError("it fails")


@pytest.mark.parametrize(("work", "other"), [(lambda: None, failing), (failing, lambda: None)])
def test_work_that_does_not_count_leaves_what_is_known_of_re_ranking(
    breaker: CircuitBreaker, work: Callable[[], None], other: Callable[[], None]
) -> None:
    with Guard(1, breaker).slot() as slot:
        with suppress(ValueError):
            slot.run(work, within(PATIENCE_S))
        with suppress(ValueError):
            slot.run(other, within(PATIENCE_S), counts=False)
        assert slot.succeeded == (work is not failing)


def test_without_time_left_nothing_begins(breaker: CircuitBreaker) -> None:
    with Guard(1, breaker).slot() as slot, pytest.raises(Fallback) as raised:
        slot.run(lambda: pytest.fail("it has begun"), within(0))
    assert raised.value.reason == "out_of_time"


def test_a_time_out_of_the_work_itself_is_its_own_error(breaker: CircuitBreaker) -> None:
    def work() -> None:
        raise TimeoutError("of another call")

    with Guard(1, breaker).slot() as slot, pytest.raises(TimeoutError, match="of another call"):
        slot.run(work, within(PATIENCE_S))
