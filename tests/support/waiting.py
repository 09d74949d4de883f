"""Waits for what another thread or process does."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

import pytest
import urllib3

# Far longer than anything takes: a hang ends, and no figure is tested.
PATIENCE_S = 300.0


def wait_until(holds: Callable[[], object], what: str) -> None:
    """Waits for a condition; one that meets a server that does not answer does not hold."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        with suppress(urllib3.exceptions.HTTPError):
            if holds():
                return
        time.sleep(0.02)
    pytest.fail(f"waited in vain until {what}")
