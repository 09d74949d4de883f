"""Executes a plan: makes the parts, joins them, and takes the last steps."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from ingest.embeddings.joining import join
from ingest.embeddings.preparing.parts import ENCODER, MAX_OTHERS, Training
from ingest.embeddings.preparing.plan import NEEDS_ENCODER, PreparationPlan, language_to_train
from ingest.embeddings.preparing.texts import DocumentFile
from ingest.embeddings.summary import EmbeddingsSummary
from ingest.embeddings.training import DIM
from ingest.embeddings.word_frequencies import WordFrequencies
from ingest.progress import Progress, no_progress
from reranker.base.errors import BadInput, SinkrankError
from reranker.embeddings import Embeddings
from reranker.embeddings.writer import put_in_place


@dataclass(frozen=True, slots=True)
class MadePart:
    """A part that was made."""

    name: str
    description: str
    n_words: int
    seconds: float


@dataclass(frozen=True, slots=True)
class PreparationReport:
    """The result of preparing.

    Attributes:
        unknown_share: share of the documents' words without an embedding, 0 to 1; a word counts once a document.
        left_out: name → why a part is missing.
    """

    summary: EmbeddingsSummary
    made: list[MadePart]
    unknown_share: float
    left_out: dict[str, str]
    notes: list[str]


def prepare(
    texts: DocumentFile,
    plan: PreparationPlan,
    output: Path,
    *,
    replace: bool = False,
    progress: Progress = no_progress,
) -> PreparationReport:
    """Makes the embeddings. The parts stay beside the texts until the caller deletes them.

    Args:
        output: in the file system of the texts.

    Raises:
        BadInput: no part could be made; the message has the reason of each.
    """
    started = time.monotonic()
    left_out = dict(plan.left_out)
    notes: list[str] = []
    folder = texts.path.parent
    made: list[MadePart] = []
    for part in plan.parts:
        begun = time.monotonic()
        try:
            summary = part.make(texts, folder / part.name, progress)
        except (SinkrankError, OSError) as error:
            left_out[part.name] = str(error)
            continue
        notes += _notes(part.name, summary)
        made.append(MadePart(part.name, part.description, sum(summary.languages.values()), time.monotonic() - begun))
    if not made:
        told = "; ".join(f"{name}: {reason}" for name, reason in left_out.items())
        raise BadInput(f"no part could be made, so there are no embeddings ({told})")
    stores = [Embeddings.open(folder / part.name) for part in made]
    summary = join(
        stores,
        folder / "joined",
        collection=texts.collection.only({code for store in stores for code in store.languages}),
        max_others=MAX_OTHERS,
        progress=progress,
    )
    for step in plan.last:
        if ENCODER not in {part.name for part in made}:
            left_out[step.name] = NEEDS_ENCODER
            continue
        try:
            summary = step.make(Embeddings.open(summary.output), texts, folder / f"with-{step.name}", progress)
        except (SinkrankError, OSError) as error:
            left_out[step.name] = str(error)
            continue
        notes += _notes(step.name, summary)
    put_in_place(summary.output, output, replace=replace)
    embeddings = Embeddings.open(output)
    return PreparationReport(
        summary=EmbeddingsSummary.of(embeddings, started),
        made=made,
        unknown_share=_unknown_share(embeddings, texts.collection),
        left_out=left_out,
        notes=notes,
    )


def train_alone(
    texts: DocumentFile,
    output: Path,
    language: str | None = None,
    *,
    dim: int = DIM,
    source: object = "documents",
    replace: bool = False,
    progress: Progress = no_progress,
) -> EmbeddingsSummary:
    """Makes embeddings of the part `training` alone.

    Args:
        output: in the file system of the texts.
        language: the only one to train; None: as `prepare` chooses.
        dim, source: as of `train`.

    Raises:
        BadInput: the documents cannot be trained on, or the output exists.
    """
    started = time.monotonic()
    part = Training(language_to_train(texts, language), dim, source)
    summary = part.make(texts, texts.path.parent / part.name, progress)
    put_in_place(summary.output, output, replace=replace)
    others = {code: n for code, n in (texts.languages | texts.used.not_used).items() if code not in summary.languages}
    skipped = {
        "documents that cannot be used": texts.unusable.n,
        f"documents in other languages ({', '.join(others)})": sum(others.values()),
        **summary.skipped,
    }
    warnings = [*([str(texts.unusable)] if texts.unusable.n else []), *summary.warnings]
    return EmbeddingsSummary.of(Embeddings.open(output), started, skipped, warnings)


def _notes(name: str, summary: EmbeddingsSummary) -> list[str]:
    """What was skipped, and what else to tell the user."""
    skipped = [f"{n:,} {reason}" for reason, n in summary.skipped.items()]
    return [f"{name}: {note}" for note in (*skipped, *summary.warnings)]


def _unknown_share(embeddings: Embeddings, words: WordFrequencies) -> float:
    n_all = n_known = 0
    for language, counter in words.document_frequencies.items():
        n_all += counter.total()
        n_known += sum(n for word, n in counter.items() if embeddings.vocabulary.find(language, word) >= 0)
    return 1 - n_known / n_all if n_all else 0.0
