"""`sinkrank embeddings fetch`: fetches published vectors and imports them."""

from __future__ import annotations

from typing import Annotated

import typer

from reranker.service.settings import Settings
from sinkrank.console import options, output
from sinkrank.console.embedding_options import MaxTerms, Replace, show_summary
from sinkrank.console.parsing import parse_names

_FACTS = ("name", "languages", "dim", "licence", "source", "page")


@options.takes_settings("home", embeddings=options.NewStore)
def fetch(
    settings: Settings,
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="Name in the catalogue; without it the catalogue is shown."),
    ] = None,
    lang: Annotated[
        list[str] | None,
        typer.Option("--lang", metavar="CODES", help="Languages to fetch, such as en,fr; may be repeated."),
    ] = None,
    max_terms: MaxTerms = None,
    replace: Replace = False,
    json_: options.Json = False,
) -> None:
    """Fetch published word vectors and make an embedding store of them.

    Without a NAME it shows the catalogue.

    Example: [bold]sinkrank embeddings fetch fasttext-aligned --lang en,fr --max-terms 200000[/bold]
    """
    from ingest.embeddings.catalogue import published
    from ingest.embeddings.importing import import_embeddings
    from ingest.embeddings.published import fetch_published
    from reranker.embeddings import check_output

    if name is None:
        _show_catalogue(json_)
        return
    entry = published(name)
    languages = [code for codes in lang or [] for code in parse_names(codes)]
    check_output(settings.embeddings_path, replace=replace)
    with output.progress_bars() as progress:
        sources = fetch_published(entry, settings.home / "vectors", languages, progress)
        summary = import_embeddings(
            sources,
            settings.embeddings_path,
            replace=replace,
            max_terms_per_language=max_terms,
            progress=progress,
        )
    show_summary(summary, json_)


def _show_catalogue(as_json: bool) -> None:
    from ingest.embeddings.catalogue import CATALOGUE

    if as_json:
        output.print_json([{name: getattr(entry, name) for name in _FACTS} for entry in CATALOGUE.values()])
        return
    table = output.table("name", "languages", "dim", "licence", "source")
    for entry in CATALOGUE.values():
        table.add_row(*entry.row())
    output.results().print(table)
