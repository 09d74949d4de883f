"""The page in a browser that is asked for a password or a key."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from reranker.api.app import create_app
from reranker.embeddings import Embeddings
from reranker.service.key_file import add_key
from reranker.service.settings import Settings
from reranker.stores.base.protocol import Store
from tests.api.rights.conftest import MakeApp
from tests.support.browser.pages import ids, opened_pages, searched
from tests.support.service import serving


@pytest.mark.parametrize(("user", "found"), [("anna", {"red", "all", "chat"}), ("searcher", None)])
def test_the_browser_asks_for_a_user_and_shows_what_he_may_see(
    browser: Browser, make_app: MakeApp, user: str, found: set[str] | None
) -> None:
    with serving(make_app()) as url, opened_pages(browser, url, ("/v1/", "_search")) as opened:
        page = opened("?index=notes", http_credentials={"username": user, "password": f"{user}-secret"})
        searched(page, "cat")
        assert set(ids(page, "after")) == (found or {"red", "blue", "all", "chat"})


def test_the_browser_asks_for_a_key_and_then_searches(
    browser: Browser, store: Store, embeddings: Embeddings, tmp_path: Path
) -> None:
    key = add_key(tmp_path / "keys", "reader")
    app = create_app(Settings(home=tmp_path, threads=1, api_keys=tmp_path / "keys"), store, embeddings)
    with serving(app) as url, opened_pages(browser, url) as opened:
        page = opened("?index=pages", http_credentials={"username": "any", "password": key})
        searched(page, "cat")
        expect(page.locator("#after li")).not_to_have_count(0)
