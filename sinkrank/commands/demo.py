"""`sinkrank demo`: everything at once, on real pages."""

from __future__ import annotations

from typing import Annotated

import typer

from reranker.service.settings import Settings
from sinkrank.console import options, output


@options.takes_settings("host", "port", "home")
def demo(
    settings: Settings,
    serve: Annotated[
        bool, typer.Option("--serve/--no-serve", help="Serve the API and the page after the searches, until Ctrl-C.")
    ] = True,
) -> None:
    """Fetch real pages, train embeddings, build an index, show some searches, and serve.

    Example: [bold]sinkrank demo --no-serve[/bold]
    """
    from sinkrank.commands.demo_run import run_demo

    run_demo(settings, output.talk(), serve)
