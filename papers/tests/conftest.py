"""Which tests stay together when several processes run them: those of a file, and those that fetch a corpus."""

from __future__ import annotations

import pytest


def pytest_itemcollected(item: pytest.Item) -> None:
    if item.config.pluginmanager.hasplugin("xdist"):
        group = "corpus" if item.get_closest_marker("corpus") else item.path.as_posix()
        item.add_marker(pytest.mark.xdist_group(group))
