"""Runs REST tests directly and through the proxy, and says where the two differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tests.clients.recording import differences
from tests.clients.rest_runner import RestRunner, Run
from tests.clients.rest_suite import RestTest

# An engine gives shards, lists and sequence numbers in an order of chance: what is the proxy's doing is so each time.
MAX_RUNS = 3
_SEARCHES = frozenset(["search", "msearch"])


@dataclass(frozen=True)
class Comparison:
    """How a test went directly, and how it differed through the proxy in each of `n_runs` runs.

    Attributes:
        is_forced: whether every search was to be re-ranked, not only those with a text.
    """

    test: RestTest
    is_forced: bool
    direct: Run
    proxied: Run
    differences: list[str]
    n_runs: int

    @property
    def n_reranked(self) -> int:
        return sum(exchange.is_reranked for exchange in self.proxied.exchanges)


@dataclass(frozen=True)
class Runners:
    """One at the engine, one at the proxy, and one at the proxy that has all searches re-ranked."""

    direct: RestRunner
    proxied: RestRunner
    forced: RestRunner

    def compare(self, tests: Sequence[RestTest]) -> Iterator[Comparison]:
        for test in tests:
            direct = self.direct.run(test)
            yield self._compared(test, direct, is_forced=False)
            if calls(test) & _SEARCHES and direct.outcome != "skipped":
                yield self._compared(test, direct, is_forced=True)

    def _compared(self, test: RestTest, direct: Run, is_forced: bool) -> Comparison:
        runner = self.forced if is_forced else self.proxied
        for n_runs in range(1, MAX_RUNS + 1):
            proxied = runner.run(test)
            unlike = _unlike(direct, proxied)
            if not unlike:
                break
            if n_runs < MAX_RUNS:
                direct = self.direct.run(test)
        return Comparison(test, is_forced, direct, proxied, unlike, n_runs)


def _unlike(direct: Run, proxied: Run) -> list[str]:
    outcomes = [] if direct.outcome == proxied.outcome else [
        f"directly {direct.outcome} {direct.detail}, through the proxy {proxied.outcome} {proxied.detail}"
    ]  # fmt: skip
    return [*outcomes, *differences(direct.exchanges, proxied.exchanges)]


def calls(test: RestTest) -> set[str]:
    """The names of the APIs that a test calls, and of what it expects of them."""
    return {name for call in test.calls() for name in call}
