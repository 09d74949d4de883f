"""Runs the suite for the command line: measures, prints tables, and writes reports, runs and plots."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from evaluation.corpora.tasks import Direction
from papers.suite import plots, report
from papers.suite.suite import COLLECTIONS, Suite, run
from papers.systems.catalogue import ALL_NAMES
from reranker.base.errors import NotFound
from reranker.service.settings_sources import load_settings
from sinkrank.console import output


def measure_and_report(
    quick: bool,
    collection: str | None,
    systems: Sequence[str],
    directions: Sequence[str],
    output_folder: Path | None,
    as_json: bool,
    home: Path | None,
) -> None:
    """Measures and reports.

    Args:
        collection: name of a collection; None for all.
        systems, directions: empty for all.
        home: None for the home of the settings.

    Raises:
        WrongParameter: a system, collection or direction is unknown.
        SinkrankError: a collection is missing and cannot be fetched.
    """
    settings = load_settings({"home": home}).settings
    chosen = tuple(Direction.parse(name) for name in directions) or None
    names = ALL_NAMES if list(systems) in ([], ["all"]) else tuple(dict.fromkeys(systems))
    asked = tuple(COLLECTIONS) if collection is None else (collection,)
    # In the quick form, loading would take each process as long as measuring.
    suite = Suite(names, asked, chosen, quick, 1 if quick else settings.n_threads)
    folder = output_folder or settings.home / "evaluation" / ("papers-quick" if quick else "papers")
    talk = output.talk()
    with output.progress_bars(talk) as progress:
        outcomes = run(suite, settings.home, progress)
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
