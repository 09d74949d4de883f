"""Lines of prose in README.md and docs/ are at most 120 columns wide."""

from __future__ import annotations

from pathlib import Path

import pytest
import regex

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
MAX_COLUMNS = 120


def prose(page: str) -> list[tuple[int, str]]:
    """The numbered lines of a page without code blocks and tables, each link reduced to its text."""
    lines = []
    is_fenced = False
    for number, line in enumerate(page.splitlines(), start=1):
        is_fence = line.startswith("```")
        is_fenced ^= is_fence
        if not (is_fenced or is_fence or line.startswith(("|", "    "))):
            lines.append((number, regex.sub(r"\]\([^)]*\)", "]", line)))
    return lines


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_line_of_prose_is_at_most_120_columns_wide(page: Path) -> None:
    long = [number for number, line in prose(page.read_text(encoding="utf-8")) if len(line) > MAX_COLUMNS]
    assert not long, f"{page.name}: wrap lines {long} at {MAX_COLUMNS} columns"


def test_code_tables_and_the_targets_of_links_are_no_prose() -> None:
    page = "# Title\n\n    code\n\n| a | table |\n```sh\nls\n```\nSee [here](https://example.org).\n"
    assert prose(page) == [(1, "# Title"), (2, ""), (4, ""), (9, "See [here].")]
