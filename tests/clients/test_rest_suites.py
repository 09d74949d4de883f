"""The engines' own REST tests turn out through the proxy as they do directly, request by request.

They take some ten minutes an engine.

A test that fails directly as well was written for another version, or needs a module that this node has not: it is
counted apart, and has to fail in the same place through the proxy. Searches are run once more with a text to re-rank
by. What may then be otherwise is in `recording` and nowhere else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import urllib3

from reranker.api.app import create_app
from reranker.service.settings import Settings
from reranker.stores import open_store
from tests.clients.rest_comparison import Comparison, Runners
from tests.clients.rest_runner import RestRunner
from tests.clients.rest_suite import PUBLISHED, RestSuite, read_suite
from tests.clients.word_embeddings import word_embeddings
from tests.support.engines.artifacts import fetched_artifact
from tests.support.engines.errors import EngineUnavailable
from tests.support.engines.nodes import Node, folder_in_memory, start_node
from tests.support.engines.sources import chosen_engines
from tests.support.service import serving

pytestmark = [pytest.mark.engine, pytest.mark.conformance, pytest.mark.timeout(5400)]

# Words of the tests' own documents.
RERANK_TEXT = "foo bar test"


@dataclass(frozen=True)
class Floor:
    """At least so many tests pass directly, and at least so many searches are re-ranked."""

    n_passed: int
    n_reranked: int


FLOORS = {
    "opensearch-2.19.1": Floor(1350, 560),
    "opensearch-3.5.0": Floor(1380, 610),
    "elasticsearch-8.15.5": Floor(1130, 300),
}


@dataclass(frozen=True)
class Stage:
    suite: RestSuite
    node: Node
    runners: Runners


@pytest.fixture(scope="module", params=[name for name in chosen_engines() if name in PUBLISHED])
def stage(request: pytest.FixtureRequest) -> Iterator[Stage]:
    """A node of its own, since the tests remove all that is on it, and the proxy in front of it."""
    published = PUBLISHED[request.param]
    try:
        jar = fetched_artifact(published.coordinates, published.sha256)
        suite = read_suite(jar)
        with _folder() as folder, _node(request.param, folder) as node, closing(open_store(node.url)) as store:
            embeddings = word_embeddings(folder / "embeddings", suite.words)
            settings = Settings(home=folder, threads=1, store=node.url, proxy_budget_ms=60_000)
            app = create_app(settings, store, embeddings)
            with serving(app) as url, urllib3.PoolManager(retries=False) as http:
                direct = RestRunner(http, suite, node.url, node, published.media_version)
                proxied = RestRunner(http, suite, url, node, published.media_version)
                forced = RestRunner(http, suite, url, node, published.media_version, RERANK_TEXT)
                yield Stage(suite, node, Runners(direct, proxied, forced))
    except EngineUnavailable as failed:
        pytest.fail(str(failed), pytrace=False)


@contextmanager
def _folder() -> Iterator[Path]:
    with TemporaryDirectory(dir=folder_in_memory(), prefix="sinkrank-rest-") as folder:
        yield Path(folder)


@contextmanager
def _node(name: str, folder: Path) -> Iterator[Node]:
    settings: dict[str, str | bool] = {
        "action.destructive_requires_name": False,
        "node.attr.testattr": "test",
        "path.data": str(folder / "data"),
        "path.repo": str(folder / "repositories"),
    }
    with start_node(name, settings=settings) as node:
        yield node


def test_each_test_turns_out_through_the_proxy_as_directly(stage: Stage) -> None:
    compared, floor = list(stage.runners.compare(stage.suite.tests)), FLOORS[stage.node.name]
    print(report(stage.node.name, compared))
    unlike = {f"{one.test.name}, forced: {one.is_forced}": one.differences for one in compared if one.differences}
    assert unlike == {}
    assert sum(one.direct.outcome == "passed" for one in compared if not one.is_forced) >= floor.n_passed
    assert sum(one.n_reranked for one in compared) >= floor.n_reranked
    # Chance does not differ often.
    assert sum(one.n_runs > 1 for one in compared) <= max(3, len(compared) // 20)


def report(engine: str, compared: Sequence[Comparison]) -> str:
    """Counts, for people."""
    plain = [one for one in compared if not one.is_forced]
    outcomes = Counter(one.direct.outcome if one.direct.outcome in ("passed", "skipped") else "failed" for one in plain)
    lines = [
        f"{engine}: {len(plain)} tests, {outcomes['passed']} pass directly, not applicable: {outcomes['failed']} fail "
        f"directly and {outcomes['skipped']} are for others; {len(compared) - len(plain)} once more with a text",
        f"searches re-ranked: {sum(one.n_reranked for one in plain)} by their own text, "
        f"{sum(one.n_reranked for one in compared if one.is_forced)} by ours",
        f"differ: {sum(bool(one.differences) for one in compared)}; again: "
        f"{[one.test.name for one in compared if one.n_runs > 1]}",
    ]
    return "\n".join(lines)
