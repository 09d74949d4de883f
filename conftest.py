"""Fixtures for every test, and the settings of Hypothesis."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

pytest_plugins = ["tests.engines.fixtures", "tests.browser.fixtures", "tests.tiers", "tests.kernels"]

# How long drawing or running an example takes says more about what else the machine does than about the code.
settings.register_profile("sinkrank", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("sinkrank")
