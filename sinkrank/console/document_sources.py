"""Reads documents from files, as ingest does, and from indices of an engine, for the commands that take both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ingest.documents import Layout, Record
    from ingest.embeddings.document_units import Unusable
    from ingest.files import Source
    from ingest.progress import Progress
    from reranker.service.settings import Settings
    from reranker.text.documents import Document


@contextmanager
def opened_records(
    names: Sequence[str], layout: Layout, settings: Settings, progress: Progress
) -> Iterator[Iterator[Record]]:
    """The records of files and of indices (URL/INDEX), as one stream. Indices are copied to the home's folder first;
    the copies are deleted when the block ends without an error.

    Raises:
        BadInput, NotFound, StoreUnavailable: one cannot be read.
    """
    from ingest.documents import read_records
    from ingest.files import open_sources
    from ingest.from_index import forget, opened_index, read_index_source
    from reranker.stores import EngineAccess

    layout = layout.checked()
    files = [name for name in names if "://" not in name]
    # The key and the certificate are for the store, and for nobody else.
    access = EngineAccess(ca_certs=settings.store_ca_certs, verify_certs=settings.store_verify_certs)
    with ExitStack() as opened:
        sources = opened.enter_context(open_sources(files)) if files else []
        say_left_out(sources)
        copies = [
            opened.enter_context(
                opened_index(
                    read_index_source(name, layout),
                    settings.home / "collections",
                    access=access,
                    timeout_s=settings.store_timeout_s,
                    progress=progress,
                )
            )
            for name in names
            if name not in files
        ]
        yield chain(read_records(sources, layout), read_records(copies, layout_of_copy(layout)))
        for copy in copies:
            forget(copy)


def say_left_out(sources: Iterable[Source]) -> None:
    """Names what is not read of folders, by kind."""
    from sinkrank.console import output

    for source in sources:
        if source.left_out:
            kinds = ", ".join(f"{n:,} {kind}" for kind, n in source.left_out)
            output.talk().print(
                f"left out of the folder {source.name}: {kinds} (read are HTML, Markdown and text; name files of other "
                "formats themselves)",
                markup=False,
            )


def layout_of_copy(layout: Layout) -> Layout:
    """That of the copy of an index, whose rows have our own names."""
    return replace(layout, id_field=None, language_field=None, title_field=None, text_field=None)


def usable(records: Iterable[Record], unusable: Unusable) -> Iterator[Document]:
    """The documents of the records; rows that are none are counted, with their file, line and reason."""
    for record in records:
        if record.document is not None:
            yield record.document
        else:
            unusable.add(f"{shown(record.row.file)}, line {record.row.line}", str(record.reason))


def shown(name: str) -> str:
    """An index by its name alone: its URL may hold a password."""
    return name.rpartition("/")[2] if "://" in name else name


def short_name(name: str) -> str:
    """The last part of a file's path or of an index's URL."""
    return name.rstrip("/").rpartition("/")[2]
