"""The corpora of `python -m papers.held_out` by name: their held-out pages, and the pages that train the embeddings.

`python -m papers.held_out.pages gnome gnome.jsonl --home .sinkrank` writes the held-out pages as documents for
`sinkrank embeddings prepare` and `sinkrank ingest`.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from ingest.progress import Progress, no_progress
from papers.base import module_command
from papers.corpora import gnome, manpages
from papers.corpora.development import development
from papers.corpora.fairness import fair
from reranker.base.errors import BadInput
from sinkrank.demo import Corpus, libreoffice, load_libreoffice, load_parallel_texts, shipped
from sinkrank.demo.pages import as_documents, write_jsonl

LANGUAGES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "libreoffice": libreoffice.LANGUAGES,
        "gnome": gnome.LANGUAGES,
        "manpages": manpages.LANGUAGES,
        "texts": shipped.LANGUAGES,
    }
)
"""The languages of each corpus. The keys are the names of all corpora."""


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Test pages, and the corpus of the training pages.

    Attributes:
        corpus: its test pages are queries and documents; its training pages are those of `learned_from`.
        learned_from: corpus that trains the embeddings: the same, or another one if the corpus is for testing only.
    """

    corpus: Corpus
    learned_from: Corpus


def load(name: str, home: Path, progress: Progress = no_progress, *, of_development: bool = False) -> HeldOut:
    """Reads a corpus, and fetches it if it is missing.

    GNOME's help and the manual pages are as in the suite of the papers: without near-duplicates and untranslated pages
    (`papers.corpora.fairness`).

    Args:
        name: one of `LANGUAGES`.
        of_development: use a part of the training pages instead of the held-out pages.

    Raises:
        BadInput: `of_development` for a corpus that is for testing only.
        FetchFailed: it cannot be fetched.
    """
    if name == "gnome":
        if of_development:
            raise BadInput(
                "gnome has no training pages to choose by, it is for testing alone; choose by another corpus"
            )
        learned_from = load_libreoffice(home, progress)
        asking = fair(gnome.load_gnome(home, progress))
        return HeldOut(replace(asking, train_pages=learned_from.train_pages), learned_from)
    if name == "manpages":
        corpus = manpages.load_manpages(home, progress)
        corpus = fair(development(corpus) if of_development else corpus)
    else:
        corpus = load_libreoffice(home, progress) if name == "libreoffice" else load_parallel_texts()
        corpus = development(corpus) if of_development else corpus
    return HeldOut(corpus, corpus)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m papers.held_out.pages", description=__doc__)
    parser.add_argument("corpus", choices=list(LANGUAGES))
    parser.add_argument("file", type=Path, help="JSONL file to write")
    parser.add_argument("--home", type=Path, default=Path(".sinkrank"))
    options = parser.parse_args(arguments)
    write_jsonl(options.file, as_documents(load(options.corpus, options.home).corpus.test_pages))


if __name__ == "__main__":
    module_command.run(main)
