"""`sinkrank search`: two stages, and the hits in their new order."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from reranker.base.errors import WrongParameter
from reranker.service.settings_sources import LoadedSettings
from sinkrank.console import options, output
from sinkrank.console.filters import parse_filters


@options.takes_settings("first_stage", "depth", "method", "epsilon", "tau", "feedback", *options.SEARCHABLE)
def search(
    loaded: LoadedSettings,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The query.")],
    lang: options.QueryLanguage = None,
    to: options.DocumentLanguages = None,
    filters: Annotated[
        list[str] | None,
        typer.Option(
            "--filter",
            metavar="CONDITION",
            help="Condition on metadata: 'module=swriter', 'year>=2000', \"year>='2000'\" (as text). May be repeated: "
            "all fields must match, each with any of its values.",
        ),
    ] = None,
    offset: Annotated[int, typer.Option("--from", help="Number of hits to skip.")] = 0,
    size: Annotated[int, typer.Option("--size", help="Number of hits to show.")] = 10,
    template: options.Template = None,
    json_: options.Json = False,
) -> None:
    """Search an index: the first stage fetches candidates, transport between words re-ranks them.

    The method none keeps the order of the first stage. An index of an engine that Sinkrank did not make is searched
    through the proxy: the first stage is the engine's own query.

    Example: [bold]sinkrank search "asiakirjan tulostaminen" --lang fi --to el[/bold]
    """
    from reranker.service.searches import search_request
    from reranker.stores.base.filters import Filters
    from sinkrank.actions import engine_search
    from sinkrank.console import resources, tables

    settings, conditions = loaded.settings, parse_filters(filters or ())
    with (
        resources.opened_searcher(settings) as searcher,
        engine_search.opened(loaded, searcher, template) as engine,
        output.talk().status(output.LOADING),
    ):
        if engine is not None and conditions:
            raise WrongParameter("--filter is for an index that Sinkrank made; put the filter into --template FILE")
        if engine is not None:
            answer = engine.search(text, lang, to, offset, size)
        else:
            index = searcher.choose_index(settings.index)
            request = search_request(settings, text, index, lang, Filters.parse(to, conditions))
            request = replace(request, offset=offset, size=size)
            searcher.open(request.index)  # a service opens the index once
            answer = searcher.search(request)
    if json_:
        output.print_json(answer)
        return
    console = output.results()
    if answer.hits:
        console.print(tables.search_table(answer, console.width))
    console.print(tables.search_footer(answer))
