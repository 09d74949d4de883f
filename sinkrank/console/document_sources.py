"""Reads documents from files, as ingest does, and from indices of an engine, for the commands that take both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
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
    """The records of files and of indices (URL/INDEX), as one stream. Indices are copied to the home's folder first,
    until the block ends.

    Raises:
        BadInput, NotFound, StoreUnavailable: one cannot be read.
    """
    from ingest.documents import read_records
    from ingest.files import open_sources
    from sinkrank.console.resources import index_to_read, opened_copy

    layout = layout.checked()
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


def say_left_out(sources: Iterable[Source]) -> None:
    """Lists the files of folders that are ignored, by kind."""
    from sinkrank.console import output

    for source in sources:
        if source.left_out:
            kinds = ", ".join(f"{n:,} {kind}" for kind, n in source.left_out)
            output.talk().print(
                f"ignored in the folder {source.name}: {kinds} (only HTML, Markdown and text are read; name files of "
                "other formats one by one)",
                markup=False,
            )


def layout_of_copy(layout: Layout) -> Layout:
    """The layout of a copied index, whose rows have Sinkrank's own field names."""
    from ingest.documents import Layout

    return Layout(default_language=layout.default_language)


def usable(records: Iterable[Record], unusable: Unusable) -> Iterator[Document]:
    """The documents of the records. Unusable rows are counted, with file, line and reason."""
    for record in records:
        if record.document is not None:
            yield record.document
        else:
            unusable.add_row(record.row, record.reason)


def short_name(name: str) -> str:
    """The last part of a file's path or of an index's URL."""
    return name.rstrip("/").rpartition("/")[2]
