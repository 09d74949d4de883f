"""Executes a plan: makes the parts, joins them, and takes the last steps."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from ingest.embeddings.joining import join
from ingest.embeddings.preparing.parts import ENCODER, MAX_OTHERS, EmbeddingsPart
from ingest.embeddings.preparing.plan import NEEDS_ENCODER, PreparationPlan
from ingest.embeddings.preparing.texts import Texts
from ingest.embeddings.summary import EmbeddingsSummary
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


@dataclass(slots=True)
class _Store:
    part: EmbeddingsPart
    embeddings: Embeddings
    seconds: float


def prepare(
    texts: Texts,
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
    stores: list[_Store] = []
    for part in plan.parts:
        try:
            stores.append(_made(part, texts, notes, progress))
        except (SinkrankError, OSError) as error:
            left_out[part.name] = str(error)
    if not stores:
        told = "; ".join(f"{name}: {reason}" for name, reason in left_out.items())
        raise BadInput(f"no part could be made, so there are no embeddings ({told})")
    summary = _finished(stores, plan, texts, left_out, notes, progress)
    put_in_place(summary.output, output, replace=replace)
    embeddings = Embeddings.open(output)
    return PreparationReport(
        summary=EmbeddingsSummary.of(embeddings, started, summary.skipped),
        made=[
            MadePart(store.part.name, store.part.description, store.embeddings.n_terms, store.seconds)
            for store in stores
        ],
        unknown_share=_unknown_share(embeddings, texts.collection),
        left_out=left_out,
        notes=notes,
    )


def _finished(
    stores: list[_Store],
    plan: PreparationPlan,
    texts: Texts,
    left_out: dict[str, str],
    notes: list[str],
    progress: Progress,
) -> EmbeddingsSummary:
    """Joins the stores, and takes the last steps; if one fails, `left_out` says why. The result is beside the texts."""
    folder = texts.path.parent
    summary = join(
        [store.embeddings for store in stores],
        folder / "joined",
        collection=texts.collection.only({code for store in stores for code in store.embeddings.languages}),
        max_others=MAX_OTHERS,
        progress=progress,
    )
    has_encoder = any(store.part.name == ENCODER for store in stores)
    for step in plan.last:
        if not has_encoder:
            left_out[step.name] = NEEDS_ENCODER
            continue
        try:
            summary = step.make(Embeddings.open(summary.output), texts, folder / f"with-{step.name}", notes, progress)
        except (SinkrankError, OSError) as error:
            left_out[step.name] = str(error)
    return summary


def _made(part: EmbeddingsPart, texts: Texts, notes: list[str], progress: Progress) -> _Store:
    started = time.monotonic()
    summary = part.make(texts, texts.path.parent / part.name, notes, progress)
    notes += [f"{part.name}: {n:,} {reason}" for reason, n in summary.skipped.items()]
    notes += [f"{part.name}: {warning}" for warning in summary.warnings]
    return _Store(part, Embeddings.open(summary.output), time.monotonic() - started)


def _unknown_share(embeddings: Embeddings, words: WordFrequencies) -> float:
    n_all = n_known = 0
    for language, counter in words.document_frequencies.items():
        n_all += counter.total()
        n_known += sum(n for word, n in counter.items() if embeddings.vocabulary.find(language, word) >= 0)
    return 1 - n_known / n_all if n_all else 0.0
