"""pytest plugin: says which tier a test is in.

    make check          -m unit                  no engine, no network, no browser, no other process
    make test           -m "not conformance"     one OpenSearch and one Elasticsearch
    make conformance    -m conformance           test suites and clients of others, other versions of an engine

A test in a browser is marked `slow`. One that runs again on another version of an engine is marked `conformance`, and
so is one marked `any_engine` on each engine but the first. A test without any other marker is marked `unit`, but for
the tests of the papers' systems.
"""

from __future__ import annotations

from collections.abc import Collection

import pytest

from tests.support.engines.fixtures import engine_of
from tests.support.engines.sources import chosen_engines, repeated_engines

NOT_UNIT = ("engine", "corpus", "slow", "conformance")


@pytest.hookimpl(trylast=True)  # after the fixtures' plugin has marked what needs an engine
def pytest_itemcollected(item: pytest.Item) -> None:
    if "browser" in getattr(item, "fixturenames", ()):
        item.add_marker("slow")
    if engine_of(item) in _engines_left_to_conformance(item):
        item.add_marker("conformance")
    is_of_papers = item.path.is_relative_to(item.config.rootpath / "papers")
    if not is_of_papers and not any(item.get_closest_marker(name) for name in NOT_UNIT):
        item.add_marker("unit")


def _engines_left_to_conformance(item: pytest.Item) -> Collection[str]:
    return chosen_engines()[1:] if item.get_closest_marker("any_engine") else repeated_engines()
