"""Takes the pictures of the page for README and docs (`make pictures`): as `make demo` opens it, and its explanation.

python -m tests.support.browser.screenshots --home .sinkrank
"""

from __future__ import annotations

import argparse
import io
import sys
from contextlib import closing
from pathlib import Path

from PIL import Image
from playwright.sync_api import ViewportSize

from reranker.api.app import create_app
from reranker.embeddings import Embeddings
from reranker.service.settings import Settings
from reranker.stores import open_store
from sinkrank.commands.demo_run import LIBREOFFICE_SEARCHES
from sinkrank.commands.serve import page_path
from tests.support.browser.chromium import running_chromium
from tests.support.service import serving

IMAGES = Path(__file__).resolve().parents[3] / "docs" / "images"
N_COLOURS = 256
SIZE: ViewportSize = {"width": 1200, "height": 800}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", type=Path, required=True, help="folder that `make demo` has filled")
    settings = Settings(home=parser.parse_args().home)
    with closing(open_store(settings.store_address)) as store:
        app = create_app(settings, store, Embeddings.open(settings.home / "embeddings"))
        with serving(app) as address:
            _take(address + page_path(LIBREOFFICE_SEARCHES[0]))
    return 0


def _take(address: str) -> None:
    with running_chromium() as browser:
        page = browser.new_page(viewport=SIZE, color_scheme="light")
        page.goto(address)
        page.locator("#after mark").first.wait_for()
        page.reload()  # the first search also opens the index
        page.locator("#after mark").first.wait_for()
        page.mouse.move(0, 0)
        _save(page.screenshot(), "page.png")
        page.get_by_role("button", name="Why").first.click()
        page.locator(".transport").wait_for()
        page.mouse.move(0, 0)
        page.wait_for_timeout(200)
        _save(page.screenshot(), "transport.png")


def _save(picture: bytes, name: str) -> None:
    """A page has few colours: with a palette the file has half the size."""
    with Image.open(io.BytesIO(picture)) as opened:
        opened.convert("RGB").quantize(N_COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(
            IMAGES / name, optimize=True
        )


if __name__ == "__main__":
    sys.exit(main())
