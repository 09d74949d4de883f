"""`python -m papers.table`: measures every side on judged collections, and writes the table; it measures what is
missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from ingest.documents import DETECTED, Layout
from ingest.embeddings.preparing.plan import make_plan
from ingest.embeddings.preparing.run import prepare
from ingest.progress import Progress
from papers.base.names import known_names
from papers.base.stopwatch import cpu_seconds
from papers.judged.beir import Collection, read_beir
from papers.judged.collection import languages_of, opened
from papers.table import report
from papers.table.results import read_results, result_path, write_result
from papers.table.sides import GLOVE, PREPARED, SIDES, Opened, measured
from reranker.base.errors import NotFound
from reranker.base.whole_files import write_whole
from reranker.embeddings import Embeddings
from reranker.service.settings import Settings
from reranker.service.settings_sources import load_settings
from sinkrank.actions import preparing
from sinkrank.console import output
from sinkrank.console.parsing import parse_names

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich")

EMBEDDINGS, PREPARE_MS = "embeddings", "prepare_ms"
"""In the folder of a collection: the embeddings of `prepare`, and their CPU time (ms) a document."""


@app.command()
def make(
    collections: Annotated[
        list[str] | None,
        typer.Argument(metavar="[DIR[:LANG]]…", help="Folders in BEIR's layout, each in one language; default: en."),
    ] = None,
    sides: Annotated[str, typer.Option(metavar="NAME,…", help=f"{', '.join(SIDES)}, or all.")] = "all",
    glove: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Embeddings of GloVe's vectors; default: no sides with them.")
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Measure the sides again, also those with a result.")] = False,
    output_folder: Annotated[
        Path | None, typer.Option("--output", metavar="DIR", help="Results and table; default: HOME/evaluation/table.")
    ] = None,
    home: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder of fetched models and cached vectors; default: .sinkrank."),
    ] = None,
) -> None:
    """Measure every side on judged collections, and write one table of all results and a picture.

    Each side has a file of its own for each collection, so an interrupted run continues, and one side can be measured
    again. Embeddings are made by `prepare`, unless DIR/NAME/embeddings is there. Without a collection the table is
    written from the results that are there.

    Example: [bold]python -m papers.table collections/cranfield collections/npl --output table[/bold]
    """
    names = known_names(parse_names(sides), tuple(SIDES), "a side of the table")
    settings = load_settings({"home": home}).settings.model_copy(update={"first_stage": "bm25", "threads": 1})
    folder = output_folder or settings.home / "evaluation" / "table"
    asked = _Asked(names, glove, again, folder, settings)
    with output.progress_bars() as progress:
        for place in collections or []:
            source, _, language = place.partition(":")
            _measure(Path(source), language or None, asked, progress)
    if not folder.is_dir():
        raise NotFound(f"{folder} has no results; name collections to measure")
    written = report.write(read_results(folder, SIDES), folder)
    output.results().print(written[0].read_text(encoding="utf-8"), soft_wrap=True, end="")
    output.talk().print(f"written: {', '.join(map(str, written))}")


@dataclass(frozen=True)
class _Asked:
    """What to measure, and where the results go.

    Attributes:
        again: also sides that have a result.
    """

    sides: Sequence[str]
    glove: Path | None
    again: bool
    folder: Path
    settings: Settings


def _measure(source: Path, language: str | None, asked: _Asked, progress: Progress) -> None:
    """Measures sides on a collection, and writes the result of each as soon as it is known."""
    collection = read_beir(source)
    folder = asked.folder / collection.name
    missing = [side for side in asked.sides if asked.again or not result_path(folder, side).is_file()]
    if not missing:
        return
    prepared = folder / EMBEDDINGS
    if not prepared.exists():
        _prepare(collection, language, folder, asked.settings, progress)
    language = languages_of(collection, language or "en", Embeddings.open(prepared))[1]
    for kind, store in ((PREPARED, prepared), (GLOVE, asked.glove)):
        sides = [side for side in missing if SIDES[side].embeddings == kind and SIDES[side].takes(language)]
        if store is None or not sides:
            continue
        settings = asked.settings.model_copy(update={"embeddings": store})
        with opened(source, None, language, settings, progress) as found:
            searched = Opened(found, settings, _prepare_ms(folder) if kind == PREPARED else None, progress)
            for side in sides:
                write_result(folder, measured(searched, side))


def _prepare(
    collection: Collection, language: str | None, folder: Path, settings: Settings, progress: Progress
) -> None:
    """Makes the embeddings of a collection by `prepare`, and keeps their CPU time."""
    started = cpu_seconds()
    settings = settings.model_copy(update={"embeddings": folder / EMBEDDINGS})
    layout = Layout(default_language=language or DETECTED)
    with preparing.work_folder(settings) as work:
        texts = preparing.read_documents([str(collection.corpus)], None, layout, None, settings, work, progress)
        plan = make_plan(texts, settings.home, [], settings.n_threads)
        prepare(texts, plan, settings.embeddings_path, progress=progress)
    n_documents = sum(1 for _ in collection.documents(language or "en"))
    write_whole(folder / PREPARE_MS, f"{1000 * (cpu_seconds() - started) / n_documents:.3f}\n".encode())


def _prepare_ms(folder: Path) -> float | None:
    path = folder / PREPARE_MS
    return float(path.read_text()) if path.is_file() else None
