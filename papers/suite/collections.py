"""The collections of the suite: their pages, the pages to learn from, and their questions."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from ingest.progress import Progress, no_progress
from papers.corpora import gnome, manpages, package_descriptions
from papers.corpora.fairness import fair
from papers.corpora.tasks import Direction, default_directions
from papers.suite.questions import Question, classification, translations
from reranker.embeddings import Embeddings
from sinkrank.demo import load_libreoffice
from sinkrank.demo.pages import Corpus, CorpusPage, by_language
from sinkrank.demo.trained import digest, open_trained, train_on

N_PAGES = 500
"""Queries and documents of a task, as in Balikas et al. 2018."""

N_LABELLED, N_ASKING = 800, 400
"""Labelled descriptions, and descriptions to classify."""

QUICK_LANGUAGES = ("en", "fr", "fi")
QUICK_N_TRAIN, QUICK_N_TEST = 200, 60

_SAMPLE_SEED = 2015  # the year of Kusner et al.; any fixed number would do


@dataclass(frozen=True, eq=False)
class Collection:
    """Questions about one corpus, and the pages that systems learn from.

    Attributes:
        title, source, licence: for the report.
        corpus: its test pages are queries and documents.
        learning: systems learn from its training pages; the same corpus or another.
    """

    name: str
    title: str
    source: str
    licence: str
    corpus: Corpus
    learning: Corpus
    questions: tuple[Question, ...]

    @cached_property
    def trained_on(self) -> str:
        """A hash of the training pages."""
        return digest(page._asdict() for page in self.learning.train_pages)

    def embeddings(self, home: Path, progress: Progress = no_progress) -> Embeddings:
        """Opens the home's embeddings if they were trained on these pages; otherwise trains them once for the suite."""
        found = open_trained(home / "embeddings", self.learning)
        return found or train_on(
            self.learning, home / "evaluation" / "papers" / "embeddings" / self.learning.name, progress
        )


Load = Callable[[Path, Sequence[Direction] | None, Progress], Collection]


def libreoffice(
    home: Path, directions: Sequence[Direction] | None = None, progress: Progress = no_progress
) -> Collection:
    """LibreOffice's help: near translations in six languages."""
    corpus = fair(load_libreoffice(home, progress))
    asked = _asked(corpus, directions)
    parts = _translations(corpus, "libreoffice", asked, ("pages", "first20", "halves"), N_PAGES)
    whole = [translations(corpus, "libreoffice", each, "first20", None, scope="all") for each in asked]
    return _libreoffice(corpus, [*parts, *whole])


def quick(home: Path, directions: Sequence[Direction] | None = None, progress: Progress = no_progress) -> Collection:
    """A small part of LibreOffice's help in three languages, to check that everything works."""
    whole = load_libreoffice(home, progress, languages=QUICK_LANGUAGES)
    corpus = fair(part_of(whole, QUICK_N_TRAIN, QUICK_N_TEST + 20))
    asked = directions or (Direction("en", "fr"), Direction("fi", "en"))
    return _libreoffice(corpus, _translations(corpus, "libreoffice", asked, ("pages", "first20"), QUICK_N_TEST))


def gnome_help(
    home: Path, directions: Sequence[Direction] | None = None, progress: Progress = no_progress
) -> Collection:
    """GNOME's help, for systems that learn from LibreOffice's help only; with related pages."""
    corpus = fair(gnome.load_gnome(home, progress))
    asked = _asked(corpus, directions)
    questions = _translations(corpus, "gnome", asked, ("pages", "first20"), None, related=True)
    learning = load_libreoffice(home, progress)
    return Collection("gnome", "GNOME's help", gnome.SOURCE, gnome.LICENCE, corpus, learning, questions)


def manual_pages(
    home: Path, directions: Sequence[Direction] | None = None, progress: Progress = no_progress
) -> Collection:
    """Linux's manual pages in five languages."""
    corpus = fair(manpages.load_manpages(home, progress))
    questions = _translations(corpus, "manpages", _asked(corpus, directions), ("pages", "first20"), N_PAGES)
    title = "Linux's manual pages"
    return Collection("manpages", title, manpages.SOURCE, manpages.LICENCE, corpus, corpus, questions)


def packages(home: Path, directions: Sequence[Direction] | None = None, progress: Progress = no_progress) -> Collection:
    """Descriptions of Debian packages in English, to classify by section. Directions do not matter."""
    corpus = fair(package_descriptions.load_package_descriptions(home, progress))
    draw = random.Random(_SAMPLE_SEED)  # noqa: S311 - a sample, no secret
    train, test = by_language(corpus.train_pages, "en"), by_language(corpus.test_pages, "en")
    labelled = [train[page_id] for page_id in sorted(draw.sample(sorted(train), N_LABELLED))]
    asking = [test[page_id] for page_id in sorted(draw.sample(sorted(test), N_ASKING))]
    questions = (
        classification(labelled, asking, "packages"),
        classification(labelled, labelled, "packages", of_training=True),
    )
    return Collection(
        "packages",
        "Descriptions of Debian packages",
        package_descriptions.SOURCE,
        package_descriptions.LICENCE,
        corpus,
        corpus,
        questions,
    )


def part_of(corpus: Corpus, n_train: int, n_test: int) -> Corpus:
    """Returns the corpus with only the first page ids, in alphabetical order, that have all its languages."""

    def first(pages: Sequence[CorpusPage], n: int) -> tuple[CorpusPage, ...]:
        by = [by_language(pages, language) for language in corpus.languages]
        page_ids = set(sorted(set.intersection(*(set(each) for each in by)))[:n])
        return tuple(page for page in pages if page.page_id in page_ids)

    name = f"{corpus.name}-part"  # so that its embeddings are not taken for those of the whole
    return replace(
        corpus, name=name, train_pages=first(corpus.train_pages, n_train), test_pages=first(corpus.test_pages, n_test)
    )


def _libreoffice(corpus: Corpus, questions: Iterable[Question]) -> Collection:
    return Collection(
        "libreoffice",
        "LibreOffice's help",
        "Debian packages libreoffice-help-{en-us,fr,de,fi,el,sv}",
        "MPL-2.0, the LibreOffice contributors",
        corpus,
        corpus,
        tuple(questions),
    )


def _translations(
    corpus: Corpus,
    name: str,
    directions: Sequence[Direction],
    kinds: Sequence[str],
    limit: int | None,
    related: bool = False,
) -> tuple[Question, ...]:
    """Makes a question of each kind for each direction."""
    return tuple(translations(corpus, name, each, kind, limit, related) for kind in kinds for each in directions)


def _asked(corpus: Corpus, directions: Sequence[Direction] | None) -> list[Direction]:
    """Returns the given directions that the corpus has; by default English to each other language and back."""
    if directions is None:
        return default_directions(corpus.languages)
    return [
        each
        for each in directions
        if each.query_language in corpus.languages and each.document_language in corpus.languages
    ]
