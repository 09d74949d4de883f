"""Finds the command that makes missing embeddings."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from reranker.service.settings import Settings
from reranker.upstream.addresses import EngineAddress, read_address


def no_embeddings_message(settings: Settings, files: Sequence[str] = ()) -> str:
    """The message for missing embeddings, with the cure.

    >>> no_embeddings_message(Settings(store="opensearch://localhost:9200", index="pages"))
    'there are no embeddings at .sinkrank/embeddings; make them with `sinkrank embeddings prepare --store \
opensearch://localhost:9200 --index pages`'
    """
    return f"there are no embeddings at {settings.embeddings_path}; make them with `{prepare_command(settings, files)}`"


def prepare_command(settings: Settings, files: Sequence[str] = ()) -> str:
    """The command that makes the embeddings of these settings, from these files or an index of the engine, without
    credentials."""
    words = ["sinkrank", "embeddings", "prepare"]
    address = read_address(settings.store_address)
    if files:
        words += files
    elif isinstance(address, EngineAddress):
        words += ["--store", address.redacted, "--index", settings.index or "INDEX"]
    else:
        words += ["FILE"]
    if settings.embeddings is not None:
        words += ["--output", str(settings.embeddings)]
    elif settings.home != Settings.model_fields["home"].default:
        words += ["--home", str(settings.home)]
    return shlex.join(words)
