"""`python -m papers`: measures every system of the papers on real collections, and resumes where it stopped."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from papers.base.names import known_names
from papers.base.options import Directions
from sinkrank.console.parsing import parse_names

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich")


@app.command()
def measure(
    quick: Annotated[
        bool, typer.Option("--quick", help="Two directions of 60 pages, and only the fast systems: a minute or two.")
    ] = False,
    corpus: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="libreoffice, gnome, manpages or packages; default: all four."),
    ] = None,
    systems: Annotated[
        str | None, typer.Option(metavar="NAME,…", help="Systems to measure, see docs/systems.md; default: all.")
    ] = None,
    directions: Directions = None,
    output_folder: Annotated[
        Path | None,
        typer.Option(
            "--output", metavar="DIR", help="Folder of the report; default: HOME/evaluation/papers or papers-quick."
        ),
    ] = None,
    home: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Folder of the collections, embeddings and cached answers; default: .sinkrank."
        ),
    ] = None,
) -> None:
    """Measure every system of the papers on four collections.

    The whole run takes some 80 minutes on two cores. Answers are cached, so an interrupted run continues where it
    stopped.

    Example: [bold]python -m papers --quick[/bold]
    """
    if quick and corpus is not None:
        raise typer.BadParameter(
            "the quick form has a collection of its own; leave one of the two out", param_hint="--corpus"
        )
    from papers.corpora.tasks import Direction
    from papers.suite import report
    from papers.suite.suite import COLLECTIONS, Suite, run
    from papers.systems.catalogue import ALL_NAMES
    from reranker.service.settings_sources import load_settings
    from sinkrank.console import output

    settings = load_settings({"home": home}).settings
    chosen = tuple(Direction.parse(name) for name in parse_names(directions)) or None
    names = known_names(parse_names(systems) or ["all"], ALL_NAMES, "a system of the suite")
    asked = tuple(COLLECTIONS) if corpus is None else (corpus,)
    # In the quick form, loading would take each process as long as measuring.
    suite = Suite(names, asked, chosen, quick, 1 if quick else settings.n_threads)
    folder = output_folder or settings.home / "evaluation" / ("papers-quick" if quick else "papers")
    talk = output.talk()
    with output.progress_bars(talk) as progress:
        outcomes = run(suite, settings.home, progress)
    written = report.write(outcomes, folder)
    output.results().print("\n".join(report.overviews(outcomes)), soft_wrap=True)
    talk.print(f"written: {written}; runs and qrels beside it")
