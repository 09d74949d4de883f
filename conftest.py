"""Fixtures for every test, and the settings of Hypothesis."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.support.engines.nodes import folder_in_memory

pytest_plugins = [
    "tests.support.commands",
    "tests.support.service",
    "tests.support.engines.fixtures",
    "tests.support.browser.fixtures",
    "tests.support.tiers",
    "tests.support.collection",
    "tests.support.groups",
]

# Stores and files are synced to the disk again and again, which a busy machine lets wait.
if folder := folder_in_memory():
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(folder))

# How long drawing or running an example takes says more about what else the machine does than about the code.
settings.register_profile("sinkrank", max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("sinkrank")


@pytest.hookimpl(tryfirst=True)  # before the fixtures close the store and delete the files
def pytest_runtest_teardown() -> None:
    """The checks of a service's files end with the test that began them."""
    for thread in threading.enumerate():
        if thread.name.startswith("sinkrank-check-"):
            thread.join(60)


@pytest.fixture(autouse=True)
def no_log_to_what_is_closed() -> Iterator[None]:
    """A command that runs in the test's process may leave a handler that writes to its own, closed standard error."""
    yield
    handlers = logging.root.handlers
    handlers[:] = [one for one in handlers if not getattr(getattr(one, "stream", None), "closed", False)]
