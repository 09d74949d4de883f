"""Fixtures for every test, and the settings of Hypothesis."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = [
    "tests.engines.fixtures",
    "tests.browser.fixtures",
    "tests.tiers",
    "tests.collection",
    "tests.groups",
    "tests.kernels",
]

# How long drawing or running an example takes says more about what else the machine does than about the code.
settings.register_profile("sinkrank", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("sinkrank")


@pytest.fixture(autouse=True)
def no_log_to_what_is_closed() -> Iterator[None]:
    """A command that runs in the test's process may leave a handler that writes to its own, closed standard error."""
    yield
    handlers = logging.root.handlers
    handlers[:] = [one for one in handlers if not getattr(getattr(one, "stream", None), "closed", False)]
