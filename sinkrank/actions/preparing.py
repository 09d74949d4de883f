"""Reads the documents of `sinkrank embeddings prepare`, and prints the output of the command."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from ingest.documents import Layout, Record, read_records
from ingest.embeddings.preparing.plan import PreparationPlan
from ingest.embeddings.preparing.run import PreparationReport
from ingest.embeddings.preparing.texts import DocumentFile, read_texts
from ingest.from_index import IndexSource
from ingest.progress import Progress
from reranker.base.errors import WrongParameter
from reranker.base.temporary import temporary_folder
from reranker.service.engine import engine_access, engine_address
from reranker.service.settings import Settings
from reranker.stores.base.names import check_index_name
from reranker.stores.engine.fields import text_fields
from reranker.stores.engine.store import EngineStore
from sinkrank.console import output, resources
from sinkrank.console.document_sources import layout_of_copy, opened_copy, opened_records

_MAX_LANGUAGES = 5


@contextmanager
def work_folder(settings: Settings) -> Iterator[Path]:
    """A folder beside the embeddings to make, for the documents and the parts; removed at the end."""
    store = settings.embeddings_path.resolve()
    store.parent.mkdir(parents=True, exist_ok=True)
    with temporary_folder(f".{store.name}.preparing-", store.parent) as folder:
        yield folder


def read_documents(
    files: Sequence[str],
    index: str | None,
    layout: Layout,
    group_field: str | None,
    settings: Settings,
    folder: Path,
    progress: Progress,
) -> DocumentFile:
    """Reads the documents into a folder.

    Args:
        index: index on the command line; None for the index of the settings if there are no files.

    Raises:
        WrongParameter: files and an index are given, or neither.
        BadInput, NotFound, StoreUnavailable: the documents cannot be read, or the store is a folder.
    """
    if files and index is not None:
        raise WrongParameter("give either files or --index, not both")
    if files:
        opened = opened_records(files, layout, settings, progress)
    else:
        opened = _records_of(_index_source(layout, settings), settings, progress)
    with opened as records:
        return read_texts(records, layout, folder, group_field, progress)


def _index_source(layout: Layout, settings: Settings) -> IndexSource:
    where = engine_address(settings)
    if where is None or settings.index is None:
        raise WrongParameter(
            "give the documents: files (sinkrank embeddings prepare articles.jsonl), or an index of OpenSearch or "
            "Elasticsearch (--store opensearch://localhost:9200 --index articles)"
        )
    index = check_index_name(settings.index)
    if layout.text_field is None:
        layout = replace(layout, text_field=_text_fields(layout, index, settings))
    return IndexSource(where, index, layout)


def _text_fields(layout: Layout, index: str, settings: Settings) -> str | None:
    """All text fields of an index except the title; None if the index has a field with a usual name."""
    with resources.opened_store(settings) as store:
        mappings = store.mappings(index) if isinstance(store, EngineStore) else []
    names = list(dict.fromkeys(name for each in mappings for name in text_fields(each)))
    if set(layout.text_fields) & set(names) or any("sinkrank" in each.get("_meta", {}) for each in mappings):
        return None
    titles = [name for name in layout.title_fields if name in names][:1]
    return ",".join(name for name in names if name not in titles) or None


@contextmanager
def _records_of(source: IndexSource, settings: Settings, progress: Progress) -> Iterator[Iterator[Record]]:
    access = engine_access(settings)
    with opened_copy(source, settings.home / "collections", settings, progress, access) as copy:
        yield read_records([copy], layout_of_copy(source.layout))


def described(texts: DocumentFile, plan: PreparationPlan) -> dict[str, Any]:
    """The plan for JSON."""
    return {
        "documents": texts.n_documents,
        "languages": texts.languages,
        "not_used": texts.used.not_used,
        "needs_words": texts.used.needs_words,
        "words": {code: len(counter) for code, counter in texts.collection.document_frequencies.items()},
        "aligned_groups": texts.n_aligned,
        "unusable": str(texts.unusable) if texts.unusable.n else None,
        "parts": [{"part": part.name, "what": part.description} for part in plan.steps()],
        "left_out": plan.left_out,
    }


def show_plan(plan: dict[str, Any], console: Console) -> None:
    languages = ", ".join(f"{code} {n:,}" for code, n in plan["languages"].items())
    n_words = sum(plan["words"].values())
    lines = [f"{plan['documents']:,} documents ({languages}), {n_words:,} words"]
    lines += filter(None, [_not_used(plan["not_used"], plan["needs_words"]), plan["unusable"]])
    lines += [f"  {part['part']}: {part['what']}" for part in plan["parts"]]
    lines += [f"  without {name}: {reason}" for name, reason in plan["left_out"].items()]
    for line in lines:
        console.print(line, soft_wrap=True)


def _not_used(languages: Mapping[str, int], needs_words: Sequence[str]) -> str | None:
    if not languages:
        return None
    n = sum(languages.values())
    displayed = [f"{code} {count:,}" for code, count in list(languages.items())[:_MAX_LANGUAGES]]
    rest = ", …" if len(languages) > len(displayed) else ""
    cure = f"; for {', '.join(needs_words)} run: pip install 'sinkrank[words]'" if needs_words else ""
    return (
        f"{n:,} {'document' if n == 1 else 'documents'} in {len(languages)} other "
        f"{'language' if len(languages) == 1 else 'languages'} ({', '.join(displayed)}{rest}): not used{cure}"
    )


def as_json(report: dict[str, Any], texts: DocumentFile) -> dict[str, Any]:
    summary = report["summary"]
    summary |= {"output": str(summary["output"]), "seconds": round(summary["seconds"], 1)}
    return report | {"summary": summary, "not_used": texts.used.not_used, "needs_words": texts.used.needs_words}


def show_report(report: PreparationReport, texts: DocumentFile) -> None:
    lines = [f"{part.name}: {part.n_words:,} words, in {_time(part.seconds)}" for part in report.made]
    lines += report.notes
    lines += filter(None, [_not_used(texts.used.not_used, texts.used.needs_words)])
    lines += [f"without {name}: {reason}" for name, reason in report.left_out.items()]
    summary = report.summary
    languages = ", ".join(f"{code} {n:,}" for code, n in summary.languages.items())
    lines += [
        f"words of the documents without an embedding: {report.unknown_share:.1%}",
        f"{summary.output}: {sum(summary.languages.values()):,} words of {summary.dim} dimensions ({languages}), in "
        f"{_time(summary.seconds)}",
    ]
    for line in lines:
        output.results().print(line, soft_wrap=True)


def next_step(files: Sequence[str], languages: Collection[str], settings: Settings) -> str:
    """The command to run next.

    Args:
        languages: languages of the documents.
    """
    home = [] if settings.home == type(settings).model_fields["home"].default else ["--home", str(settings.home)]
    if not files:
        engine = engine_address(settings)
        assert engine is not None  # noqa: S101 - its index was read
        return f"next: {shlex.join(['sinkrank', 'serve', *home, '--store', engine.redacted])}"
    lang = next(iter(languages)) if len(languages) == 1 else "auto"
    return f"next: {shlex.join(['sinkrank', 'ingest', *files, *home, '--lang', lang, '--index', 'NAME'])}"


def _time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
