"""Marks which paragraphs of a translation are aligned with the English page, by the structure of both."""

from __future__ import annotations

from collections import Counter

from evaluation.corpora.pages import Page, Paragraph


def aligned(page: Page, english: Page) -> Page:
    """The page, with the language before the ids of the paragraphs that are aligned with nothing in English.

    An id is the number of a section and of the paragraph in it (`3.2`). Translations keep the structure of the page
    that was translated, which need not be the version at hand: a section with another number of paragraphs than in
    English is aligned with nothing.
    """
    ours, theirs = _section_sizes(page), _section_sizes(english)
    return page._replace(
        paragraphs=tuple(
            each
            if ours[_section(each)] == theirs[_section(each)]
            else each._replace(paragraph_id=f"{page.language}:{each.paragraph_id}")
            for each in page.paragraphs
        )
    )


def _section(paragraph: Paragraph) -> str:
    return paragraph.paragraph_id.partition(".")[0]


def _section_sizes(page: Page) -> Counter[str]:
    return Counter(map(_section, page.paragraphs))
