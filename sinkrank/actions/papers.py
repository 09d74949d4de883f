"""`sinkrank evaluate --suite papers`: every system of the papers on real collections, resumed where it stopped."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from reranker.service.settings import Settings

SUITES = ("papers",)

# The others are of single evaluations: what the suite asks is fixed, so that its tables can be made again.
_TAKEN = frozenset({"suite", "quick", "corpus", "directions", "systems", "output_folder", "json_", "home", "config"})


def check_options(context: typer.Context, suite: str | None, quick: bool) -> None:
    """Raises BadParameter for an unknown suite, or for options that do not go together."""
    if suite is None:
        if quick:
            raise typer.BadParameter("it is of a suite; give --suite papers too", param_hint="--quick")
        return
    if suite not in SUITES:
        raise typer.BadParameter(f"{suite!r} is not a suite; give one of {', '.join(SUITES)}", param_hint="--suite")
    if quick and is_given(context, "corpus"):
        raise typer.BadParameter(
            "the quick form has a collection of its own; leave one of the two out", param_hint="--corpus"
        )
    for parameter in context.command.params:
        if parameter.name not in _TAKEN and is_given(context, parameter.name or ""):
            raise typer.BadParameter(
                "--suite does not take it; its queries and methods are fixed, and --corpus, --systems, --directions "
                "and --quick choose among them",
                param_hint=parameter.opts[0],
            )


def is_given(context: typer.Context, name: str) -> bool:
    """Whether a parameter stands on the command line."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def run_papers(
    settings: Settings,
    collection: str | None,
    directions: Sequence[str],
    systems: Sequence[str],
    quick: bool,
    output_folder: Path | None,
    as_json: bool,
) -> None:
    """Measures, prints, and writes tables, runs and plots.

    Args:
        collection: its name; None for all.
        directions, systems: all where there are none.
    """
    from evaluation.corpora.tasks import Direction
    from evaluation.systems.catalogue import ALL_NAMES
    from papers.suite import plots, report
    from papers.suite.suite import COLLECTIONS, Suite, run
    from reranker.base.errors import NotFound
    from sinkrank.console import output

    chosen = tuple(Direction.parse(name) for name in directions) or None
    names = ALL_NAMES if list(systems) in ([], ["all"]) else tuple(dict.fromkeys(systems))
    asked = tuple(COLLECTIONS) if collection is None else (collection,)
    # Each process of the quick form would load as much as it measures.
    suite = Suite(names, asked, chosen, quick, 1 if quick else settings.n_threads)
    talk = output.talk()
    with output.progress_bars(talk) as progress:
        outcomes = run(suite, settings.home, progress)
    folder = output_folder or settings.home / "evaluation" / ("papers-quick" if quick else "papers")
    written = report.write(outcomes, folder)
    try:
        written += plots.draw(outcomes, folder)
    except NotFound as error:
        talk.print(str(error), markup=False)
    if as_json:
        output.print_json(report.as_dict(outcomes))
    else:
        for table in report.shown(outcomes):
            output.results().print(table)
    talk.print(f"written: {', '.join(map(str, written))}; runs and qrels beside them", markup=False)
