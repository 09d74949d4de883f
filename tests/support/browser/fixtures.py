"""A real browser without a screen, started once a module: as long as it runs, the thread has an event loop that runs,
and `asyncio.run` of other tests would refuse."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.support.browser.chromium import running_chromium


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running_chromium() as started:
        yield started
