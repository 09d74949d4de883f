"""Fixtures for every test, and which tests stay together when several processes run them."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["tests.engines.fixtures", "tests.browser.fixtures"]

# How long drawing or running an example takes says more about what else the machine does than about the code.
settings.register_profile("sinkrank", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("sinkrank")


def pytest_itemcollected(item: pytest.Item) -> None:
    """All tests of one engine run in one process, so that it is started once; so do those that fetch a corpus."""
    if item.config.pluginmanager.hasplugin("xdist"):
        item.add_marker(pytest.mark.xdist_group(_group(item)))


def _group(item: pytest.Item) -> str:
    from tests.engines.fixtures import engine_of  # a plugin: pytest itself is to import it first

    if engine := engine_of(item):
        return engine
    return "corpus" if item.get_closest_marker("corpus") else item.path.as_posix()
