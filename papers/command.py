"""`python -m papers`: measures every system of the papers on real collections, and resumes where it stopped."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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
    directions: Annotated[
        str | None,
        typer.Option(
            metavar="FROM-TO,…",
            help="Languages of queries and documents; default: English to each other language and back.",
        ),
    ] = None,
    output_folder: Annotated[
        Path | None,
        typer.Option(
            "--output", metavar="DIR", help="Folder of the report; default: HOME/evaluation/papers or papers-quick."
        ),
    ] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print the report as one JSON document.")] = False,
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
    from papers.running import measure_and_report

    measure_and_report(quick, corpus, _names(systems), _names(directions), output_folder, json_, home)


def _names(listed: str | None) -> list[str]:
    return [name.strip() for name in (listed or "").split(",") if name.strip()]
