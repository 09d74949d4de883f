"""`python -m papers.held_out`: measures methods and other systems on held-out pages."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ingest.progress import Progress
from papers.base.names import known_names
from papers.base.options import Directions
from papers.corpora.tasks import DEFAULT_LIMIT, DEFAULT_QUERY_KINDS, Direction, default_directions
from papers.held_out import report as reports
from papers.held_out.experiment import DEFAULT_METHODS, Plan, fit_systems, run_plan
from papers.held_out.pages import LANGUAGES, load
from papers.systems.catalogue import SYSTEM_NAMES, make_system
from papers.systems.surroundings import Surroundings
from reranker.base.errors import WrongParameter
from reranker.embeddings import Embeddings
from reranker.service.settings import Settings
from reranker.transport import METHODS
from sinkrank.console import options, output
from sinkrank.console.parsing import parse_names
from sinkrank.console.resources import open_embeddings
from sinkrank.demo import Corpus
from sinkrank.demo.trained import open_trained, train_on

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich")


@app.command()
@options.takes_settings("depth", "home", "embeddings")
def measure(
    settings: Settings,
    corpus: Annotated[
        str,
        typer.Option(
            help="libreoffice, manpages, or gnome (only for testing; embeddings are trained on libreoffice), fetched "
            "with apt-get; or texts (shipped; too few to say much)."
        ),
    ] = "libreoffice",
    directions: Directions = None,
    queries: Annotated[
        str, typer.Option(metavar="KIND,…", help="Kinds of query: first3, first8, first20, first60, pages, halves.")
    ] = ",".join(DEFAULT_QUERY_KINDS),
    methods: Annotated[
        str,
        typer.Option(
            metavar="NAME,…",
            show_default=False,
            help="nbow, rwmd, emd, sinkhorn, relaxed, auto, or all; default: all but emd, which is slow.",
        ),
    ] = ",".join(DEFAULT_METHODS),
    systems: Annotated[
        str,
        typer.Option(
            metavar="NAME,…", help=f"Other systems to measure, quality and cost: {', '.join(SYSTEM_NAMES)}, or all."
        ),
    ] = "",
    limit: Annotated[
        int, typer.Option(min=0, help="Maximum number of test pages per task, drawn with a fixed seed; 0 for all.")
    ] = DEFAULT_LIMIT,
    everything: Annotated[
        bool,
        typer.Option("--everything/--candidates", help="Also re-rank all documents, or only the candidates."),
    ] = True,
    unknown_words: Annotated[
        str,
        typer.Option(
            "--unknown-words",
            metavar="RULE",
            help="Rule for words without an embedding: skip, parts, paper.",
        ),
    ] = "parts",
    development: Annotated[
        bool,
        typer.Option("--development", help="Measure on a part of the training pages, to choose parameters."),
    ] = False,
    output_folder: Annotated[
        Path | None,
        typer.Option("--output", metavar="DIR", help="Folder of the report; default: in HOME/evaluation."),
    ] = None,
) -> None:
    """Measure the methods on held-out pages: each page is a query for its own translation.

    Embeddings are trained on the other pages, unless they exist or --embeddings names others. The default (ten
    directions, three kinds of query, 400 pages each) takes some ten minutes on two cores, the example takes one.

    Example: [bold]python -m papers.held_out --directions fi-en --queries first20[/bold]
    """
    if corpus not in LANGUAGES:
        raise typer.BadParameter(
            f"{corpus!r} is not a corpus; give one of {', '.join(LANGUAGES)}", param_hint="--corpus"
        )
    plan = Plan(
        directions=_directions(corpus, directions),
        query_kinds=tuple(parse_names(queries)),
        methods=known_names(parse_names(methods), METHODS, "a method"),
        limit=limit or None,
        depth=settings.depth,
        everything=everything,
        unknown_words=unknown_words,
        systems=known_names(parse_names(systems), SYSTEM_NAMES, "a system to measure beside"),
    )
    given = Surroundings(plan.directions, settings.home, settings.n_threads)
    others = [make_system(name, given) for name in plan.systems]
    talk = output.talk()
    with output.progress_bars(talk) as progress:
        held_out = load(corpus, settings.home, progress, of_development=development)
        pages, learned_from = held_out.corpus, held_out.learned_from
        embeddings = _embeddings(learned_from, settings, progress)
        fitted = fit_systems(others, pages, progress)
        tasks = list(run_plan(pages, embeddings, plan, settings.n_threads, progress, others))
    report = reports.Report(pages, embeddings, plan, tasks, fitted, learned_from)
    written = reports.write(report, output_folder or settings.home / "evaluation" / pages.name)
    output.results().print(written.read_text(encoding="utf-8"), soft_wrap=True, end="")
    talk.print(f"written: {written}")


def _directions(corpus: str, listed: str | None) -> tuple[Direction, ...]:
    """Checks the directions before the first page is fetched."""
    languages = LANGUAGES[corpus]
    if listed is None:
        return tuple(default_directions(languages))
    chosen = tuple(Direction.parse(name) for name in parse_names(listed))
    for language in (code for each in chosen for code in (each.query_language, each.document_language)):
        if language not in languages:
            raise WrongParameter(f"the corpus {corpus} has no pages in {language!r}; it has {', '.join(languages)}")
    return chosen


def _embeddings(corpus: Corpus, settings: Settings, progress: Progress) -> Embeddings:
    """The embeddings of --embeddings. Otherwise those of HOME if they were trained on this corpus's training pages.
    Otherwise those of HOME/evaluation, which are trained if they are missing. Never overwrites other embeddings."""
    if settings.embeddings is not None:
        return open_embeddings(settings)
    found = open_trained(settings.embeddings_path, corpus)
    return found or train_on(corpus, settings.home / "evaluation" / corpus.name / "embeddings", progress)
