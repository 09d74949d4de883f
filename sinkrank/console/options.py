"""Options that several commands take. Those that are settings are made from the settings' declarations.

    @takes_settings("home", "store", "index", "depth")
    def search(settings: Settings, text: ...) -> None: ...

adds `--home`, `--store`, `--index`, `--depth` and `--config` to the command, and passes it the settings that it read.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class SettingOption:
    """An option for a setting, with other names or another help than the setting's."""

    setting: str
    flags: tuple[str, ...]
    help: str | None = None
    panel: str | None = None


def option_of(option: str | SettingOption) -> Any:
    """The name, help and default of a setting's option for typer."""
    chosen = option if isinstance(option, SettingOption) else _by_name(option)
    field = Settings.model_fields[chosen.setting]
    is_switch = bool in value_types(field)
    described = chosen.help or _sentence(str(field.description), allowed_values(field))
    default = ("on" if field.default else "off") if is_switch else str(field.default)
    return typer.Option(
        *chosen.flags,
        metavar=_METAVARS.get(chosen.setting),
        rich_help_panel=chosen.panel,
        help=described,
        # As text: None means that the option was not given.
        show_default=False if field.default is None else default,
    )


_METAVARS = {
    "home": "DIR",
    "embeddings": "DIR",
    "store": "ADDRESS",
    "index": "NAME",
    "method": "NAME",
    "first_stage": "NAME",
}


def _by_name(name: str) -> SettingOption:
    flag = f"--{name.replace('_', '-')}"
    is_switch = bool in value_types(Settings.model_fields[name])
    flags = f"{flag}/--no-{flag[2:]}" if is_switch else flag
    return SettingOption(name, (flags,), panel=_PANEL if name in _IN_PANEL else None)


def _kind(name: str) -> type:
    """The type that typer reads; pydantic checks the value."""
    (kind,) = value_types(Settings.model_fields[name])
    return kind if kind in (bool, int, float, Path) else str


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


def takes_settings(*options: str | SettingOption) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Adds an option for each of these settings, and `--config`, to a command.

    The command's first parameter is the settings: `settings: Settings`, or `loaded: LoadedSettings` with the source of
    each.
    """
    named = {one if isinstance(one, str) else one.setting: one for one in options}

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        first, *own = inspect.signature(command, eval_str=True).parameters.values()
        added = [_parameter(name, Annotated[_kind(name) | None, option_of(one)]) for name, one in named.items()]
        added.append(_parameter("config", Config))

        def run(**given: Any) -> None:
            flags = {name: given.pop(name) for name in named}
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
