"""Cleans pages in several languages by stated rules, and splits them into training and test pages.

Does not know where pages come from. It does not use the network, and writes only with `write_jsonl` and `cached_rows`.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, groupby
from pathlib import Path
from typing import Any, NamedTuple

from ingest.embeddings.units import Unit
from reranker.base.whole_files import whole_file

SPLIT_SEED = 2018
"""The year of Balikas et al.; any fixed number would do."""

# The queries of the short-query tables are the first 20 words of a page, so a shorter page has no such query.
# (Balikas et al. 2018 only require more than five words; their documents are Wikipedia articles.)
MIN_WORDS = 20

# Headings such as "Example" or names such as "Calc" may be spelled alike in a good translation.
MIN_WORDS_TO_COMPARE = 4

# A page is untranslated if more than this share of its comparable words is in English.
MAX_ENGLISH_SHARE = 0.5

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")


class Paragraph(NamedTuple):
    """One paragraph; the same `paragraph_id` on the same page means the same paragraph in every language."""

    paragraph_id: str
    text: str


class CorpusPage(NamedTuple):
    """One page in one language; the same `page_id` means the same page in every language."""

    page_id: str
    language: str
    title: str
    paragraphs: tuple[Paragraph, ...]
    module: str = ""
    url: str = ""

    @property
    def text(self) -> str:
        """The paragraphs, joined by newlines."""
        return "\n".join(paragraph.text for paragraph in self.paragraphs)


@dataclass(frozen=True)
class Corpus:
    """A parallel corpus, split by page id so that no language of a test page is seen in training.

    `left_out` is the number of removed pages (each language of a page counts) by rule and language. The rules are
    "too short", "duplicate" and "untranslated": "untranslated/fr".
    """

    name: str
    languages: tuple[str, ...]
    train_pages: tuple[CorpusPage, ...]
    test_pages: tuple[CorpusPage, ...]
    left_out: Mapping[str, int] = field(default_factory=dict)


def count_words(text: str) -> int:
    """Return the number of words in the text, without numbers and signs."""
    return len(_WORD.findall(text))


def english_share(page: CorpusPage, english_page: CorpusPage) -> float:
    """Return the share (0 to 1, by words) of the page's comparable text that is identical to English.

    Paragraphs are comparable if both pages have their id and the English text has at least `MIN_WORDS_TO_COMPARE`
    words. Without any, all common paragraphs are compared; without these, the share is 0.
    """
    english = dict(english_page.paragraphs)
    if not any(english.get(paragraph_id) == text for paragraph_id, text in page.paragraphs):
        return 0.0
    counted = [
        (count_words(english[paragraph_id]), text == english[paragraph_id])
        for paragraph_id, text in page.paragraphs
        if paragraph_id in english
    ]
    comparable = [pair for pair in counted if pair[0] >= MIN_WORDS_TO_COMPARE] or counted
    n_words = sum(n for n, _ in comparable)
    return sum(n for n, same in comparable if same) / n_words if n_words else 0.0


def is_translated(page: CorpusPage, english_page: CorpusPage) -> bool:
    """Whether at most half (`MAX_ENGLISH_SHARE`) of the page is still in English, by `english_share`.

    Always true for a page in English.
    """
    return page.language == "en" or english_share(page, english_page) <= MAX_ENGLISH_SHARE


def select_pages(pages: Iterable[CorpusPage]) -> tuple[list[CorpusPage], dict[str, int]]:
    """Return the pages that can be judged fairly, and the number of pages that each rule removed.

    A page in one language is removed if it
    - has fewer than `MIN_WORDS` words ("too short");
    - is still mostly English ("untranslated", see `is_translated`), or has no English page to compare with;
    - has the same words in the same order as another page in its language ("duplicate"), because nobody can say which
      of the two is the right answer. The first page id in the alphabet stays.

    The rules are applied in this order, and a page is counted for the first one that it breaks. A page that is removed
    in English is removed in every language, since the others are its translations.
    """
    ordered = sorted(pages, key=lambda page: (page.language != "en", page.language, page.page_id))
    english = {page.page_id: page for page in ordered if page.language == "en"}
    selected: list[CorpusPage] = []
    english_rules: dict[str, str] = {}
    left_out: Counter[str] = Counter()
    seen: set[tuple[str, str]] = set()
    for page in ordered:
        words = _WORD.findall(page.text.casefold())
        rule = english_rules.get(page.page_id) or _rule_against(page, len(words), english.get(page.page_id))
        fingerprint = (page.language, " ".join(words))
        if rule is None and fingerprint in seen:
            rule = "duplicate"
        if rule is None:
            seen.add(fingerprint)
            selected.append(page)
            continue
        left_out[f"{rule}/{page.language}"] += 1
        if page.language == "en":
            english_rules[page.page_id] = rule
    return selected, dict(sorted(left_out.items()))


def _rule_against(page: CorpusPage, n_words: int, english_page: CorpusPage | None) -> str | None:
    """Return the name of the first rule that a page breaks, without comparing it to others of its language, or None."""
    if n_words < MIN_WORDS:
        return "too short"
    if english_page is None or not is_translated(page, english_page):
        return "untranslated"
    return None


def split(
    pages: Iterable[CorpusPage], n_train: int = 1400, seed: int = SPLIT_SEED
) -> tuple[tuple[CorpusPage, ...], tuple[CorpusPage, ...]]:
    """Return (train, test) pages: `n_train` page ids drawn with the seed, in all their languages; the rest.

    The same page ids, `n_train` and seed give the same split for any order of the pages.
    """
    pages = list(pages)
    page_ids = sorted({page.page_id for page in pages})
    drawn = set(random.Random(seed).sample(page_ids, n_train))  # noqa: S311 - a split, no secret
    ordered = sorted(pages, key=lambda page: (page.page_id, page.language))
    train = tuple(page for page in ordered if page.page_id in drawn)
    return train, tuple(page for page in ordered if page.page_id not in drawn)


def aligned_units(pages: Iterable[CorpusPage]) -> Iterator[Unit]:
    """Yields the paragraphs to train on. Document frequencies count pages, as in an index.

    It skips, in this order,
    - paragraphs that equal the English one. Most are not translated yet, and learning English words as Finnish ones
      does more harm than skipping a name;
    - groups with only one language left;
    - groups with the English text of an earlier one. "Syntax:" is on a hundred pages. If it counted a hundred times,
      its words would be similar only to each other.
    """
    ordered = sorted(pages, key=lambda page: (page.page_id, page.language != "en", page.language))
    seen: set[str] = set()
    for page_id, versions in groupby(ordered, key=lambda page: page.page_id):
        for paragraph_id, texts in _translations(versions).items():
            english = texts.get("en")
            if len(texts) < 2 or english in seen:
                continue
            if english is not None:
                seen.add(english)
            for language, text in texts.items():
                yield Unit(f"{page_id}#{paragraph_id}", language, text, page_id)


def _translations(versions: Iterable[CorpusPage]) -> dict[str, dict[str, str]]:
    """Return paragraph id → language → text for the versions of one page. The first version is the English one."""
    translations: dict[str, dict[str, str]] = {}
    for page in versions:
        for paragraph_id, text in page.paragraphs:
            texts = translations.setdefault(paragraph_id, {})
            if page.language == "en" or texts.get("en") != text:
                texts[page.language] = text
    return translations


def as_documents(pages: Iterable[CorpusPage]) -> Iterator[dict[str, Any]]:
    """Yield the rows that ingest reads: id, language, title, text, url if there is one, and metadata."""
    for page in pages:
        row: dict[str, Any] = {
            "id": f"{page.language}/{page.page_id}",
            "language": page.language,
            "title": page.title,
            "text": page.text,
        }
        if page.url:
            row["url"] = page.url
        yield row | {"metadata": {"page": page.page_id, "module": page.module}}


def by_language(pages: Iterable[CorpusPage], language: str) -> dict[str, CorpusPage]:
    """Return the pages of one language by page id."""
    return {page.page_id: page for page in pages if page.language == language}


def cached_rows(path: Path, signature: object, make: Callable[[], Iterable[object]]) -> list[Any]:
    """Returns the rows of a cache, a file of JSON lines below their signature. If the file is missing or unreadable, or
    has another signature, the rows are made and written first."""
    try:
        with path.open(encoding="utf-8") as file:
            is_fresh = json.loads(file.readline()) == signature
    except (OSError, ValueError):
        is_fresh = False
    if not is_fresh:
        write_jsonl(path, chain([signature], make()))
    with path.open(encoding="utf-8") as file:
        next(file)
        return [json.loads(line) for line in file]


def write_jsonl(path: Path, rows: Iterable[Any]) -> int:
    """Write one JSON value per line, in UTF-8, and return the number of lines.

    The file appears whole or not at all.
    """
    n_rows = 0
    with whole_file(path) as file:
        for row in rows:
            file.write((json.dumps(row, ensure_ascii=False) + "\n").encode())
            n_rows += 1
    return n_rows
