"""Removes test pages that cannot be judged fairly: near-duplicates, and pages in the wrong language.

Every report states the rules (`MAX_JACCARD`, `MIN_CONFIDENCE`) and the number of pages that each removed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from reranker.text.language_detection import detect_language
from reranker.text.tokens import letter_tokens
from sinkrank.demo.pages import Corpus, CorpusPage

SHINGLE_TOKENS = 3
"""Number of words in a shingle, without stop words; three content words span some six words of text."""

MAX_JACCARD = 0.5
"""Two pages that share more of their shingles than this are near-duplicates: nobody can say which one is meant."""

MIN_CONFIDENCE = 0.9
"""A page that py3langid detects as English with this confidence, but should not be, is untranslated."""

LANGUAGE_RULE = "detected as English"
DUPLICATE_RULE = "near-duplicate of another page"


def fair(corpus: Corpus) -> Corpus:
    """Removes the test pages that break a rule. The training pages stay.

    A page that is detected as English is removed in that language. A near-duplicate of a training page, or of a test
    page with an earlier id in the alphabet, is removed in all languages, since its translations are near-duplicates
    too.
    """
    mistaken = {(page.page_id, page.language) for page in corpus.test_pages if _is_english(page)}
    translated = [page for page in corpus.test_pages if (page.page_id, page.language) not in mistaken]
    repeated: set[str] = set()
    for language in corpus.languages:
        repeated |= near_duplicates(
            [page for page in corpus.train_pages if page.language == language],
            [page for page in translated if page.language == language],
        )
    left_out = Counter(f"{LANGUAGE_RULE}/{language}" for _, language in mistaken)
    left_out.update(f"{DUPLICATE_RULE}/{page.language}" for page in translated if page.page_id in repeated)
    return replace(
        corpus,
        test_pages=tuple(page for page in translated if page.page_id not in repeated),
        left_out={**corpus.left_out, **dict(sorted(left_out.items()))},
    )


def near_duplicates(train: Sequence[CorpusPage], test: Sequence[CorpusPage]) -> set[str]:
    """Ids of the test pages that are near-duplicates of a training page, or of a test page with an earlier id.

    All pages are in one language. The similarity of two pages is the Jaccard index of their sets of shingles.
    """
    ordered = sorted(test, key=lambda page: page.page_id)
    pages = [*train, *ordered]
    if not ordered:
        return set()
    jaccard = jaccard_indices(ordered, pages)
    found = set()
    for row, page in enumerate(ordered):
        if (jaccard[row, : len(train) + row] > MAX_JACCARD).any():
            found.add(page.page_id)
    return found


def jaccard_indices(rows: Sequence[CorpusPage], columns: Sequence[CorpusPage]) -> NDArray[np.float64]:
    """(n_rows, n_columns), the Jaccard index of the shingles of two pages; 0 if they have none."""
    sets = _sets([*rows, *columns])
    row_sets, column_sets = sets[: len(rows)], sets[len(rows) :]
    shared = (row_sets @ column_sets.T).toarray()
    either = (
        np.asarray(row_sets.sum(axis=1)).reshape(-1, 1) + np.asarray(column_sets.sum(axis=1)).reshape(1, -1) - shared
    )
    indices: NDArray[np.float64] = np.divide(shared, either, out=np.zeros_like(shared), where=either > 0)
    return indices


def _sets(pages: Iterable[CorpusPage]) -> sparse.csr_array:
    """(n_pages, n_shingles), 1 for each shingle of a page."""
    vocabulary: dict[tuple[str, ...], int] = {}
    places: list[int] = []
    ends = [0]
    for page in pages:
        tokens = letter_tokens(page.text, page.language, None)
        shingles = {tuple(tokens[n : n + SHINGLE_TOKENS]) for n in range(len(tokens) - SHINGLE_TOKENS + 1)}
        places += [vocabulary.setdefault(shingle, len(vocabulary)) for shingle in shingles]
        ends.append(len(places))
    return sparse.csr_array((np.ones(len(places)), places, ends), shape=(len(ends) - 1, len(vocabulary)))


def _is_english(page: CorpusPage) -> bool:
    return page.language != "en" and detect_language(page.text, MIN_CONFIDENCE) == "en"
