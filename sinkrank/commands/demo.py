"""`sinkrank demo`: everything at once, on real pages."""

from __future__ import annotations

from typing import Annotated

import typer

from sinkrank.console import options


def demo(
    serve: Annotated[
        bool, typer.Option("--serve/--no-serve", help="Serve the API and the page after the searches, until Ctrl-C.")
    ] = True,
    host: Annotated[str | None, typer.Option(help="Address to listen at (default: 127.0.0.1).")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen at; 0 takes a free one (default: 8080).")] = None,
    home: options.Home = None,
    config: options.Config = None,
) -> None:
    """Fetch real pages, train embeddings, index, search across languages and in one, and serve.

    Example: [bold]sinkrank demo --no-serve[/bold]
    """
    from sinkrank.commands.demo_run import run_demo
    from sinkrank.console import output

    settings = options.load(config, home=home, host=host, port=port).settings
    raise typer.Exit(run_demo(settings, output.talk(), serve))
