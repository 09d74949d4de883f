"""`sinkrank search`: two stages, and the hits in their new order."""

from __future__ import annotations

from typing import Annotated

import typer

from sinkrank.console import options


def search(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to search for.")],
    lang: options.QueryLanguage = None,
    to: options.DocumentLanguages = None,
    first_stage: options.FirstStage = None,
    knn_weight: options.KnnWeight = None,
    depth: options.Depth = None,
    method: options.Method = None,
    epsilon: options.Epsilon = None,
    tau: options.Tau = None,
    feedback: options.Feedback = None,
    filters: Annotated[
        list[str] | None,
        typer.Option(
            "--filter",
            metavar="CONDITION",
            help="On metadata: 'module=swriter', 'year>=2000', \"year>='2000'\" (text, as CSV has it). May be "
            "repeated: all fields must match; for one field any of its values.",
        ),
    ] = None,
    offset: Annotated[int, typer.Option("--from", help="Hits to leave out at the top.")] = 0,
    size: Annotated[int | None, typer.Option("--size", help="Hits to show (default: 10).")] = None,
    json_: options.Json = False,
    home: options.Home = None,
    embeddings: options.EmbeddingsPath = None,
    store: options.StoreAddress = None,
    index: options.IndexName = None,
    config: options.Config = None,
) -> None:
    """Search an index: a first stage fetches candidates, transport between words re-orders them.

    The method none keeps the first stage's order.

    Example: [bold]sinkrank search "asiakirjan tulostaminen" --lang fi --to el[/bold]
    """
    import time

    from sinkrank.console.filters import parse_filters

    started = time.perf_counter()
    conditions = parse_filters(filters or ())

    from dataclasses import replace

    from reranker.search.searcher import SearchRequest
    from reranker.stores.base.protocol import Filters
    from sinkrank.console import output, resources, tables

    settings = options.load(
        config,
        home=home,
        embeddings=embeddings,
        store=store,
        index=index,
        first_stage=first_stage,
        knn_weight=knn_weight,
        depth=depth,
        method=method,
        epsilon=epsilon,
        tau=tau,
        feedback=feedback,
        size=size,
    ).settings
    with resources.opened_searcher(settings) as searcher:
        request = SearchRequest(
            text=text,
            index=searcher.choose_index(settings.index),
            language=lang,
            filters=Filters.parse(to, conditions),
            first_stage=settings.first_stage,
            depth=settings.depth,
            method=settings.method,
            parameters=resources.parameters_of(settings),
            offset=offset,
            size=settings.size,
            feedback=settings.feedback,
            first_stage_share=settings.first_stage_share,
            knn_weight=settings.knn_weight,
        )
        # A first run loads embeddings and code, which a service does once: its time is no search's.
        with output.talk().status(output.LOADING):
            searcher.warm_up(request)
        loading_ms = (time.perf_counter() - started) * 1000
        answer = searcher.search(request)
    answer = replace(answer, took_ms={**answer.took_ms, "loading": round(loading_ms, 3)})
    if json_:
        output.print_json(answer)
        return
    console = output.results()
    if answer.hits:
        console.print(tables.search_table(answer, console.width))
    console.print(tables.search_footer(answer), markup=False)
