"""Ingests files, or an index of another cluster, into the store."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from types import FrameType
from typing import Any

from ingest.documents import Layout
from ingest.files import Source, open_sources
from ingest.pipeline import Options, ingest
from ingest.progress import Progress
from ingest.summary import IngestSummary
from reranker.service.settings import Settings
from sinkrank.console import output, resources
from sinkrank.console.document_sources import layout_of_copy, say_left_out


@dataclass(frozen=True, slots=True)
class Input:
    """What to read: files, or an index (`URL/INDEX`) with a query in the engine's language."""

    files: Sequence[str]
    file_format: str | None
    columns: Sequence[str] | None
    from_index: str | None
    query: str | None


def ingest_input(
    given: Input, options: Options, settings: Settings, index: str
) -> tuple[IngestSummary, dict[str, Any]]:
    """Writes the documents of the input to an index of the store.

    Returns:
        The summary, and for each folder the number of ignored files by kind.

    Raises:
        NotFound: an input file or the embeddings do not exist.
        BadInput, StoreUnavailable: the input or the store cannot be used.
    """
    embeddings = resources.open_embeddings(settings, given.files)
    with ExitStack() as opened, _ended_cleanly(), output.progress_bars() as progress:
        sources, layout = _open(given, options, settings, opened, progress)
        say_left_out(sources)
        store = opened.enter_context(resources.opened_store(settings))
        summary = ingest(sources, store, index, embeddings, replace(options, layout=layout), progress=progress)
    return summary, {source.name: dict(source.left_out) for source in sources if source.left_out}


def _open(
    given: Input, options: Options, settings: Settings, opened: ExitStack, progress: Progress
) -> tuple[Sequence[Source], Layout]:
    """The sources, and the layout of their rows."""
    if given.from_index is None:
        return opened.enter_context(open_sources(given.files, given.file_format, given.columns)), options.layout
    source = resources.index_to_read(given.from_index, options.layout, given.query)
    copied = resources.opened_copy(source, settings.home / "ingest", settings, progress)
    return [opened.enter_context(copied)], layout_of_copy(options.layout)


@contextmanager
def _ended_cleanly() -> Iterator[None]:
    """Lets SIGTERM and SIGHUP end the run as Ctrl-C does, so that temporary files are removed.

    A signal that is ignored, as under nohup, stays ignored.
    """

    def end(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    obeyed = [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, end) for number in obeyed}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
