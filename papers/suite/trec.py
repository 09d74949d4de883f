"""Writes rankings and judgements in TREC's formats, which trec_eval and ir-measures read."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator
from pathlib import Path

from papers.suite.questions import Judgement, Question
from papers.suite.records import Record
from reranker.base.whole_files import write_whole

# The suite writes some four thousand files. The strongest compression saves a fifth and takes ten times as long.
_COMPRESSION = 3


def write_runs(folder: Path, answers: Iterable[tuple[str, Question, Record]]) -> None:
    """Writes `runs/<question>/<system>.run.gz`: query, Q0, document, rank, score, system, to the depth of the
    records."""
    for system, question, record in answers:
        path = folder / "runs" / _slug(question.name) / f"{_slug(system)}.run.gz"
        write_whole(path, _zipped(_run_lines(system, question, record)))


def write_qrels(folder: Path, questions: Iterable[Question]) -> None:
    """Writes `qrels/<direction> <table>.qrels`: query, 0, document, relevance."""
    for question in questions:
        for judgement in question.judgements:
            path = folder / "qrels" / f"{_slug(f'{question.task.direction} {judgement.name}')}.qrels"
            write_whole(path, "".join(_qrels_lines(judgement)).encode())


def _run_lines(system: str, question: Question, record: Record) -> Iterator[str]:
    doc_ids = list(question.task.documents)
    for query_id, places, scores in zip(question.task.queries, record.top, record.scores, strict=True):
        for rank, (place, score) in enumerate(zip(places, scores, strict=True), start=1):
            if place >= 0:
                yield f"{query_id} Q0 {doc_ids[place]} {rank} {score!s} {system}\n"


def _qrels_lines(judgement: Judgement) -> Iterator[str]:
    for query_id, relevant in judgement.qrels.items():
        for doc_id, relevance in relevant.items():
            yield f"{query_id} 0 {doc_id} {relevance}\n"


def _zipped(lines: Iterable[str]) -> bytes:
    # Without the time, so that the same rankings give the same file.
    return gzip.compress("".join(lines).encode(), _COMPRESSION, mtime=0)


def _slug(name: str) -> str:
    return name.replace(",", "").replace(" ", "_")
