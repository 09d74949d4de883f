"""`sinkrank pipeline install|remove`: re-ranking inside OpenSearch's own search pipelines."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reranker.base.errors import WrongParameter
from reranker.service.key_file import is_key
from reranker.service.settings import Settings
from sinkrank.console import options, output

if TYPE_CHECKING:
    from reranker.stores.engine.pipeline import EnginePipelines

app = typer.Typer(no_args_is_help=True, help="Re-rank inside an OpenSearch search pipeline (needs ml-commons).")


@app.command()
@options.takes_settings("store", index=options.PipelineIndex)
def install(
    settings: Settings,
    service_url: Annotated[
        str, typer.Option("--service-url", metavar="URL", help="URL at which the cluster reaches `sinkrank serve`.")
    ],
    fields: Annotated[
        list[str] | None,
        typer.Option(
            "--field", metavar="NAME", help="Top-level field to rank by; may be repeated; default: the only text field."
        ),
    ] = None,
    api_key_file: Annotated[
        Path | None,
        typer.Option("--api-key-file", metavar="FILE", help="File with an API key of the service, if it asks for one."),
    ] = None,
    json_: options.Json = False,
) -> None:
    """Install a connector, a model and a search pipeline in a cluster. A second run replaces them.

    The cluster must be allowed to call the service; otherwise the error says which of its settings to change.

    Example: [bold]sinkrank pipeline install --index pages --store opensearch://localhost:9200 --service-url
    http://10.0.0.7:8080[/bold]
    """
    from reranker.stores.engine.pipeline import PipelineRequest

    request = PipelineRequest(
        index=_index_of(settings),
        service_url=service_url,
        fields=tuple(fields or ()),
        api_key=None if api_key_file is None else _read_key(api_key_file),
    )
    with _opened_pipelines(settings) as pipelines:
        installed = pipelines.install(request)
    if json_:
        output.print_json(asdict(installed))
        return
    console = output.results()
    console.print(
        f"pipeline {installed.name}: ranks hits of {installed.index} by {', '.join(installed.fields)} at "
        f"{installed.endpoint}",
        soft_wrap=True,
    )
    console.print(
        f"use it with ?search_pipeline={installed.name}; the text to rank by goes into "
        "ext.rerank.query_context.query_text"
    )


@app.command()
@options.takes_settings("store", index=options.PipelineIndex)
def remove(settings: Settings, json_: options.Json = False) -> None:
    """Remove everything that install has created for an index. It is no error if nothing is there.

    Example: [bold]sinkrank pipeline remove --index pages --store opensearch://localhost:9200[/bold]
    """
    from reranker.stores.engine.pipeline import pipeline_name

    index = _index_of(settings)
    with _opened_pipelines(settings) as pipelines:
        removed = pipelines.remove(index)
    if json_:
        output.print_json(removed)
        return
    found = ", ".join(f"{n} × {what}" for what, n in removed.items() if n) or "nothing was there"
    output.results().print(f"removed {pipeline_name(index)}: {found}", soft_wrap=True)


def _index_of(settings: Settings) -> str:
    """The named index. A pipeline never guesses its index."""
    if settings.index is None:
        raise WrongParameter("no index is named; give it with --index")
    return settings.index


def _read_key(path: Path) -> str:
    """Reads a key from a file with nothing else in it. All users of the machine could read an argument.

    Raises:
        WrongParameter: the file has other contents, which the message does not repeat.
        OSError: the file cannot be read.
    """
    with path.open(encoding="utf-8", errors="replace") as file:
        key = file.read(1_000).strip()
    if not is_key(key):
        raise WrongParameter(f"{path} holds no API key; write what `sinkrank keys add NAME` prints into it")
    return key


@contextmanager
def _opened_pipelines(settings: Settings) -> Iterator[EnginePipelines]:
    from reranker.service.engine import engine_access, engine_address

    address = engine_address(settings)
    if address is None:
        raise WrongParameter(f"{settings.store_address} is a folder; give an OpenSearch with --store opensearch://HOST")
    # opensearch-py takes a while to import.
    from reranker.stores.engine.pipeline import EnginePipelines

    pipelines = EnginePipelines(address, engine_access(settings), timeout_s=settings.store_timeout_s)
    with closing(pipelines):
        yield pipelines
