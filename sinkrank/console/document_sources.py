"""Reads documents from files, as ingest does, and from indices of an engine, for the commands that take both."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from itertools import chain
from netrc import NetrcParseError, netrc
from pathlib import Path

from ingest.documents import Layout, Record, read_records
from ingest.files import Source, open_sources
from ingest.from_index import IndexSource, opened_index, read_index_source
from ingest.progress import Progress
from reranker.base.errors import WrongParameter
from reranker.service.settings import Settings
from reranker.stores import EngineAccess
from sinkrank.console import output


@contextmanager
def opened_records(
    names: Sequence[str], layout: Layout, settings: Settings, progress: Progress
) -> Iterator[Iterator[Record]]:
    """The records of files and of indices (URL/INDEX), as one stream. Indices are copied to the home's folder first,
    until the block ends.

    Raises:
        BadInput, NotFound, StoreUnavailable: one cannot be read.
    """
    files = [name for name in names if "://" not in name]
    with ExitStack() as opened:
        sources = opened.enter_context(open_sources(files)) if files else []
        say_left_out(sources)
        copies = [
            opened.enter_context(
                opened_copy(index_to_read(name, layout), settings.home / "collections", settings, progress)
            )
            for name in names
            if name not in files
        ]
        yield chain(read_records(sources, layout), read_records(copies, layout_of_copy(layout)))


def index_to_read(url: str, layout: Layout, query: str | None = None, limit: int | None = None) -> IndexSource:
    """The index that `URL/INDEX` names, with the user and password that `~/.netrc`, or the file of the variable NETRC,
    has for its host if the URL has none.

    Raises:
        WrongParameter, BadInput: as `ingest.from_index.read_index_source`; or the file cannot be read.
    """
    source = read_index_source(url, layout, query, limit)
    if source.address.username is not None:
        return source
    try:
        found = netrc(os.environ.get("NETRC")).hosts.get(source.address.nodes[0].host)
    except FileNotFoundError:
        return source
    except NetrcParseError as error:
        raise WrongParameter(f"{error.filename}, line {error.lineno}: {error.msg}") from None
    return source if found is None else replace(source, address=source.address.with_credentials(found[0], found[2]))


def opened_copy(
    source: IndexSource, folder: Path, settings: Settings, progress: Progress, access: EngineAccess | None = None
) -> AbstractContextManager[Source]:
    """`opened_index` of an index that `index_to_read` names; with access to the store, of one of the store."""
    # The API key and the client certificate are only for the store.
    access = access or EngineAccess(ca_certs=settings.store_ca_certs, verify_certs=settings.store_verify_certs)
    return opened_index(source, folder, access=access, timeout_s=settings.store_timeout_s, progress=progress)


def say_left_out(sources: Iterable[Source]) -> None:
    """Lists the files of folders that are ignored, by kind."""
    for source in sources:
        if source.left_out:
            kinds = ", ".join(f"{n:,} {kind}" for kind, n in source.left_out)
            output.talk().print(
                f"ignored in the folder {source.name}: {kinds} (only HTML, Markdown and text are read; name files of "
                "other formats one by one)"
            )


def layout_of_copy(layout: Layout) -> Layout:
    """The layout of a copied index, whose rows have Sinkrank's own field names."""
    return Layout(default_language=layout.default_language)


def short_name(name: str) -> str:
    """The last part of a file's path or of an index's URL."""
    return name.rstrip("/").rpartition("/")[2]
