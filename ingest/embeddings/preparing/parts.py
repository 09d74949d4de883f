"""The parts of prepared embeddings. Each makes a store, or says why it cannot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ingest.embeddings.dictionaries import Dictionary, Pair, read_pairs
from ingest.embeddings.encoded_words import encode_words
from ingest.embeddings.preparing.texts import DocumentFile
from ingest.embeddings.summary import EmbeddingsSummary
from ingest.embeddings.training import DIM, train
from ingest.embeddings.word_encoder import WordVectors
from ingest.progress import Progress
from reranker.base.errors import SinkrankError

if TYPE_CHECKING:
    from ingest.embeddings.sentence_models import SentenceModel

TRAINING, ENCODER, DICTIONARIES = "training", "encoder", "dictionaries"
PASSAGES, LANGUAGES = "passages", "languages"
NAMES = (TRAINING, ENCODER, DICTIONARIES, PASSAGES, LANGUAGES)

MAX_OTHERS = 50_000
"""Number of words of each language to add that are not in the documents, for queries."""

MAX_TRAINED_PAIRS = 10_000_000
"""Maximum sum of the numbers of distinct words of the documents, for training in some 2 GB of memory."""

# Chosen on the collections in one language that papers/results/embeddings.md names.
_ENGLISH_DIRECTIONS = 2


class EmbeddingsPart(Protocol):
    """One source of vectors.

    Attributes:
        name: one of `NAMES`.
        description: what the part does, for the user.
    """

    @property
    def name(self) -> str: ...

    @property
    def description(self) -> str: ...

    def make(self, texts: DocumentFile, output: Path, progress: Progress) -> EmbeddingsSummary:
        """Writes the store.

        Raises:
            SinkrankError: the part cannot be made; the message names the cure.
        """


@dataclass(frozen=True, slots=True)
class Training:
    """Vectors learned from the documents themselves.

    Attributes:
        language: None trains on translations.
    """

    language: str | None
    dim: int = DIM
    source: object = "documents"
    name: str = TRAINING

    @property
    def description(self) -> str:
        how = "aligned documents" if self.language is None else f"your documents, language {self.language}"
        return f"train on {how}"

    def make(self, texts: DocumentFile, output: Path, progress: Progress) -> EmbeddingsSummary:
        share = min(1.0, MAX_TRAINED_PAIRS / texts.n_pairs)
        summary = train(
            texts.units(share), output, dim=self.dim, language=self.language, source=self.source, progress=progress
        )
        if share == 1:
            return summary
        sampled = f"trained on a random {share:.0%} of the documents, since all would take too much memory"
        return replace(summary, warnings=(sampled, *summary.warnings))


@dataclass(frozen=True, slots=True)
class Encoded:
    """Vectors of a sentence encoder for the words of the documents and for their translations."""

    model: SentenceModel
    languages: Sequence[str]
    home: Path
    dictionaries: Sequence[str] = ()
    n_threads: int = 1
    name: str = ENCODER

    @property
    def description(self) -> str:
        return f"encode the words of the documents with {self.model.name}{with_dictionaries(self.dictionaries)}"

    def make(self, texts: DocumentFile, output: Path, progress: Progress) -> EmbeddingsSummary:
        from ingest.embeddings.sentence_models import open_encoder

        encoder = open_encoder(self.model, self.home / "models", self.n_threads)
        pairs, missing = read_dictionaries(self.dictionaries, self.home, progress)
        with WordVectors(self.home / "encoded-words.sqlite3", encoder) as words:
            summary = encode_words(
                pairs,
                words,
                output,
                collection=texts.collection.only(self.languages),
                n_directions=_ENGLISH_DIRECTIONS if list(self.languages) == ["en"] else None,
                progress=progress,
            )
        return replace(summary, warnings=missing)


def read_dictionaries(names: Sequence[str], home: Path, progress: Progress) -> tuple[list[Pair], tuple[str, ...]]:
    """All pairs of FreeDict's dictionaries, and why some could not be fetched or read."""
    from ingest.embeddings import freedict

    pairs: list[Pair] = []
    missing = []
    for name in names:
        try:
            path = freedict.fetch(home / "corpora" / "freedict", name, progress)
            pairs += list(read_pairs(Dictionary(path, *name.split("-"))))
        except SinkrankError as error:
            missing.append(f"without the dictionary {name}: {error}")
    return pairs, tuple(missing)


def with_dictionaries(pairs: Sequence[str]) -> str:
    return f", with the dictionaries {', '.join(pairs)}" if pairs else ""
