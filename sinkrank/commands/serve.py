"""`sinkrank serve`: the HTTP service."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sinkrank.console import options

if TYPE_CHECKING:
    from reranker.embeddings import Embeddings
    from reranker.service.settings import LoadedSettings, Settings
    from reranker.stores.base.protocol import Store


def serve(
    host: Annotated[str | None, typer.Option("--host", help="Address to listen at (default: 127.0.0.1).")] = None,
    port: Annotated[
        int | None, typer.Option("--port", help="Port to listen at; 0 takes a free one (default: 8080).")
    ] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", help="Requests that a process handles at a time (default: 8).")
    ] = None,
    processes: Annotated[
        int | None, typer.Option("--processes", help="Processes that serve, with gunicorn if over 1 (default: 1).")
    ] = None,
    threads: Annotated[
        int | None, typer.Option("--threads", help="Threads of one re-ranking (default: one a core, at most 4).")
    ] = None,
    first_stage: Annotated[str | None, typer.Option("--first-stage", help="knn, bm25 or hybrid.")] = None,
    knn_weight: options.KnnWeight = None,
    depth: Annotated[int | None, typer.Option("--depth", help="Candidates to re-rank (default: 100).")] = None,
    query_language: Annotated[
        str | None, typer.Option("--query-language", metavar="CODE", help="Of queries whose words do not tell theirs.")
    ] = None,
    method: options.Method = None,
    epsilon: options.Epsilon = None,
    tau: options.Tau = None,
    print_settings: Annotated[
        bool, typer.Option("--print-settings", help="Show each setting and where it came from, and stop.")
    ] = False,
    json_: Annotated[bool, typer.Option("--json", help="With --print-settings: as one JSON document.")] = False,
    home: options.Home = None,
    embeddings: options.EmbeddingsPath = None,
    store: options.StoreAddress = None,
    index: options.IndexName = None,
    config: options.Config = None,
) -> None:
    """Serve the search, the rerank APIs, the proxy and the page over HTTP, until Ctrl-C or SIGTERM.

    Requests that have begun are answered before it ends. Without a store it still re-ranks the texts of a request.
    Without embeddings it passes searches on to the engine, and re-ranks them as soon as `sinkrank embeddings prepare`
    has made some.

    Example: [bold]sinkrank serve --port 8080 --store opensearch://localhost:9200[/bold]
    """
    if json_ and not print_settings:
        raise typer.BadParameter("it goes with --print-settings", param_hint="--json")
    loaded = options.load(
        config,
        host=host,
        port=port,
        workers=workers,
        processes=processes,
        threads=threads,
        first_stage=first_stage,
        knn_weight=knn_weight,
        depth=depth,
        query_language=query_language,
        method=method,
        epsilon=epsilon,
        tau=tau,
        home=home,
        embeddings=embeddings,
        store=store,
        index=index,
    )
    if print_settings:
        _print_settings(loaded, json_)
        return
    with _opened_store(loaded.settings) as opened:
        run_service(loaded.settings, opened)


def run_service(settings: Settings, store: Store | None) -> None:
    """Builds the service over a store, if there is one, and serves it until it is told to stop.

    Raises:
        NoEmbeddings: there are none, and no engine to pass searches on to.
        NotFound, BadEmbeddings, VersionMismatch: the embeddings cannot be opened.
        BadInput: the address cannot be listened at.
        WrongParameter: a setting needs what is not installed.
    """
    from sinkrank.serving.processes import shared_numbers

    with shared_numbers() if settings.processes > 1 else nullcontext():
        _run(settings, store)


def _run(settings: Settings, store: Store | None) -> None:
    from reranker.api.app import create_app, drain, warm_up
    from reranker.service.logs import set_up_logs
    from reranker.service.tracing import start_tracing
    from reranker.stores.base.addresses import is_engine
    from sinkrank.console import output
    from sinkrank.console.resources import without_credentials
    from sinkrank.serving.processes import serve_with_processes
    from sinkrank.serving.server import address_of, bind, serve_until_stopped

    set_up_logs(settings)
    if settings.traces:
        start_tracing()
    app = create_app(settings, store, _embeddings(settings))
    console = output.talk()
    with bind(settings.host, settings.port) as listener:
        address = address_of(listener)
        console.print("compiling the kernels (a minute at the first start) …", style="dim")
        warm_up(app)

        def ready() -> None:
            console.print(f"sinkrank serves {address}", markup=False)
            console.print(f"the page: {address}/-/ui   the API: POST {address}/v1/search", markup=False)
            if is_engine(settings.store_address):
                behind = without_credentials(settings.store_address)
                console.print(f"the proxy: {address}/INDEX/_search, re-ranked hits of {behind}", markup=False)
            console.print("Ctrl-C stops it", style="dim")

        serve = serve_until_stopped if settings.processes == 1 else serve_with_processes
        serve(app, settings, listener, ready, lambda: drain(app))
    console.print("stopped")


def _embeddings(settings: Settings) -> Embeddings | None:
    """The embeddings; None where there are none yet and the proxy can pass searches on until then, which is logged."""
    from reranker.base.errors import NoEmbeddings
    from reranker.stores.base.addresses import is_engine
    from sinkrank.console import resources

    try:
        return resources.open_embeddings(settings)
    except NoEmbeddings:
        if is_engine(settings.store_address):
            return None
        raise


@contextmanager
def _opened_store(settings: Settings) -> Iterator[Store | None]:
    """The store; None where none is set and the default folder is not there."""
    from pathlib import Path

    from sinkrank.console import output, resources

    if settings.store is None and not Path(settings.store_address).is_dir():
        output.talk().print(
            f"no store is set and {settings.store_address} is not there: re-ranking texts only, no search", markup=False
        )
        yield None
        return
    _say_if_down(settings)
    with resources.opened_store(settings) as store:
        yield store


def _say_if_down(settings: Settings) -> None:
    """An engine may come up after the service, but a mistyped address never does: it is said at once, not at the first
    search. The store is opened for this alone, since processes that are forked must not share its connections."""
    from reranker.base.errors import SinkrankError, WrongParameter
    from sinkrank.console import output, resources

    try:
        with resources.opened_store(settings) as store:
            store.indices()
    except WrongParameter:
        raise
    except SinkrankError as error:
        output.talk().print(f"{error} (/-/ready says 503 until it answers)", markup=False)


def _print_settings(loaded: LoadedSettings, as_json: bool) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from sinkrank.console import output

    shown = {name: _shown(name, value) for name, value in loaded.settings}
    if as_json:
        output.print_json({name: {"value": shown[name], "from": loaded.origins[name]} for name in shown})
        return
    table = Table("setting", "value", "from", "what it is", box=box.SIMPLE_HEAD, pad_edge=False)
    fields = type(loaded.settings).model_fields
    for name, value in shown.items():
        text = "" if value is None else str(value)
        table.add_row(name, Text(text), Text(loaded.origins[name]), Text(fields[name].description or ""))
    output.results().print(table)


def _shown(name: str, value: Any) -> Any:
    """A setting's value as it may be shown: no password, also none inside an address."""
    from pydantic import SecretStr

    from sinkrank.console.resources import without_credentials

    if isinstance(value, SecretStr):
        return "***"
    if name == "store" and value is not None:
        return without_credentials(value)
    if isinstance(value, tuple):
        return [without_credentials(one) for one in value]
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)
