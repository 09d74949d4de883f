"""Reads the settings: flags come before the environment, then `sinkrank.toml`, then the defaults.

tomllib reads the file, pydantic checks the values. pydantic-settings does not fit: it ignores unknown variables, and
does not say where a value came from.
"""

from __future__ import annotations

import json
import os
import shlex
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from reranker.base.errors import WrongParameter
from reranker.base.suggestions import did_you_mean
from reranker.service.secrets import with_secret_files
from reranker.service.settings import Settings, may_be_secret

ENVIRONMENT_PREFIX = "SINKRANK_"
SETTINGS_FILE = "sinkrank.toml"
_MAX_ECHOED_CHARS = 40

# Variables of the test suite, which are not settings.
_NOT_SETTINGS = frozenset(
    {
        "SINKRANK_TEST_ENGINES",
        "SINKRANK_JAVA_HOMES",
        "SINKRANK_ENGINE_CACHE",
        "SINKRANK_CORPUS_CACHE",
    }
)
# In the environment their values are separated by commas.
_LISTS = frozenset(name for name, field in Settings.model_fields.items() if isinstance(field.default, tuple))


@dataclass(frozen=True, slots=True)
class LoadedSettings:
    """The settings, and for each where its value came from: `flag`, `environment`, the settings file's name, or
    `default`."""

    settings: Settings
    origins: Mapping[str, str]

    def option(self, name: str) -> Any:
        """The value of a setting that the command line gave; None if it came from elsewhere."""
        return getattr(self.settings, name) if self.origins[name] == "flag" else None


def load_settings(
    flags: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
    file: Path | None = None,
) -> LoadedSettings:
    """Reads the settings.

    Args:
        flags: values of the command line; None means the flag was not given.
        environ: the environment; default: `os.environ`.
        file: the settings file, which must exist; default: `sinkrank.toml` of the working folder, if it exists.

    Raises:
        WrongParameter: a key is unknown (the error names the nearest known key), or a value is empty or not valid.
    """
    path = file or Path(SETTINGS_FILE)
    layers = {
        "flag": {name: value for name, value in (flags or {}).items() if value is not None},
        "environment": _read_variables(os.environ if environ is None else environ),
        str(path): _read_file(path, is_required=file is not None),
    }
    values: dict[str, Any] = {}
    origins = dict.fromkeys(Settings.model_fields, "default")
    for origin, layer in layers.items():
        for name, value in with_secret_files(layer, given=values).items():
            if name not in Settings.model_fields:
                raise WrongParameter(_unknown_key(name, origin))
            if name not in values:
                values[name], origins[name] = value, origin
    for name, value in values.items():
        if value == "":
            raise WrongParameter(f"setting {name} (from {origins[name]}) is empty; give a value, or leave it out")
    try:
        return LoadedSettings(Settings(**values), origins)
    except ValidationError as error:
        raise WrongParameter(_invalid_value(error, origins)) from None


def where_to_set(name: str, value: str | Sequence[str]) -> str:
    """How to set a setting: its line of the settings file, and its variable.

    >>> where_to_set("proxy_text_fields", ["title", "text"])
    '`proxy_text_fields = ["title", "text"]` in sinkrank.toml, or SINKRANK_PROXY_TEXT_FIELDS=title,text'
    """
    in_file = json.dumps(value, ensure_ascii=False)  # TOML writes texts and lists of them alike
    in_environment = shlex.quote(value if isinstance(value, str) else ",".join(value))
    return f"`{name} = {in_file}` in {SETTINGS_FILE}, or {ENVIRONMENT_PREFIX}{name.upper()}={in_environment}"


def _read_file(path: Path, *, is_required: bool) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        if is_required:
            raise WrongParameter(f"there is no settings file {str(path)!r}; name one that exists") from None
        return {}
    except OSError as error:
        raise WrongParameter(f"settings file {str(path)!r} cannot be read ({error.strerror}); name another") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise WrongParameter(f"{path} is not valid TOML in UTF-8 ({error}); write lines like port = 9000") from error


def _read_variables(environ: Mapping[str, str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for variable, value in environ.items():
        # An empty variable counts as not set, since compose files write unset variables this way.
        if variable.startswith(ENVIRONMENT_PREFIX) and variable not in _NOT_SETTINGS and value:
            name = variable.removeprefix(ENVIRONMENT_PREFIX).lower()
            values[name] = tuple(filter(None, map(str.strip, value.split(",")))) if name in _LISTS else value
    return values


def _unknown_key(name: str, origin: str) -> str:
    source_name = f"{ENVIRONMENT_PREFIX}{name.upper()}" if origin == "environment" else name
    cure = did_you_mean(name, Settings.model_fields) or "`sinkrank serve --print-settings` lists all settings"
    return f"{source_name} (from {origin}) is not a setting; {cure}"


def _invalid_value(error: ValidationError, origins: Mapping[str, str]) -> str:
    first = error.errors()[0]
    name = str(first["loc"][0])
    got = "" if may_be_secret(name) else f"; got {str(first['input'])[:_MAX_ECHOED_CHARS]!r}"
    return f"setting {name} (from {origins[name]}): {first['msg']}{got}"
