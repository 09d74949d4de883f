"""The small parallel corpus that comes with Sinkrank: short everyday texts in English, French and German.

Written for Sinkrank, sentence by sentence, with words that come back from text to text, so that embeddings
trained on most of the texts know the words of the others. It needs no network and shows how things work;
it is far too small, and too plain, to say how well they work.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from evaluation.corpora.pages import SPLIT_SEED, Corpus, Page, Paragraph, split

LANGUAGES = ("en", "fr", "de")

N_TRAIN = 53
"""Of 69 texts; the other 16 are for the test."""

_FOLDER = Path(__file__).parent / "parallel_texts"


def load_parallel_texts(*, n_train: int = N_TRAIN, seed: int = SPLIT_SEED) -> Corpus:
    """Read and split the shipped corpus. A text is a page, and a sentence of it a paragraph."""
    pages = [page for language in LANGUAGES for page in _read(language)]
    train, test = split(pages, n_train, seed)
    return Corpus("texts", LANGUAGES, train, test)


def _read(language: str) -> Iterator[Page]:
    with (_FOLDER / f"{language}.jsonl").open(encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            sentences = tuple(Paragraph(str(n), text) for n, text in enumerate(row["sentences"], start=1))
            yield Page(row["group"], language, row["title"], sentences, module="parallel_texts")
