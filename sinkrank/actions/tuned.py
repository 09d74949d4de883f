"""`sinkrank tune`: chooses parameters by judged queries, and prints them as settings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from reranker.service.settings_sources import LoadedSettings
from sinkrank.actions import judged
from sinkrank.console import output
from sinkrank.evaluation.comparison import Difference, Way, compared_runs
from sinkrank.evaluation.judgments import read_judged_queries
from sinkrank.evaluation.tuning import Tuning
from sinkrank.evaluation.tuning import tune as choose

_SIGNIFICANT = 0.05


def tune(loaded: LoadedSettings, template: Path | None, queries: Path | None, qrels: Path, as_json: bool) -> None:
    """Chooses parameters, beginning with those of the settings, and prints them as lines of sinkrank.toml if they are
    better."""
    found = read_judged_queries(queries, qrels, output.talk().print)
    with judged.opened(loaded, template) as (searches, _), output.progress_bars() as progress:
        start = Way.of(loaded.settings, loaded.settings.method, searches.first_stage)
        tuning = choose(start, lambda way, some: searches.run(way, some, progress), found, judged.MEASURE)
    present(tuning, as_json)


def present(tuning: Tuning, as_json: bool) -> None:
    """Prints the result of a tuning."""
    summed = compared_runs([tuning.before, tuning.after], tuning.measure)
    difference = summed[1].difference
    assert difference is not None  # noqa: S101 - only the first has none
    if as_json:
        output.print_json(_tuning_json(tuning, difference))
        return
    console = output.results(least_width=80)
    console.print(judged.comparison_tables(summed))
    console.print(_verdict(tuning, difference))
    if _is_better(tuning, difference):
        console.print("\n".join(["for sinkrank.toml:", *_toml_lines(tuning.chosen)]))


def _verdict(tuning: Tuning, found: Difference) -> str:
    n_reporting = len(tuning.after.ranking)
    told = (
        f"The best of {len(tuning.tried)} settings on {tuning.n_choosing} queries; on the other {n_reporting} "
        f"{tuning.measure} changes by {found.mean:+.3f} (p = {found.p_value:.3f})."
    )
    if _is_same(tuning.before.way, tuning.after.way):
        return told + " Nothing was better than the current settings."
    if not _is_better(tuning, found):
        return told + " That may be chance: keep the settings, or judge more queries."
    return told


def _is_better(tuning: Tuning, found: Difference) -> bool:
    """Whether the chosen way is better than the settings by more than chance."""
    is_more_than_chance = found.mean > 0 and found.p_value <= _SIGNIFICANT
    return is_more_than_chance and not _is_same(tuning.before.way, tuning.after.way)


def _is_same(before: Way, after: Way) -> bool:
    return replace(before, name="") == replace(after, name="")


def _toml_lines(way: Way) -> list[str]:
    lines = [f'method = "{way.method}"', f"epsilon = {way.parameters.epsilon:g}", f"depth = {way.depth}"]
    if way.parameters.tau is not None:
        lines.append(f"tau = {way.parameters.tau:g}")
    if way.first_stage != "engine":  # the caller's own query
        lines.append(f'first_stage = "{way.first_stage}"')
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
            "depth": way.depth,
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
