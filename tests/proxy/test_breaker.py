import logging

import pytest

from reranker.proxy.guard import CircuitBreaker


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def openings() -> list[float]:
    return []


@pytest.fixture
def breaker(clock: Clock, openings: list[float]) -> CircuitBreaker:
    return CircuitBreaker(3, 10.0, clock, on_opening=lambda: openings.append(clock.now))


def run(breaker: CircuitBreaker, *results: bool | None) -> None:
    for result in results:
        assert breaker.enter()
        breaker.leave(result)


def test_failures_in_a_row_open_it(breaker: CircuitBreaker, openings: list[float]) -> None:
    run(breaker, False, False, True, False, False)
    assert breaker.state == "closed"
    run(breaker, False)
    assert (breaker.state, breaker.enter(), openings) == ("open", False, [100.0])


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


def test_a_trial_that_fails_opens_it_again(breaker: CircuitBreaker, clock: Clock, openings: list[float]) -> None:
    run(breaker, False, False, False)
    clock.now += 10
    run(breaker, False)
    assert (breaker.enter(), openings) == (False, [100.0, 110.0])
    clock.now += 10
    run(breaker, None)  # nothing was learned: the next one is tried
    run(breaker, True)
    assert breaker.state == "closed"


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
