"""`sinkrank keys add|remove`: the API keys of the service."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from reranker.base.errors import WrongParameter
from reranker.service.key_file import add_key, remove_key
from reranker.service.settings import Settings
from sinkrank.console import options, output

app = typer.Typer(no_args_is_help=True, help="Make and remove the API keys that `sinkrank serve` asks for.")

_Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the key, such as who uses it.")]


@app.command()
@options.takes_settings("api_keys")
def add(settings: Settings, name: _Name, json_: options.Json = False) -> None:
    """Make a key, print it once, and add its hash to the file. A running service knows it a second later.

    Example: [bold]sinkrank keys add shop --api-keys /etc/sinkrank/keys[/bold]
    """
    path = _file_of(settings)
    key = add_key(path, name)
    if json_:
        output.print_json({"name": name, "key": key})
        return
    output.talk().print(f"added {name} to {path}; the key is shown this once:")
    output.results().print(key, highlight=False, soft_wrap=True)


@app.command()
@options.takes_settings("api_keys")
def remove(settings: Settings, name: _Name) -> None:
    """Remove a key from the file. A running service refuses it a second later.

    Example: [bold]sinkrank keys remove shop --api-keys /etc/sinkrank/keys[/bold]
    """
    remove_key(_file_of(settings), name)
    output.talk().print(f"removed {name}")


def _file_of(settings: Settings) -> Path:
    if settings.api_keys is None:
        raise WrongParameter("no file of API keys is named; give it with --api-keys, or as the setting api_keys")
    return settings.api_keys
