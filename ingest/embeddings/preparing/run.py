"""Executes a plan: makes the parts, joins them, takes the last steps and checks the result."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from ingest.embeddings.joining import join
from ingest.embeddings.preparing.check import CheckResult, check, draw_sample
from ingest.embeddings.preparing.parts import ENCODER, MAX_OTHERS, EmbeddingsPart
from ingest.embeddings.preparing.plan import NEEDS_ENCODER, PreparationPlan
from ingest.embeddings.preparing.texts import Texts
from ingest.embeddings.summary import EmbeddingsSummary
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
        result: of the whole.
        left_out: name → why a part is missing.
        across, has_titles, n_queries: the queries of the check (`check.CheckSample`).
    """

    summary: EmbeddingsSummary
    made: list[MadePart]
    result: CheckResult
    left_out: dict[str, str]
    notes: list[str]
    across: bool
    has_titles: bool
    n_queries: int


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
    n_threads: int = 1,
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
    for part, _ in plan.parts:
        if any(store.part.name == part.name for store in stores):
            continue
        try:
            stores.append(_made(part, texts, notes, progress))
            left_out.pop(part.name, None)
        except (SinkrankError, OSError) as error:
            # Several downloads may fail for the same reason.
            reasons = dict.fromkeys([*left_out.get(part.name, "").split("; "), str(error)])
            left_out[part.name] = "; ".join(filter(None, reasons))
    if not stores:
        told = "; ".join(f"{name}: {reason}" for name, reason in left_out.items())
        raise BadInput(f"no part could be made, so there are no embeddings ({told})")
    summary = _finished(stores, plan, texts, left_out, notes, progress)
    put_in_place(summary.output, output, replace=replace)
    embeddings = Embeddings.open(output)
    sample = draw_sample(texts)
    return PreparationReport(
        summary=EmbeddingsSummary.of(embeddings, started, summary.skipped),
        made=[
            MadePart(store.part.name, store.part.description, store.embeddings.n_terms, store.seconds)
            for store in stores
        ],
        result=check(embeddings, sample, n_threads, progress),
        left_out=left_out,
        notes=notes,
        across=sample.across,
        has_titles=sample.has_titles,
        n_queries=len(sample.queries),
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
    summary = _joined(stores, texts, folder / "joined", left_out, progress)
    has_encoder = any(store.part.name == ENCODER for store in stores)
    for step, _ in plan.last:
        if not has_encoder:
            left_out[step.name] = NEEDS_ENCODER
            continue
        try:
            summary = step.make(Embeddings.open(summary.output), texts, folder / f"with-{step.name}", notes, progress)
        except (SinkrankError, OSError) as error:
            left_out[step.name] = str(error)
    return summary


def _joined(
    stores: list[_Store], texts: Texts, output: Path, left_out: dict[str, str], progress: Progress
) -> EmbeddingsSummary:
    """Joins the stores. While they have no words in common, the last one is left out."""
    while True:
        try:
            return join(
                [store.embeddings for store in stores],
                output,
                weights=[store.part.weight for store in stores],
                collection=texts.collection.only({code for store in stores for code in store.embeddings.languages}),
                max_others=MAX_OTHERS,
                progress=progress,
            )
        except BadInput as error:
            if len(stores) == 1:
                raise
            left_out[stores.pop().part.name] = str(error)


def _made(part: EmbeddingsPart, texts: Texts, notes: list[str], progress: Progress) -> _Store:
    started = time.monotonic()
    summary = part.make(texts, texts.path.parent / part.name, notes, progress)
    notes += [f"{part.name}: {n:,} {reason}" for reason, n in summary.skipped.items()]
    notes += [f"{part.name}: {warning}" for warning in summary.warnings]
    return _Store(part, Embeddings.open(summary.output), time.monotonic() - started)
