"""`sinkrank doctor`: checks the installation, and says how to fix problems."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from reranker.service.settings_sources import LoadedSettings
from sinkrank.console import options, output


@options.takes_settings(*options.SEARCHABLE)
def doctor(
    loaded: LoadedSettings,
    json_: options.Json = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Do not read all embeddings and the whole embedded store.")
    ] = False,
) -> None:
    """Check settings, embeddings, store, indices and the compiled kernel. The exit code is 1 if there is a problem.

    Example: [bold]sinkrank doctor --store opensearch://localhost:9200[/bold]
    """
    from sinkrank.actions.checks import run_checks

    with output.talk().status("checking …"):
        checks = run_checks(loaded, quick)
    is_sound = all(check.ok for check in checks)
    if json_:
        output.print_json({"ok": is_sound, "checks": [asdict(check) for check in checks]})
    else:
        console = output.results()
        for check in checks:
            label, style = ("ok", "green") if check.ok else ("problem", "bold red")
            console.print(f"{label:7}", style=style, end=" ")
            console.print(f"{check.name}: {check.message}", soft_wrap=True)
    if not is_sound:
        raise typer.Exit(1)
