"""Makes sheets from the outcomes of the suite: an overview, each table, directions, classes, correlations, lambda."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TypeVar

from papers.base.stopwatch import three_digits
from papers.suite.jobs import SLOW, SLOW_DIRECTIONS
from papers.suite.judging import MEASURES
from papers.suite.results import REFERENCE, ClassRow, Costs, Row, Table
from papers.suite.sheets import Cell, Sheet
from papers.suite.suite import Outcome
from papers.systems.catalogue import (
    BALIKAS_NAMES,
    ENSEMBLE_NAMES,
    KUSNER_NAMES,
    OWN_NAMES,
    SYSTEM_NAMES,
    TRANSLATED_NAMES,
    ZOSA_NAMES,
)
from sinkrank.evaluation.statistics import Interval

GROUPS: Mapping[str, Sequence[str]] = MappingProxyType(
    {
        "What people use today": SYSTEM_NAMES,
        "Balikas et al. 2018": (*BALIKAS_NAMES, *TRANSLATED_NAMES),
        "Kusner et al. 2015": KUSNER_NAMES,
        "Zosa et al. 2020, and ours in its ensembles": (*ZOSA_NAMES, *ENSEMBLE_NAMES),
        "Ours": OWN_NAMES,
    }
)
"""The systems by origin."""

_KINDS = {
    "pages": "the whole page asks for its translation",
    "first20": "the first 20 words of a page, stop words not counted, ask for its translation",
    "halves": "the first half of a page asks for the second half of its translation, no paragraph in common",
}
_COST_COLUMNS = ("ms a query", "ms a document", "s to fit")
_ERROR = "error"

_ALIKE = (
    "Spearman's correlation of the ranks of all documents, mean of the queries, then of the directions; with (n) of n "
    "directions alone. The paper's, on news: MLTM and Wass -0.026, Cr5 and Wass 0.060, MLTM and Cr5 0.166."
)

_Named = TypeVar("_Named", Row, ClassRow)


def overview(outcomes: Sequence[Outcome]) -> Sheet:
    """MRR of every system on every table, and its classification error."""
    columns: dict[str, dict[str, Cell]] = {}
    for outcome in outcomes:
        for table in outcome.tables:
            columns[table.name] = {row.system: _mean(row, table) for row in table.rows}
        if outcome.class_rows:
            classes = f"{outcome.collection.name} {_ERROR}"
            columns[classes] = {row.system: row.error.mean for row in outcome.class_rows}
    errors = [name for name in columns if name.endswith(_ERROR)]
    return Sheet(
        f"Overview: MRR, mean of the directions{', and errors of the classes' if errors else ''}",
        ["system", *columns],
        _by_system(columns),
        errors,
        "The best of each column is marked. A figure with (n) is the mean of n directions alone, and not compared.",
    )


def overview_of_slow(outcomes: Sequence[Outcome]) -> Sheet | None:
    """MRR in the directions of the slow systems, to compare all systems; None without slow systems."""
    directions = [str(direction) for direction in SLOW_DIRECTIONS]
    columns: dict[str, dict[str, Cell]] = {}
    for table in (table for outcome in outcomes for table in outcome.tables):
        if len(table.directions) > len(directions) and any(row.system in SLOW for row in table.rows):
            columns[table.name] = {
                row.system: sum(row.by_direction[each] for each in directions) / len(directions)
                for row in table.rows
                if row.by_direction.keys() >= set(directions)
            }
    if not columns:
        return None
    title = f"Beside exact transport and the encoder: MRR, mean of {' and '.join(directions)} alone"
    return Sheet(title, ["system", *columns], _by_system(columns))


def of_table(table: Table) -> Sheet:
    """Every measure and cost of every system."""
    columns = ["MRR", "95%", *(name for name in MEASURES if name != "MRR"), f"p to {REFERENCE}", *_COST_COLUMNS]
    return Sheet(_title(table), ["system", *columns], _grouped(table.rows, lambda row: _cells(row, table)))


def of_directions(table: Table) -> Sheet:
    """MRR by direction."""

    def cells(row: Row) -> list[Cell]:
        return [row.system, *(row.by_direction.get(each, "") for each in table.directions)]

    return Sheet("MRR by direction", ["system", *table.directions], _grouped(table.rows, cells))


def of_classes(outcome: Outcome) -> Sheet:
    """Classification errors; the outcome must have them."""
    question = next(each for each in outcome.collection.questions if each.task.query_kind == "classes")
    classes = sorted(set(question.labels.values()))
    title = (
        f"k nearest neighbours: {len(question.task.queries)} texts by {len(question.task.documents)} labelled ones, "
        f"classes {', '.join(classes)}"
    )
    columns = ["system", _ERROR, "95%", "k", f"p to {REFERENCE}", *_COST_COLUMNS]

    def cells(row: ClassRow) -> list[Cell]:
        return [row.system, row.error.mean, _interval(row.error), str(row.k), _p(row.p), *_costs(row.costs)]

    return Sheet(title, columns, _grouped(outcome.class_rows, cells), [_ERROR])


def of_correlations(outcome: Outcome) -> Sheet | None:
    """Rank correlations by pair and table; None if there are none."""
    found = outcome.correlations
    if not found:
        return None
    by_pair: dict[tuple[str, str], dict[str, Cell]] = {}
    n_directions = {table.name: len(table.directions) for table in outcome.tables}
    for each in found:
        lacking = f" ({len(each.by_direction)})" if len(each.by_direction) < n_directions[each.table] else ""
        by_pair.setdefault((each.first, each.second), {})[each.table] = f"{each.mean:.3f}{lacking}"
    tables = list(dict.fromkeys(each.table for each in found))
    rows = [
        [f"{first}, {second}", *(by_table.get(name, "") for name in tables)]
        for (first, second), by_table in by_pair.items()
    ]
    return Sheet("How alike systems rank (Zosa et al. 2020, table 3)", ["pair", *tables], {"": rows}, note=_ALIKE)


def of_epsilons(by_epsilon: Mapping[str, Mapping[float, float]]) -> Sheet:
    """MRR by kind of query and epsilon."""
    epsilons = list(next(iter(by_epsilon.values())))
    rows = [[kind, *(f"{means[epsilon]:.3f}" for epsilon in epsilons)] for kind, means in by_epsilon.items()]
    directions = " and ".join(map(str, SLOW_DIRECTIONS))
    return Sheet(
        "The effect of lambda",
        ["epsilon", *(f"{epsilon:g}" for epsilon in epsilons)],
        {"": rows},
        note=f"MRR of `sinkhorn`, mean of {directions} as far as they were asked; epsilon is 1 / lambda.",
    )


def group_of(system: str) -> str:
    """Returns the origin of a system; empty for a system outside the suite."""
    return next((group for group, names in GROUPS.items() if system in names), "")


def _grouped(rows: Iterable[_Named], cells: Callable[[_Named], Sequence[Cell]]) -> dict[str, list[Sequence[Cell]]]:
    found: dict[str, list[Sequence[Cell]]] = {}
    for row in rows:
        found.setdefault(group_of(row.system), []).append(cells(row))
    return found


def _by_system(columns: Mapping[str, Mapping[str, Cell]]) -> dict[str, list[Sequence[Cell]]]:
    """Makes a row for each system with a value in any column."""
    found: dict[str, list[Sequence[Cell]]] = {}
    known = {system for column in columns.values() for system in column}
    for group, names in GROUPS.items():
        for name in (name for name in names if name in known):
            found.setdefault(group, []).append([name, *(column.get(name, "") for column in columns.values())])
    return found


def _title(table: Table) -> str:
    kind = next((words for kind, words in _KINDS.items() if f" {kind}" in table.name), table.name)
    if table.name.endswith("related"):
        kind = f"{kind.partition(' ask')[0]} asks for other pages of its guides"
    queries, documents = table.n_queries.values(), table.n_documents.values()
    return f"{table.name}: {kind}; {_range(queries)} queries, {_range(documents)} documents"


def _range(values: Iterable[int]) -> str:
    low, high = min(values := list(values)), max(values)
    return str(low) if low == high else f"{low} to {high}"


def _mean(row: Row, table: Table) -> Cell:
    """The MRR as a cell; only an MRR over all directions is compared with others."""
    values = row.by_direction.values()
    mean = sum(values) / len(values)
    return mean if len(values) == len(table.directions) else f"{mean:.3f} ({len(values)})"


def _cells(row: Row, table: Table) -> list[Cell]:
    others: list[Cell] = [row.measures.get(name, "") for name in MEASURES if name != "MRR"]
    return [row.system, _mean(row, table), _interval(row.interval), *others, _p(row.p), *_costs(row.costs)]


def _costs(costs: Costs) -> list[str]:
    return [three_digits(each) for each in (costs.query_ms, costs.document_ms, costs.fit_s)]


def _interval(interval: Interval | None) -> str:
    return f"{interval.low:.3f} to {interval.high:.3f}" if interval else ""


def _p(p: float | None) -> str:
    return "" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"
