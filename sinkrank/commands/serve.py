"""`sinkrank serve`: the HTTP service."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlencode

import typer

from reranker.base.errors import SinkrankError
from reranker.service.settings import Settings
from reranker.service.settings_sources import LoadedSettings
from sinkrank.console import options, output
from sinkrank.console.exits import ended_cleanly

if TYPE_CHECKING:
    from reranker.answers.page import Example
    from reranker.stores.base.protocol import Store

_log = logging.getLogger(__name__)


@options.takes_settings(
    "host",
    "port",
    "api_keys",
    "workers",
    "processes",
    "threads",
    "first_stage",
    "depth",
    "method",
    "proxy_mode",
    *options.SEARCHABLE,
)
def serve(
    loaded: LoadedSettings,
    print_settings: Annotated[
        bool, typer.Option("--print-settings", help="Print each setting with its source, and exit.")
    ] = False,
    json_: Annotated[bool, typer.Option("--json", help="With --print-settings: print one JSON document.")] = False,
) -> None:
    """Serve search, the rerank APIs, the proxy and the page over HTTP until Ctrl-C or SIGTERM.

    Running requests are answered before it stops. Without a store it only re-ranks the texts of a request. Without
    embeddings the proxy passes searches to the engine, and re-ranks them once `sinkrank embeddings prepare` has made
    some.

    Example: [bold]sinkrank serve --port 8080 --store opensearch://localhost:9200[/bold]
    """
    if json_ and not print_settings:
        raise typer.BadParameter("it needs --print-settings", param_hint="--json")
    if print_settings:
        _print_settings(loaded, json_)
        return
    from reranker.service.logs import set_up_logs

    set_up_logs(loaded.settings)
    with ended_cleanly(), _opened_store(loaded.settings) as opened:
        run_service(loaded.settings, opened)


def run_service(settings: Settings, store: Store | None, first: Example | None = None) -> None:
    """Builds the service over a store, if there is one, and serves until it is stopped.

    Args:
        first: a search that the printed address of the page opens with.

    Raises:
        NoEmbeddings: there are no embeddings, and no engine to pass searches to.
        NotFound, BadEmbeddings, VersionMismatch: the embeddings cannot be opened.
        BadInput: the service cannot listen on the address.
    """
    from sinkrank.serving.shared_numbers import shared_numbers

    settings = settings.model_copy(update={"processes": settings.n_processes})
    with shared_numbers() if settings.processes > 1 else nullcontext():
        _run(settings, store, first)


def _run(settings: Settings, store: Store | None, first: Example | None) -> None:
    from reranker.api.app import create_app
    from reranker.service.engine import engine_address
    from reranker.service.service import EXTENSION, Service
    from sinkrank.actions.shadow_process import shadow_process
    from sinkrank.console.resources import embeddings_if_any
    from sinkrank.serving.processes import serve_with_processes
    from sinkrank.serving.server import address_of, bind, serve_until_stopped, spare_collector

    in_shadow = shadow_process(settings) if settings.proxy_mode == "shadow" else nullcontext()
    with in_shadow as shadow, bind(settings.host, settings.port) as listener:
        app = create_app(settings, store, embeddings_if_any(settings), shadow)
        service: Service = app.extensions[EXTENSION]
        address = address_of(listener)

        def ready() -> None:
            _say(settings, f"sinkrank serves {address}")
            api = f"   the API: POST {address}/v1/search" if first is None else ""
            _say(settings, f"the page: {address}{page_path(first)}{api}")
            if (engine := engine_address(settings)) is not None:
                hits = "re-ranked hits" if shadow is None else "the engine's order, re-ranking in shadow,"
                _say(settings, f"the proxy: {address}/INDEX/_search, {hits} of {engine.redacted}")
            _say(settings, "Ctrl-C stops it", style="dim")

        serve = serve_until_stopped if settings.processes == 1 else serve_with_processes
        spare_collector()
        try:
            serve(app, settings, listener, service.start, ready, service.draining.set)
        finally:
            service.integrity.stop()
    _say(settings, "stopped")


def _say(settings: Settings, message: str, level: int = logging.INFO, style: str | None = None) -> None:
    """Prints a message to whoever started the service; a record of the log where that is JSON, whatever its level."""
    if settings.log_format == "json":
        _log.setLevel(logging.INFO)
        _log.log(level, "%s", message)
    else:
        output.talk().print(message, style=style)


def page_path(first: Example | None) -> str:
    """The path of the page, with a search."""
    return "/-/ui" if first is None else f"/-/ui?{urlencode(first)}"


@contextmanager
def _opened_store(settings: Settings) -> Iterator[Store | None]:
    """The store; None if none is set and the default folder does not exist."""
    from sinkrank.console import resources

    if settings.store is None and not Path(settings.store_address).is_dir():
        _say(settings, f"no store is set and {settings.store_address} is not there: re-ranking texts only, no search")
        yield None
        return
    _say_if_down(settings)
    with resources.opened_store(settings) as store:
        yield store


def _say_if_down(settings: Settings) -> None:
    """Logs if the engine does not answer, so that a mistyped address is seen before the first search. An engine may
    also start after the service. The store is opened only for this, since forked processes must not share its
    connections."""
    from sinkrank.console import resources

    with resources.opened_store(settings) as store:
        try:
            for problem in store.problems():
                _say(settings, problem, logging.WARNING)
        except SinkrankError as error:
            _say(settings, f"{error} (/-/ready says 503 until it answers)", logging.WARNING)


def _print_settings(loaded: LoadedSettings, as_json: bool) -> None:
    from reranker.service.engine import engine_address

    displayed = loaded.settings.model_dump(mode="json")  # secrets as stars
    if (engine := engine_address(loaded.settings)) is not None:
        displayed["store"] = engine.redacted  # without credentials
    if as_json:
        output.print_json({name: {"value": displayed[name], "from": loaded.origins[name]} for name in displayed})
        return
    table = output.table("setting", "value", "from", "what it is")
    fields = type(loaded.settings).model_fields
    for name, value in displayed.items():
        table.add_row(name, "" if value is None else str(value), loaded.origins[name], fields[name].description)
    output.results().print(table)
