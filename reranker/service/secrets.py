"""Reads secrets from files, and warns of secrets that others on the machine can read.

Each setting with a secret has a second form that names a file, as Docker and Kubernetes provide secrets:
`store_password_file` for `store_password`.
"""

from __future__ import annotations

import logging
import stat
from collections.abc import Container, Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import SecretStr

from reranker.base.errors import WrongParameter
from reranker.service.settings import Settings, value_types

FILE_SUFFIX = "_file"
SECRETS = frozenset(name for name, field in Settings.model_fields.items() if SecretStr in value_types(field))
"""The settings that are secrets."""

_log = logging.getLogger(__name__)


def with_secret_files(values: Mapping[str, Any], given: Container[str]) -> dict[str, Any]:
    """The values of one source, with the contents of files instead of their names.

    Args:
        given: secrets that a source before this one gave; their files are not read.

    Raises:
        WrongParameter: a file cannot be read, or a secret is given twice.
    """
    read = dict(values)
    for name in SECRETS:
        path = read.pop(f"{name}{FILE_SUFFIX}", None)
        if path is None or name in given:
            continue
        if name in read:
            raise WrongParameter(f"{name} and {name}{FILE_SUFFIX} are both given; give one of them")
        read[name] = _read(f"{name}{FILE_SUFFIX}", Path(str(path)))
    return read


def _read(setting: str, path: Path) -> str:
    """The secret in a file, without the end of the line."""
    try:
        mode = path.stat().st_mode
        secret = path.read_bytes().decode("utf-8-sig").removesuffix("\n").removesuffix("\r")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise WrongParameter(
            f"{setting}: {path} cannot be read ({reason}); name a file that holds the secret"
        ) from None
    if not secret:
        raise WrongParameter(f"{setting}: {path} is empty; name a file that holds the secret")
    if mode & stat.S_IRWXO:
        _log.warning("every user of this machine can read %s (%s); chmod 640 or less", path, setting)
    return secret


def warn_of_arguments(arguments: Iterable[str]) -> None:
    """Logs one warning if an argument of the command is an address with a password, since every user of the machine can
    see it in the list of processes."""
    if any(_has_password(argument) for argument in arguments):
        _log.warning(
            "an argument holds a password, which every user of this machine can see in the list of processes; set "
            "SINKRANK_STORE_USERNAME and SINKRANK_STORE_PASSWORD or SINKRANK_STORE_PASSWORD_FILE instead (for an index "
            "to read, ~/.netrc)"
        )


def _has_password(argument: str) -> bool:
    address = argument.partition("=")[2] if argument.startswith("--") else argument
    try:
        return bool(urlsplit(address).password)
    except ValueError:
        return False
