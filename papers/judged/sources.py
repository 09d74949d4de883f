"""Opens a judged collection: a folder in BEIR's layout, or a data set of ir_datasets, written in this layout."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ingest.progress import Progress, no_progress
from papers.judged.beir import CORPUS, QRELS, QUERIES, Collection, read_beir
from reranker.base.errors import BadInput, NotFound

_PACKAGE = "ir_datasets"
# Number of rows between two steps of the progress bar.
_ROWS_A_REPORT = 1_000
# Larger data sets do not go to the temporary folder; the user must choose a folder.
MAX_DOCUMENTS = 1_000_000


@contextmanager
def opened_collection(source: str, qrels: Path | None = None, progress: Progress = no_progress) -> Iterator[Collection]:
    """Opens a collection by its folder, or by its name in ir_datasets. The latter is written to a temporary folder.

    Args:
        qrels: other judgments than the collection's own.

    Raises:
        NotFound: there is no such folder or name, or ir_datasets is not installed.
        BadInput: it cannot be read, has no judged query, or is too large.
    """
    folder = Path(source)
    if folder.is_dir():
        yield read_beir(folder, qrels)
        return
    if folder.is_absolute() or source.startswith("."):
        raise NotFound(f"there is no folder {source!r}; check the path")
    dataset = _load(source)
    with TemporaryDirectory(prefix="sinkrank-") as temporary:
        _write(dataset, source, Path(temporary), progress)
        yield read_beir(Path(temporary), qrels, name=source)


def _load(name: str) -> Any:
    try:
        ir_datasets = import_module(_PACKAGE)
    except ImportError as error:
        raise NotFound(
            f"there is no folder {name!r}, and names of ir_datasets need its package; check the path, or install it "
            "with: pip install ir-datasets"
        ) from error
    try:
        dataset = ir_datasets.load(name)
    except KeyError as error:
        raise NotFound(
            f"{name!r} is neither a folder nor a name of ir_datasets; check it (ir-datasets.com lists the names)"
        ) from error
    missing = [what for what in ("docs", "queries", "qrels") if not getattr(dataset, f"has_{what}")()]
    if missing:
        raise BadInput(
            f"{name!r} of ir_datasets has no {' and no '.join(missing)}; name a part that has, such as {name}/test"
        )
    return dataset


def _write(dataset: Any, name: str, folder: Path, progress: Progress) -> None:
    """Writes a data set in BEIR's layout, with the languages that ir_datasets gives."""
    n_documents = dataset.docs_count()
    if n_documents is not None and n_documents > MAX_DOCUMENTS:
        raise BadInput(
            f"{name!r} has {n_documents:,} documents, and at most {MAX_DOCUMENTS:,} are taken from ir_datasets; export "
            "it to a folder in BEIR's layout and give that"
        )
    try:
        with (folder / CORPUS).open("w", encoding="utf-8") as file:
            language = dataset.docs_lang()
            for done, document in enumerate(dataset.docs_iter()):
                if done % _ROWS_A_REPORT == 0:
                    progress(done, n_documents, "reading the collection")
                file.write(_line(_id=document.doc_id, language=language, **_title_and_text(document)))
        with (folder / QUERIES).open("w", encoding="utf-8") as file:
            language = dataset.queries_lang()
            for query in dataset.queries_iter():
                file.write(_line(_id=query.query_id, language=language, text=query.default_text()))
        (folder / QRELS).parent.mkdir()
        with (folder / QRELS).open("w", encoding="utf-8") as file:
            for judgment in dataset.qrels_iter():
                file.write(f"{judgment.query_id}\t{judgment.doc_id}\t{judgment.relevance}\n")
    except (OSError, ValueError, RuntimeError) as error:
        raise NotFound(f"ir_datasets cannot read {name!r}: {error}") from error


def _title_and_text(document: Any) -> dict[str, str]:
    """Returns a document's title and text, or all its text if it has no such fields."""
    title = getattr(document, "title", None)
    text = getattr(document, "text", None)
    if isinstance(title, str) and isinstance(text, str):
        return {"title": title, "text": text}
    return {"title": "", "text": document.default_text()}


def _line(**fields: str | None) -> str:
    """Makes a line of JSON without `None` values."""
    given: Mapping[str, str] = {name: value for name, value in fields.items() if value is not None}
    return f"{json.dumps(given)}\n"
