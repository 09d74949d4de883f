"""What a reader of the report sees: groups, best figures, what directions are missing, times; worked out by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from papers.suite.correlations import Correlation
from papers.suite.results import ClassRow, Costs, Row, Table
from papers.suite.sheets import Sheet
from papers.suite.tabulating import (
    GROUPS,
    of_correlations,
    of_directions,
    of_table,
    overview,
    overview_of_slow,
)
from papers.systems.catalogue import ALL_NAMES
from sinkrank.evaluation.statistics import Interval

COSTS = Costs(0.0, 1.0, 1.0)
DIRECTIONS = ("en-fr", "fi-en", "en-de")


def row(system: str, *mrr: float) -> Row:
    """A system that did the first directions; a whole one has its means."""
    by_direction = dict(zip(DIRECTIONS, mrr, strict=False))
    measures = {"MRR": sum(mrr) / len(mrr), "P@1": mrr[0]} if len(mrr) == len(DIRECTIONS) else {}
    return Row(system, by_direction, measures, None, None, COSTS)


def table(*rows: Row, name: str = "c pages") -> Table:
    sizes = dict.fromkeys(DIRECTIONS, 60)
    return Table(name, "c", DIRECTIONS, sizes, sizes, rows)


def outcome(*tables: Table, errors: dict[str, float] | None = None, **others: Any) -> Any:
    classes = [ClassRow(name, 3, Interval(error, 0, 1), None, COSTS) for name, error in (errors or {}).items()]
    return SimpleNamespace(collection=SimpleNamespace(name="c"), tables=tables, class_rows=classes, **others)


def test_the_best_figure_of_a_column_is_marked_with_all_that_look_the_same() -> None:
    rows = {"": [["a", 0.5, 0.25, "9.0"], ["b", 0.7501, 0.125, "8.0"], ["c", 0.7499, "", "7.0"]]}
    sheet = Sheet("t", ["system", "MRR", "error", "s"], rows, ["error"])

    assert sheet.as_markdown() == [
        "| system | MRR | error | s |",
        "| --- | ---: | ---: | ---: |",
        "| a | 0.500 | 0.250 | 9.0 |",
        "| b | **0.750** | **0.125** | 8.0 |",
        "| c | **0.750** |  | 7.0 |",
    ]
    # A figure alone is not the best of anything.
    alone = Sheet("t", ["system", "MRR"], {"": [["a", 0.5], ["b", ""]]})
    assert alone.as_markdown()[2:] == ["| a | 0.500 |", "| b |  |"]


def test_every_system_of_the_suite_stands_in_one_group() -> None:
    names = [name for group in GROUPS.values() for name in group]

    assert sorted(names) == sorted(ALL_NAMES)


def test_the_overview_has_a_column_a_table_and_compares_what_did_all_directions() -> None:
    # wmd did two directions alone: its higher mean is no better.
    whole = table(row("tf-idf", 0.25, 0.5, 0.75), row("auto", 0.5, 0.75, 1.0), row("wmd", 1.0, 0.5))
    short = table(row("auto", 0.25, 0.25, 0.25), name="c first20")
    lines = overview([outcome(whole, short, errors={"tf-idf": 0.25, "auto": 0.125})]).as_markdown()

    assert lines[0] == "| system | c pages | c first20 | c error |"
    assert lines[2:] == [
        "| *What people use today* |  |  |  |",
        "| tf-idf | 0.500 |  | 0.250 |",
        "| *Kusner et al. 2015* |  |  |  |",
        "| wmd | 0.750 (2) |  |  |",
        "| *Ours* |  |  |  |",
        "| auto | **0.750** | 0.250 | **0.125** |",
    ]


def test_slow_systems_are_compared_in_their_own_directions() -> None:
    pages = table(row("auto", 0.5, 0.75, 1.0), row("wmd", 1.0, 0.5), row("tf-idf", 0.25))
    sheet = overview_of_slow([outcome(pages)])

    assert sheet is not None
    assert "en-fr and fi-en" in sheet.title
    assert sheet.as_markdown()[3::2] == ["| wmd | **0.750** |", "| auto | 0.625 |"]
    assert overview_of_slow([outcome(table(row("auto", 0.5, 0.75, 1.0)))]) is None


def test_a_table_says_how_many_directions_a_mean_is_of() -> None:
    given = table(row("tf-idf", 0.25, 0.5, 0.75), row("auto", 0.5, 0.75, 1.0), row("wmd", 1.0, 0.5))
    rows = {cells[0]: cells for rows in of_table(given).groups.values() for cells in rows}

    assert rows["wmd"][1:4] == ["0.750 (2)", "", ""]
    assert rows["auto"][1:4] == [0.75, "", 0.5]
    by_direction = {cells[0]: cells for rows in of_directions(given).groups.values() for cells in rows}
    assert by_direction["wmd"] == ["wmd", 1.0, 0.5, ""]


def test_correlations_stand_by_pair_and_table_and_say_of_how_many_directions_they_are() -> None:
    found = (
        Correlation("c pages", "mltm", "auto", dict.fromkeys(DIRECTIONS, 0.25), 0.25),
        Correlation("c first20", "mltm", "auto", {"en-fr": -0.125}, -0.125),
        Correlation("c pages", "cr5", "auto", dict.fromkeys(DIRECTIONS, 0.5), 0.5),
    )
    tables = (table(), table(name="c first20"))
    sheet = of_correlations(outcome(*tables, correlations=found))

    assert sheet is not None
    assert sheet.as_markdown()[0] == "| pair | c pages | c first20 |"
    assert sheet.as_markdown()[2:] == ["| mltm, auto | 0.250 | -0.125 (1) |", "| cr5, auto | 0.500 |  |"]
    assert of_correlations(outcome(correlations=())) is None
