"""Writes the table of all results in Markdown, and the picture of quality against CPU time."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from papers.base.markdown import table
from papers.base.stopwatch import three_digits
from papers.table.results import SideResult, chosen_share
from papers.table.sides import SIDES
from reranker.base.errors import NotFound
from reranker.base.whole_files import write_whole
from sinkrank.actions.judged import MEASURE
from sinkrank.evaluation.comparison import Difference, Run, differences

TABLE, PICTURE = "table.md", "quality_and_cost.svg"

_BASELINE = next(iter(SIDES))
_COLUMNS = ("", "share", "nDCG@10", "judged@10", "lose over .1", "p", "CPU ms a query", "a document, once")
_MEAN_COLUMNS = ("", "nDCG@10", "gain", "lose over .1", "worst", "CPU ms a query", "a document, once")
_HEAD = """# Judged collections: all sides

Written by `python -m papers.table` (docs/measuring.md). All sides but RM3 order BM25's best 100; RM3 searches again.
The share is that of the side's own score beside BM25's, chosen on the other collections. *Lose over .1*: the queries
that have over .1 less nDCG@10 than with BM25. *p*: paired randomisation test against BM25, Holm's correction. CPU
time of one thread, that of BM25's search included; behind a plus, that of `prepare` for each document, which falls
with their number, and in which words that it encoded for an earlier collection are not counted again."""
_MARKERS = "osD^vPX"
_SALT = "sinkrank"  # without it the same figures would give another file each time


@dataclass(frozen=True)
class Row:
    """A side on a collection, with the share that the other collections chose.

    Attributes:
        share: None if the side mixes nothing.
        difference: from BM25; None for BM25 itself.
    """

    result: SideResult
    run: Run
    share: str | None
    difference: Difference | None

    @property
    def lost(self) -> float:
        """Share of queries that lose over .1 nDCG@10, 0 to 1."""
        return self.difference.n_much_worse / len(self.run.values[MEASURE]) if self.difference else 0.0


def rows_of(results: Mapping[str, Mapping[str, SideResult]]) -> dict[str, dict[str, Row]]:
    """The rows by collection, then by side; collections without BM25's result are left out."""
    by_side: dict[str, dict[str, SideResult]] = {}
    for collection, sides in results.items():
        for side, result in sides.items():
            by_side.setdefault(side, {})[collection] = result
    found = {}
    for collection, sides in results.items():
        if _BASELINE not in sides:
            continue
        shares = {side: chosen_share(collection, by_side[side]) for side in sides}
        runs = {side: result.run(shares[side]) for side, result in sides.items()}
        changed = differences(list(runs.values()), runs[_BASELINE], MEASURE)
        found[collection] = {
            side: Row(result, runs[side], shares[side] if len(result.shares) > 1 else None, changed.get(side))
            for side, result in sides.items()
        }
    return found


def markdown(rows: Mapping[str, Mapping[str, Row]]) -> str:
    """The means over collections, then a table for each collection."""
    lines = [_HEAD, ""]
    for title, of_kind in (("English", True), ("Other languages", False)):
        chosen = {name: sides for name, sides in rows.items() if (sides[_BASELINE].result.language == "en") == of_kind}
        if chosen:
            lines += [f"## {title}: mean of {len(chosen)} collections", "", f"{', '.join(chosen)}.", ""]
            lines += [*table(_MEAN_COLUMNS, _mean_cells(chosen)), ""]
    for collection, sides in rows.items():
        first = sides[_BASELINE]
        sizes = f"{first.result.n_documents:,} documents, {len(first.run.values[MEASURE]):,} queries"
        lines += [f"## {collection} ({first.result.language}): {sizes}", ""]
        lines += [*table(_COLUMNS, map(_cells, sides.values())), ""]
    machines = sorted({row.result.machine for sides in rows.values() for row in sides.values()})
    return "\n".join([*lines, f"CPU times: {', '.join(machines)}."]) + "\n"


def _cells(row: Row) -> list[str]:
    result, difference = row.result, row.difference
    return [
        SIDES[result.side].label,
        row.share or "",
        *(f"{row.run.mean(name):.3f}" for name in (MEASURE, "judged@10")),
        f"{row.lost:.1%}" if difference else "",
        _p(difference.p_value) if difference else "",
        *_cost_cells([row]),
    ]


def complete_sides(rows: Mapping[str, Mapping[str, Row]]) -> dict[str, list[Row]]:
    """The rows of the sides that every collection has, by side."""
    return {
        side: [sides[side] for sides in rows.values()]
        for side in SIDES
        if all(side in sides for sides in rows.values())
    }


def _mean_cells(rows: Mapping[str, Mapping[str, Row]]) -> Iterator[list[str]]:
    for side, each in complete_sides(rows).items():
        gains = [
            row.run.mean(MEASURE) / sides[_BASELINE].run.mean(MEASURE) - 1
            for row, sides in zip(each, rows.values(), strict=True)
        ]
        yield [
            SIDES[side].label,
            f"{mean(row.run.mean(MEASURE) for row in each):.3f}",
            f"{mean(gains):+.1%}",
            f"{mean(row.lost for row in each):.1%}",
            f"{max(row.lost for row in each):.1%}",
            *_cost_cells(each),
        ]


def _cost_cells(rows: Sequence[Row]) -> tuple[str, str]:
    """The mean CPU time of a query and of a document, and behind a plus what `prepare` takes for each document."""
    query_ms, document_ms, prepare_ms = costs(rows)
    return _ms(query_ms), " + ".join(filter(None, (_ms(document_ms), _ms(prepare_ms))))


def costs(rows: Sequence[Row]) -> tuple[float | None, float | None, float | None]:
    """The mean CPU times (ms) of a query, of a document, and of `prepare` for each document; None if not known."""
    results = [row.result for row in rows]
    return (
        _mean([result.query_ms for result in results]),
        _mean([result.document_ms for result in results]),
        _mean([result.prepare_ms for result in results]),
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return mean(known) if known else None


def _p(value: float) -> str:
    return "< .001" if value < 0.001 else f"{value:.3f}".removeprefix("0")


def _ms(value: float | None) -> str:
    return "" if value is None else three_digits(value)


def write(results: Mapping[str, Mapping[str, SideResult]], folder: Path) -> list[Path]:
    """Writes the table and the picture into a folder, and returns their paths.

    Raises:
        NotFound: matplotlib is not installed.
    """
    rows = rows_of(results)
    write_whole(folder / TABLE, markdown(rows).encode())
    english = {name: sides for name, sides in rows.items() if sides[_BASELINE].result.language == "en"}
    if not english:
        return [folder / TABLE]
    write_whole(folder / PICTURE, picture(english))
    return [folder / TABLE, folder / PICTURE]


def picture(rows: Mapping[str, Mapping[str, Row]]) -> bytes:
    """An SVG of mean nDCG@10 against the CPU time of a query, and against that of a document. A line joins the sides
    that no other side beats in both.

    Raises:
        NotFound: matplotlib is not installed.
    """
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise NotFound("the picture needs matplotlib, which is not installed; pip install matplotlib") from error
    figure = Figure(figsize=(11, 4.5), layout="constrained")
    panels = list(zip(figure.subplots(1, 2, sharey=True), ("query", "document, once"), strict=True))
    for place, (axes, what) in enumerate(panels):
        points = _points(rows, place)
        for number, (side, point) in enumerate(points.items()):
            axes.plot(*point, linestyle="", marker=_MARKERS[number % len(_MARKERS)], label=side)
        axes.plot(*zip(*front_of(points).values(), strict=True), color="grey", linewidth=0.8, zorder=0)
        axes.set(xscale="log" if place else "linear", xlabel=f"CPU time of a {what} (ms)")
    panels[0][0].set(xlim=(0, None), ylabel=f"{MEASURE}, mean of {len(rows)} English collections")
    figure.legend(*panels[0][0].get_legend_handles_labels(), loc="outside right center")
    buffer = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": _SALT}):
        figure.savefig(buffer, format="svg", metadata={"Date": None}, bbox_inches="tight")
    return buffer.getvalue()


def front_of(points: Mapping[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    """The Pareto front: the sides for which no other is as fast and as good, sorted by time.

    Args:
        points: time and quality by side.
    """
    front: dict[str, tuple[float, float]] = {}
    for side, (time, quality) in sorted(points.items(), key=lambda item: (item[1][0], -item[1][1])):
        if all(quality > other for _, other in front.values()):
            front[side] = (time, quality)
    return front


def _points(rows: Mapping[str, Mapping[str, Row]], place: int) -> dict[str, tuple[float, float]]:
    """The CPU time of a query (place 0) or of a document, `prepare` included, and mean nDCG@10, by the side's label."""
    points = {}
    for side, each in complete_sides(rows).items():
        query_ms, document_ms, prepare_ms = costs(each)
        cost = document_ms and document_ms + (prepare_ms or 0.0) if place else query_ms
        if cost is not None:
            points[SIDES[side].label.replace("`", "")] = (cost, mean(row.run.mean(MEASURE) for row in each))
    return points
