"""`sinkrank evaluate --qrels … --queries …` and `sinkrank tune`: people's judgments, as tables and files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Group
from rich.table import Table

from sinkrank.console import output, resources
from sinkrank.console.tables import plain

if TYPE_CHECKING:
    from evaluation.judged.comparison import Difference, QueryMove, Run, Summary, Way
    from evaluation.judged.judgments import JudgedQuery
    from evaluation.judged.tuning import Tuning
    from reranker.service.settings import Settings

_SHOWN_MOVES = 5
_SHOWN_HITS = 5
_MEASURE = "nDCG@10"
_SIGNIFICANT = 0.05
# Columns that the table takes at most.
_WIDE = 125


def way_of(settings: Settings, method: str) -> Way:
    """The way to search of the settings, with another method."""
    from evaluation.judged.comparison import Way

    return Way(
        method,
        method,
        settings.first_stage,
        settings.depth,
        resources.parameters_of(settings),
        settings.knn_weight,
        settings.feedback,
        settings.first_stage_share,
    )


def after_first_stage(methods: Sequence[str]) -> list[str]:
    """The methods to compare, each checked; the first is `none`, the first stage's order, which the others follow.

    Raises:
        WrongParameter: a method is not known.
    """
    from reranker.transport import check_method

    return ["none", *(check_method(name) for name in methods if name != "none")]


def compare(
    settings: Settings,
    queries: Path,
    qrels: Path,
    methods: Sequence[str],
    folder: Path | None,
    as_json: bool,
) -> None:
    """Runs each method and the first stage alone; prints, and writes a report and TREC runs into a folder."""
    from evaluation.judged.comparison import run_way
    from evaluation.judged.judgments import read_judged_queries

    names = after_first_stage(methods)
    judged = read_judged_queries(queries, qrels)
    with resources.opened_searcher(settings) as searcher, output.progress_bars() as progress:
        index = searcher.choose_index(settings.index)
        runs = [run_way(way_of(settings, name), searcher, index, judged, progress) for name in names]
    present(index, runs, judged, folder, as_json)


def present(
    index: str,
    runs: Sequence[Run],
    judged: Sequence[JudgedQuery],
    folder: Path | None,
    as_json: bool,
    more: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    """Prints runs, of which the first is what the others are compared with, and writes them into a folder.

    Args:
        more: added to the report in JSON.
    """
    from evaluation.judged.comparison import query_moves, summaries

    moves = list(query_moves(runs, judged, _MEASURE))
    summed = summaries(runs, _MEASURE)
    report = _report(index, summed, moves) | dict(more)
    if folder is not None:
        _write(folder, report, runs)
        output.talk().print(f"written: {folder}", markup=False)
    if as_json:
        output.print_json(report)
        return
    console = output.results()
    console.print(_table(summed, console.width))
    for line in _moved(runs, moves):
        console.print(line, markup=False)


def tune(settings: Settings, queries: Path, qrels: Path, as_json: bool) -> None:
    """Chooses parameters, and prints them as lines of sinkrank.toml where they are better than what is set."""
    from evaluation.judged.comparison import run_way
    from evaluation.judged.judgments import read_judged_queries
    from evaluation.judged.tuning import tune as choose

    judged = read_judged_queries(queries, qrels)
    with resources.opened_searcher(settings) as searcher, output.progress_bars() as progress:
        index = searcher.choose_index(settings.index)
        start = way_of(settings, settings.method)
        tuning = choose(start, lambda way, some: run_way(way, searcher, index, some, progress), judged, _MEASURE)
    present_tuning(tuning, as_json)


def present_tuning(tuning: Tuning, as_json: bool) -> None:
    """Prints what was chosen."""
    from evaluation.judged.comparison import summaries

    summed = summaries([tuning.before, tuning.after], tuning.measure)
    difference = summed[1].difference
    assert difference is not None  # noqa: S101 - only the first has none
    if as_json:
        output.print_json(_tuning_json(tuning, difference))
        return
    console = output.results()
    console.print(_table(summed, console.width))
    console.print(_verdict(tuning, difference), markup=False)
    if _is_better(tuning, difference):
        console.print("\n".join(["for sinkrank.toml:", *_toml_lines(tuning.chosen)]), markup=False)


def _table(summed: Sequence[Summary], width: int) -> Group:
    """The measures, and beside them, or below in under `_WIDE` columns, how sure the difference is."""
    from evaluation.judged.comparison import MEASURES

    first = summed[0].run
    measures = {name: [f"{each.run.mean(name):.3f}" for each in summed] for name in MEASURES}
    certainty = {
        "95 %": [f"{each.interval.low:.3f}–{each.interval.high:.3f}" for each in summed],
        "difference": [f"{each.difference.mean:+.3f}" if each.difference else "" for each in summed],
        "p": [f"{each.difference.p_value:.3f}" if each.difference else "" for each in summed],
        "better / worse": [
            f"{each.difference.n_better} / {each.difference.n_worse}" if each.difference else "" for each in summed
        ],
        "worse by .1": [str(each.difference.n_much_worse) if each.difference else "" for each in summed],
    }
    methods = [each.run.way.name for each in summed]
    title = f"{len(first.ranking)} queries; p: paired randomisation test of {_MEASURE} against {first.way.name}, Holm"
    parts = [measures | certainty] if width >= _WIDE else [measures, certainty]
    return Group(title, *(_columns(methods, part) for part in parts))


def _columns(methods: Sequence[str], columns: Mapping[str, Sequence[str]]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("method", no_wrap=True)
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    for method, *cells in zip(methods, *columns.values(), strict=True):
        table.add_row(method, *cells)
    return table


def _moved(runs: Sequence[Run], moves: Sequence[QueryMove]) -> list[str]:
    """For each method the queries that gained and lost most, with the ranks of their relevant documents."""
    from evaluation.judged.comparison import by_gain

    first = runs[0]
    lines = []
    for run in runs[1:]:
        ordered = by_gain(moves, run, first)
        if not ordered:
            lines.append(f"\n{run.way.name} changes no query's {_MEASURE}")
            continue
        lines.append(f"\n{run.way.name} against {first.way.name}, the largest gains and losses:")
        shown = ordered if len(ordered) <= 2 * _SHOWN_MOVES else [*ordered[:_SHOWN_MOVES], *ordered[-_SHOWN_MOVES:]]
        for move in shown:
            change = move.values[run.way.name] - move.values[first.way.name]
            relevant = [
                f"{plain(doc).plain} {ranks[first.way.name] or '–'} → {ranks[run.way.name] or '–'}"
                for doc, ranks in move.ranks.items()
                if move.query.relevance[doc] > 0
            ]
            more = f" and {len(relevant) - _SHOWN_HITS} more" if len(relevant) > _SHOWN_HITS else ""
            hits = "; ".join(relevant[:_SHOWN_HITS]) + more
            lines.append(f"  {change:+.3f}  {plain(move.query.text).plain}: {hits}")
    return lines


def _report(index: str, summed: Sequence[Summary], moves: Sequence[QueryMove]) -> dict[str, Any]:
    from evaluation.judged.comparison import MEASURES

    return {
        "index": index,
        "baseline": summed[0].run.way.name,
        "measure": _MEASURE,
        "methods": {
            each.run.way.name: {
                "means": {name: each.run.mean(name) for name in MEASURES},
                "interval": list(each.interval[1:]),
                "difference": None if each.difference is None else vars(each.difference),
            }
            for each in summed
        },
        "queries": [
            {
                "query_id": move.query.query_id,
                "query": move.query.text,
                "values": dict(move.values),
                "ranks": {doc: dict(ranks) for doc, ranks in move.ranks.items()},
            }
            for move in moves
        ],
    }


def _write(folder: Path, report: dict[str, Any], runs: Sequence[Run]) -> None:
    from evaluation.base.files import write_whole

    for run in runs:
        lines = [
            f"{query_id} Q0 {doc} {rank} {1 / rank:.6f} {run.way.name}\n"
            for query_id, docs in run.ranking.items()
            for rank, doc in enumerate(docs, start=1)
        ]
        write_whole(folder / f"{run.way.name}.run", "".join(lines).encode())
    text = json.dumps(report, ensure_ascii=False, indent=2, allow_nan=False)
    write_whole(folder / "judged.json", f"{text}\n".encode())


def _verdict(tuning: Tuning, found: Difference) -> str:
    n_reporting = len(tuning.after.ranking)
    told = (
        f"Chosen on {tuning.n_choosing} queries out of {len(tuning.tried)} ways; on the other {n_reporting} "
        f"{tuning.measure} changes by {found.mean:+.3f} (p = {found.p_value:.3f})."
    )
    if _is_same(tuning.before.way, tuning.after.way):
        return told + " Nothing was better than what is set."
    if not _is_better(tuning, found):
        return told + " That is no more than chance: keep what is set, or judge more queries."
    return told


def _is_better(tuning: Tuning, found: Difference) -> bool:
    """Whether what was chosen is better than what is set by more than chance."""
    is_more_than_chance = found.mean > 0 and found.p_value <= _SIGNIFICANT
    return is_more_than_chance and not _is_same(tuning.before.way, tuning.after.way)


def _is_same(before: Way, after: Way) -> bool:
    return replace(before, name="") == replace(after, name="")


def _depth_setting(way: Way) -> str:
    """The depth of an engine's own query is the proxy's window."""
    return "proxy_window_size" if way.first_stage == "engine" else "depth"


def _toml_lines(way: Way) -> list[str]:
    lines = [f'method = "{way.method}"', f"epsilon = {way.parameters.epsilon:g}"]
    lines.append(f"{_depth_setting(way)} = {way.depth}")
    if way.parameters.tau is not None:
        lines.append(f"tau = {way.parameters.tau:g}")
    if way.first_stage == "hybrid":
        lines.append(f"knn_weight = {way.knn_weight:g}")
    return lines


def _tuning_json(tuning: Tuning, difference: Difference) -> dict[str, Any]:
    def settings(way: Way) -> dict[str, Any]:
        return {
            "method": way.method,
            "first_stage": way.first_stage,
            "epsilon": way.parameters.epsilon,
            "tau": way.parameters.tau,
            _depth_setting(way): way.depth,
            "knn_weight": way.knn_weight,
        }

    return {
        "measure": tuning.measure,
        "chosen": settings(tuning.chosen),
        "before": tuning.before.mean(tuning.measure),
        "after": tuning.after.mean(tuning.measure),
        "p_value": difference.p_value,
        "is_better": _is_better(tuning, difference),
        "n_choosing": tuning.n_choosing,
        "n_reporting": len(tuning.after.ranking),
        "tried": [{**settings(way), tuning.measure: value} for way, value in tuning.tried],
    }
