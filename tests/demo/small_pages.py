"""Pages of a few words."""

from __future__ import annotations

from sinkrank.demo.pages import CorpusPage, Paragraph


def page(page_id: str, language: str, *texts: str) -> CorpusPage:
    """A page with the paragraphs `par_0`, `par_1` and so on."""
    return CorpusPage(page_id, language, "", tuple(Paragraph(f"par_{n}", text) for n, text in enumerate(texts)))
