"""Joins the commands into one, and turns errors into exit codes and one line each.

The modules of the commands import nothing heavy (NumPy, Flask) before they run, so that `--help` is quick. They import
pydantic, which the declarations of the settings need.
"""

from __future__ import annotations

import inspect
import logging
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from reranker.base.errors import SinkrankError, WrongParameter, one_line
from reranker.base.terminal import OneLineFormatter
from reranker.service.secrets import warn_of_arguments
from sinkrank.commands.demo import demo
from sinkrank.commands.doctor import doctor
from sinkrank.commands.embeddings import app as embeddings_app
from sinkrank.commands.evaluate import evaluate
from sinkrank.commands.explain import explain
from sinkrank.commands.ingest import app as ingest_app
from sinkrank.commands.keys import app as keys_app
from sinkrank.commands.pipeline import app as pipeline_app
from sinkrank.commands.search import search
from sinkrank.commands.serve import serve
from sinkrank.commands.traffic import traffic
from sinkrank.commands.tune import tune
from sinkrank.console import output
from sinkrank.console.exits import EXIT_FAILED, EXIT_STOPPED, EXIT_WRONG_USE


class _Group(TyperGroup):
    """Shows an error as `sinkrank: <message>`; with `--debug` also its traceback."""

    def invoke(self, ctx: Any) -> Any:  # typer's own copy of Click, or Click itself, by version
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            if ctx.params.get("debug"):
                raise
            typer.echo("sinkrank: stopped", err=True)
            raise typer.Exit(EXIT_STOPPED) from None
        except BrokenPipeError:
            raise  # the reader of our output went away (`| head`): Click ends quietly
        except (SinkrankError, OSError) as error:
            if ctx.params.get("debug"):
                raise
            output.talk().print(f"sinkrank: {one_line(error)}")
            raise typer.Exit(EXIT_WRONG_USE if isinstance(error, WrongParameter) else EXIT_FAILED) from None


app = typer.Typer(
    cls=_Group,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    help="Re-ranks search hits by optimal transport between words, across languages.",
    epilog="Begin with [bold]sinkrank demo[/bold]; each command has an example under --help.",
)


def _show_version(asked_for: bool) -> None:
    if not asked_for:
        return
    from importlib.metadata import version as installed

    typer.echo(installed("sinkrank"))
    raise typer.Exit


@app.callback()
def _main(
    debug: Annotated[bool, typer.Option("--debug", help="Log more, and show the traceback of an error.")] = False,
    # Its callback runs while the options are read, so no command is needed.
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=_show_version)
    ] = False,
) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(OneLineFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.INFO if debug else logging.WARNING, handlers=[handler])
    warn_of_arguments(sys.argv[1:])


app.command()(demo)
app.command()(serve)
app.add_typer(ingest_app, name="ingest")
app.command()(search)
app.command()(explain)
app.add_typer(embeddings_app, name="embeddings")
app.add_typer(pipeline_app, name="pipeline")
app.add_typer(keys_app, name="keys")
app.command()(evaluate)
app.command()(tune)
app.command()(traffic)
app.command()(doctor)


def _reflow_help(group: typer.Typer) -> None:
    """Joins the lines of each paragraph of the help, so that it wraps to the terminal's width."""
    for command in group.registered_commands:
        paragraphs = inspect.getdoc(command.callback) or ""
        command.help = "\n\n".join(" ".join(each.split()) for each in paragraphs.split("\n\n"))
    for inner in group.registered_groups:
        if inner.typer_instance is not None:
            _reflow_help(inner.typer_instance)


_reflow_help(app)
