"""Turns outcomes into tables for the terminal, a page of Markdown and JSON; measures nothing."""

from __future__ import annotations

import json
import os
import platform
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import Any

from rich.table import Table as Shown

from evaluation.corpora.fairness import MAX_JACCARD, MIN_CONFIDENCE, SHINGLE_TOKENS
from evaluation.corpora.pages import MAX_ENGLISH_SHARE, MIN_WORDS, Page
from evaluation.files import write_whole
from evaluation.statistics import N_RESAMPLES, SEED, Interval
from evaluation.suite.judging import MEASURES
from evaluation.suite.results import REFERENCE, ClassRow, Costs, Row, Table
from evaluation.suite.suite import Outcome, answered
from evaluation.suite.trec import write_qrels, write_runs

FORMAT = 1
JSON_NAME, MARKDOWN_NAME = "papers.json", "papers.md"

_COST_COLUMNS = ("ms a query", "ms a document", "s to fit", "MB")
_PACKAGES = ("sinkrank", "numpy", "scipy", "numba", "ir-measures", "POT")

_KINDS = {
    "pages": "the whole page asks for its translation",
    "first20": "the first 20 words of a page, stop words not counted, ask for its translation",
    "halves": "the first half of a page asks for the second half of its translation, no paragraph in common",
}


def write(outcomes: Sequence[Outcome], folder: Path) -> list[Path]:
    """Writes `papers.json`, `papers.md`, run files and qrels; returns the first two."""
    answers = answered(outcomes)
    write_runs(folder, answers)
    write_qrels(folder, (question for outcome in outcomes for question in outcome.collection.questions))
    as_json, as_markdown = folder / JSON_NAME, folder / MARKDOWN_NAME
    write_whole(as_json, (json.dumps(as_dict(outcomes), indent=1, ensure_ascii=False) + "\n").encode())
    write_whole(as_markdown, markdown(outcomes).encode())
    return [as_json, as_markdown]


def as_dict(outcomes: Iterable[Outcome]) -> dict[str, Any]:
    """The figures as JSON can hold them."""
    return {
        "format": FORMAT,
        "machine": machine(),
        "resamples": N_RESAMPLES,
        "seed": SEED,
        "collections": [
            {
                **_about(outcome),
                "tables": [asdict(table) for table in outcome.tables],
                "classification": [asdict(row) for row in outcome.class_rows],
                "by_epsilon": {
                    kind: {f"{e:g}": mrr for e, mrr in means.items()} for kind, means in outcome.by_epsilon.items()
                },
                "systems": _systems(outcome),
                "refusals": [asdict(refusal) for refusal in outcome.refusals],
            }
            for outcome in outcomes
        ],
    }


def shown(outcomes: Iterable[Outcome]) -> list[Shown]:
    """The tables for the terminal."""
    found = []
    for outcome in outcomes:
        for table in outcome.tables:
            found.append(_shown(_title(table), _columns(), [_row(row, table) for row in table.rows]))
            found.append(_shown("MRR by direction", ["system", *table.directions], _direction_rows(table)))
        if rows := outcome.class_rows:
            found.append(_shown(_class_title(outcome), _class_columns(), [_class_row(row) for row in rows]))
    return found


def markdown(outcomes: Sequence[Outcome]) -> str:
    """The report as a page."""
    lines = ["# The systems of the papers on real collections", "", *_conditions(), ""]
    for outcome in outcomes:
        lines += [f"## {outcome.collection.title}", "", *_collection_lines(outcome), ""]
        for table in outcome.tables:
            lines += [f"### {_title(table)}", "", *_lines(_columns(), [_row(row, table) for row in table.rows]), ""]
            lines += ["MRR by direction:", "", *_lines(["system", *table.directions], _direction_rows(table)), ""]
        if rows := outcome.class_rows:
            lines += [
                f"### {_class_title(outcome)}",
                "",
                *_lines(_class_columns(), [_class_row(row) for row in rows]),
                "",
            ]
        if outcome.by_epsilon:
            lines += [
                "### The effect of lambda",
                "",
                "MRR of `sinkhorn`, mean of two directions; epsilon is 1 / lambda.",
                "",
            ]
            lines += [*_epsilon_lines(outcome.by_epsilon), ""]
    lines += ["## Systems", "", *_system_lines(outcomes), ""]
    return "\n".join(lines)


def machine() -> dict[str, Any]:
    """What the times were taken on."""
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = info.read_text(encoding="utf-8", errors="replace").splitlines()
        cpu = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), cpu)
    return {
        "cpu": cpu,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "packages": {name: metadata.version(name) for name in _PACKAGES},
    }


def _conditions() -> list[str]:
    on = machine()
    return [
        f"- Machine: {on['cpu']}, {on['cores']} cores, Python {on['python']}. Times are CPU time of all threads: "
        "*a query* is its preparation and the distances to all documents, *a document* what it takes once. "
        "MB is the most memory taken while ranking, above what was held before.",
        "- Measures by ir-measures over the ranking of all documents, mean of the directions. Beside the MRR its 95% "
        f"interval by bootstrap, and p of its difference to `{REFERENCE}` by a paired randomisation test, two-sided, "
        "corrected by Holm within each table; both over pages, whose queries in several directions are kept together "
        f"({N_RESAMPLES} resamples, seed {SEED}).",
        f"- Left out before the split: pages of fewer than {MIN_WORDS} words, of which more than "
        f"{MAX_ENGLISH_SHARE:.0%} stands in English, or with the text of another page. Left out of the test pages: "
        f"those that py3langid takes for English with {MIN_CONFIDENCE:.0%} confidence, and near-duplicates of a "
        f"training page or of a test page before them: of the shingles of {SHINGLE_TOKENS} words that the two have in "
        f"any language, more than {MAX_JACCARD:.0%} are shared (Jaccard index).",
        "- Systems learn from the training pages alone, and no page of a test pool, nor a near-duplicate, is among "
        "them. With one relevant document a query, P@5 is at most 0.2 and P@10 at most 0.1.",
    ]


def _collection_lines(outcome: Outcome) -> list[str]:
    about = _about(outcome)
    lines = [
        f"- {about['source']} ({about['licence']})",
        f"- Training pages, of {about['learned_from']}: {_listed(about['n_train_pages'])}",
        f"- Test pages: {_listed(about['n_test_pages'])}",
        f"- Left out: {_listed(about['left_out']) or 'none'}",
    ]
    reasons = dict.fromkeys((refusal.system, refusal.reason) for refusal in outcome.refusals)
    return lines + [f"- Not measured on all: `{system}`: {reason}" for system, reason in reasons]


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
        name: {"description": given[0][1].description, "data": given[0][1].data}
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


def _title(table: Table) -> str:
    kind = next((words for kind, words in _KINDS.items() if f" {kind}" in table.name), table.name)
    if table.name.endswith("related"):
        kind = f"{kind.partition(' ask')[0]} asks for other pages of its guides"
    queries, documents = table.n_queries.values(), table.n_documents.values()
    return f"{table.name}: {kind}; {_range(queries)} queries, {_range(documents)} documents"


def _range(values: Iterable[int]) -> str:
    low, high = min(values := list(values)), max(values)
    return str(low) if low == high else f"{low} to {high}"


def _columns() -> list[str]:
    return ["system", "MRR", "95%", *(name for name in MEASURES if name != "MRR"), f"p to {REFERENCE}", *_COST_COLUMNS]


def _row(row: Row, table: Table) -> list[str]:
    n_done = len(row.by_direction)
    means = [f"{row.measures[name]:.3f}" for name in MEASURES] if row.measures else [""] * len(MEASURES)
    first = means[0] or f"{n_done} of {len(table.directions)} directions"
    return [row.system, first, _interval(row.interval), *means[1:], _p(row.p), *_costs(row.costs)]


def _direction_rows(table: Table) -> list[list[str]]:
    return [
        [
            row.system,
            *(f"{row.by_direction[each]:.3f}" if each in row.by_direction else "" for each in table.directions),
        ]
        for row in table.rows
    ]


def _class_title(outcome: Outcome) -> str:
    question = next(each for each in outcome.collection.questions if each.task.query_kind == "classes")
    classes = sorted(set(question.labels.values()))
    return (
        f"k nearest neighbours: {len(question.task.queries)} texts by {len(question.task.documents)} labelled ones, "
        f"classes {', '.join(classes)}"
    )


def _class_columns() -> list[str]:
    return ["system", "error", "95%", "k", f"p to {REFERENCE}", *_COST_COLUMNS]


def _class_row(row: ClassRow) -> list[str]:
    return [row.system, f"{row.error.mean:.3f}", _interval(row.error), str(row.k), _p(row.p), *_costs(row.costs)]


def _epsilon_lines(by_epsilon: Mapping[str, Mapping[float, float]]) -> list[str]:
    epsilons = list(next(iter(by_epsilon.values())))
    rows = [[kind, *(f"{means[epsilon]:.3f}" for epsilon in epsilons)] for kind, means in by_epsilon.items()]
    return _lines(["epsilon", *(f"{epsilon:g}" for epsilon in epsilons)], rows)


def _costs(costs: Costs) -> list[str]:
    memory = "" if costs.peak_mb is None else f"{costs.peak_mb:.0f}"
    return [*(_three_digits(each) for each in (costs.query_ms, costs.document_ms, costs.fit_s)), memory]


def _three_digits(value: float) -> str:
    """More digits than a time can be trusted for are left out.

    >>> _three_digits(0.0421), _three_digits(3.14159), _three_digits(415.4)
    ('0.042', '3.14', '415')
    """
    return f"{value:.3f}" if value < 1 else f"{value:.2f}" if value < 10 else f"{value:.0f}"


def _interval(interval: Interval | None) -> str:
    return f"{interval.low:.3f} to {interval.high:.3f}" if interval else ""


def _p(p: float | None) -> str:
    return "" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"


def _shown(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Shown:
    table = Shown(title=title, title_justify="left", header_style="bold")
    for place, name in enumerate(columns):
        table.add_column(name, justify="right" if place else "left")
    for row in rows:
        table.add_row(*row)
    return table


def _lines(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [_line(columns), _line(["---", *["---:"] * (len(columns) - 1)]), *map(_line, rows)]


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _count(pages: Iterable[Page]) -> dict[str, int]:
    return dict(Counter(page.language for page in pages))


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {n}" for name, n in counts.items())
