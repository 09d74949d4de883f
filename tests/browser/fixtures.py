"""A real browser without a screen, started once a module: as long as it runs, the thread has an event loop that runs,
and `asyncio.run` of other tests would refuse."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.browser.chromium import find_chromium

# A container's root may not make the sandbox's namespaces; the pages are our own.
_OPTIONS = ["--no-sandbox", "--disable-dev-shm-usage"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    chromium = find_chromium()
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=chromium.path, args=_OPTIONS, env={**os.environ, **chromium.environment}
        )
        yield started
        started.close()
