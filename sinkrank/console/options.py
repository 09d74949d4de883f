"""Options that several commands take. Those that are settings are made from the settings' declarations.

    @takes_settings("home", "store", "index", "depth")
    def search(settings: Settings, text: ...) -> None: ...

adds `--home`, `--store`, `--index`, `--depth` and `--config` to the command, and passes it the settings that it read.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from reranker.service.settings import Settings, allowed_values, value_types
from reranker.service.settings_sources import SETTINGS_FILE, LoadedSettings, load_settings

_PANEL = "Settings (also SINKRANK_… in the environment, or sinkrank.toml)"
# Options for what a command works on. The others belong to the command itself.
_IN_PANEL = frozenset({"home", "embeddings", "store", "index"})

DEFAULT_INDEX = "documents"
"""The index that the ingest commands work on if none is named."""

STORE = ("home", "store", "index")
"""The settings of a command that works on an index."""

SEARCHABLE = ("home", "embeddings", "store", "index")
"""The settings of a command that works on an index and needs embeddings."""


_METAVARS = {
    "home": "DIR",
    "embeddings": "DIR",
    "store": "ADDRESS",
    "index": "NAME",
    "api_keys": "FILE",
    "method": "NAME",
    "first_stage": "NAME",
}


def _option(name: str) -> Any:
    """The option of a setting for typer: its name, type, help and default."""
    field = Settings.model_fields[name]
    (kind,) = value_types(field)
    flag, default = f"--{name.replace('_', '-')}", str(field.default)
    if kind is bool:
        flag, default = f"{flag}/--no-{flag[2:]}", "on" if field.default else "off"
    option = typer.Option(
        flag,
        metavar=_METAVARS.get(name),
        rich_help_panel=_PANEL if name in _IN_PANEL else None,
        help=_sentence(str(field.description), allowed_values(field)),
        # As text: None means that the option was not given.
        show_default=False if field.default is None else default,
    )
    # pydantic checks the value, and makes paths.
    return Annotated[(kind if kind in (bool, int, float) else str) | None, option]


def _sentence(description: str, allowed: str) -> str:
    what, separator, default = description.partition("; default: ")
    text = f"{what} ({allowed}){separator}{default}" if allowed else description
    return f"{text[0].upper()}{text[1:]}.".replace("`", "")


Config = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        rich_help_panel=_PANEL,
        help=f"Settings file; default: {SETTINGS_FILE} if it exists.",
    ),
]


def _index(text: str) -> Any:
    """The option `--index` of a command that chooses its index in another way than a search."""
    return Annotated[str | None, typer.Option("--index", metavar="NAME", rich_help_panel=_PANEL, help=text)]


IngestIndex = _index(f"Index; default: {DEFAULT_INDEX}.")
IndexToRead = _index("Index to read instead of files.")
PipelineIndex = _index("Index of the pipeline; must be given.")
FIELDS = "Fields"
TitleField = Annotated[
    str | None, typer.Option(metavar="NAME", rich_help_panel=FIELDS, help="Title field; default: title or headline.")
]
LanguageField = Annotated[
    str | None, typer.Option(metavar="NAME", rich_help_panel=FIELDS, help="Language field; default: language or lang.")
]
TextField = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        rich_help_panel=FIELDS,
        help="Text field; default: text, body, contents or content. Of an index also several, separated by commas.",
    ),
]
NewStore = Annotated[
    str | None,
    typer.Option("--output", "-o", metavar="DIR", help="Embedding store to make; default: HOME/embeddings."),
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as one JSON document.")]
ReportFolder = Annotated[
    Path | None,
    typer.Option("--output", metavar="DIR", help="Folder for the report in JSON and the TREC runs."),
]
QueryLanguage = Annotated[
    str | None, typer.Option("--lang", metavar="CODE", help="Language of the query; default: detected.")
]
Template = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Search body with {{text}} in place of the query, sent through the proxy. An index that Sinkrank did not "
        "make is always searched that way; default: a multi_match over its text fields.",
    ),
]
Qrels = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Judgments: TREC qrels, BEIR's TSV, or CSV with the columns query, docid and rating.",
    ),
]
Queries = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Queries: JSON lines as the page saves them, or ID, tab, text; default: those of a CSV of judgments.",
    ),
]
DocumentLanguages = Annotated[
    list[str] | None, typer.Option("--to", metavar="CODE", help="Language of the documents; may be repeated.")
]


def takes_settings(*names: str, **options: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Adds an option for each of these settings, and `--config`, to a command.

    The command's first parameter is the settings: `settings: Settings`, or `loaded: LoadedSettings` with the source of
    each.

    Args:
        options: of further settings, by their names.
    """
    options = {name: _option(name) for name in names} | options

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        first, *own = inspect.signature(command, eval_str=True).parameters.values()
        added = [_parameter(name, option) for name, option in (options | {"config": Config}).items()]

        def run(**given: Any) -> None:
            flags = {name: given.pop(name) for name in options}
            loaded = load_settings(flags, file=given.pop("config"))
            command(loaded if first.annotation is LoadedSettings else loaded.settings, **given)

        parameters = [*own, *added]
        run.__name__, run.__doc__ = command.__name__, command.__doc__
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {each.name: each.annotation for each in parameters}
        return run

    return decorate


def _parameter(name: str, annotation: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
