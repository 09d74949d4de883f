"""Finds the paragraphs of a translation that are aligned with the English page, by the structure of both."""

from __future__ import annotations

from collections import Counter

from sinkrank.demo.pages import CorpusPage, Paragraph


def aligned(page: CorpusPage, english: CorpusPage) -> CorpusPage:
    """Puts the language before the ids of paragraphs that are aligned with no English paragraph.

    An id is the number of a section and of the paragraph in it (`3.2`). A translation has the structure of the English
    page that was translated, which may be another version. So a section whose number of paragraphs differs from the
    English one is not aligned.
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


def _section_sizes(page: CorpusPage) -> Counter[str]:
    return Counter(map(_section, page.paragraphs))
