"""Measures `embeddings align` on two collections that share no page.

`python -m papers.studies.rotated --home .sinkrank` prints the table of docs/embeddings.md. English is trained on one
half of the development training pages of LibreOffice's help, the other language on the other half. Then the second
store is rotated with FreeDict's dictionaries, and the development pages are queries for their translations.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from ingest.embeddings import freedict
from ingest.embeddings.aligning import align
from ingest.embeddings.dictionaries import Dictionary, Pair, read_pairs
from ingest.embeddings.training import DIM, train
from papers.base import module_command
from papers.base.markdown import print_table
from papers.corpora.development import development
from papers.corpora.tasks import Direction
from papers.held_out.experiment import Plan, run_plan
from reranker.embeddings import Embeddings
from sinkrank.demo import Corpus, load_libreoffice
from sinkrank.demo.pages import Page

LANGUAGES = ("fr", "de", "fi")
KINDS = ("first20", "pages")
METHODS = ("auto", "nbow")
LIMIT = 200

_SEED = 1  # of the halves; any fixed number would do


def halves(pages: Iterable[Page], seed: int = _SEED) -> tuple[tuple[Page, ...], tuple[Page, ...]]:
    """Splits the pages in two halves, with all languages of a page in the same half."""
    pages = tuple(pages)
    page_ids = sorted({page.page_id for page in pages})
    random.Random(seed).shuffle(page_ids)  # noqa: S311 - a split, no secret
    first = set(page_ids[: len(page_ids) // 2])
    return tuple(p for p in pages if p.page_id in first), tuple(p for p in pages if p.page_id not in first)


def paragraphs(pages: Iterable[Page], language: str) -> Iterator[dict[str, str]]:
    """The training units of one language, without repeated paragraphs."""
    seen: set[str] = set()
    for page in pages:
        for paragraph_id, text in page.paragraphs if page.language == language else ():
            if text not in seen:
                seen.add(text)
                group = f"{page.page_id}#{paragraph_id}"
                yield {"group": group, "language": language, "text": text, "document": page.page_id}


def rotated(corpus: Corpus, language: str, pairs: Iterable[Pair], folder: Path, dim: int = DIM) -> Embeddings:
    """Trains English on one half of the training pages and the other language on the other half, and aligns them."""
    parts = zip(("en", language), halves(corpus.train_pages), strict=True)
    for code, pages in parts:
        train(paragraphs(pages, code), folder / code, language=code, dim=dim)
    align(Embeddings.open(folder / "en"), Embeddings.open(folder / language), pairs, folder / "both")
    return Embeddings.open(folder / "both")


def rows(
    corpus: Corpus, language: str, pairs: Iterable[Pair], folder: Path, limit: int = LIMIT, dim: int = DIM
) -> Iterator[list[str]]:
    """The rows: direction, words, pairs that both stores know, and the MRR of each kind of query and method."""
    embeddings = rotated(corpus, language, pairs, folder, dim)
    n_pairs = embeddings.meta["source"]["n_pairs"]
    for direction in (Direction("en", language), Direction(language, "en")):
        plan = Plan((direction,), KINDS, METHODS, limit)
        found = [
            f"{result.everything['MRR']:.3f}"
            for task in run_plan(corpus, embeddings, plan)
            for result in task.methods
            if result.everything
        ]
        yield [str(direction), f"{embeddings.n_terms:,}", f"{n_pairs:,}", *found]


def _pairs(home: Path, language: str) -> Iterator[Pair]:
    for direction in (Direction("en", language), Direction(language, "en")):
        path = freedict.fetch(home / "corpora" / "freedict", str(direction))
        yield from read_pairs(Dictionary(path, direction.query_language, direction.document_language))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m papers.studies.rotated", description=__doc__)
    parser.add_argument("--home", type=Path, default=Path(".sinkrank"))
    parser.add_argument("--languages", default=",".join(LANGUAGES), help="languages to rotate to English")
    parser.add_argument("--queries", type=int, default=LIMIT, help="number of queries per task")
    options = parser.parse_args(arguments)
    corpus = development(load_libreoffice(options.home))
    columns = ["", "words", "pairs", *(f"{kind} {method}" for kind in KINDS for method in METHODS)]

    def found() -> Iterator[list[str]]:
        for language in options.languages.split(","):
            with TemporaryDirectory() as folder:
                yield from rows(corpus, language, _pairs(options.home, language), Path(folder), options.queries)

    print_table(columns, found())


if __name__ == "__main__":
    module_command.run(main)
