"""The working folder of `sinkrank embeddings prepare` in the home, and the output of the command."""

from __future__ import annotations

import fcntl
import json
import shlex
import shutil
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reranker.base.errors import BadInput, WrongParameter
from sinkrank.console.document_sources import layout_of_copy, opened_records
from sinkrank.console.resources import without_credentials

if TYPE_CHECKING:
    from rich.console import Console

    from ingest.documents import Layout, Record
    from ingest.embeddings.preparing.plan import Plan
    from ingest.embeddings.preparing.run import Report
    from ingest.embeddings.preparing.texts import Texts
    from ingest.from_index import IndexSource
    from ingest.progress import Progress
    from reranker.service.settings import Settings

# An index may change unnoticed, so it is read again after a day.
_MAX_AGE_S = 86_400
_SHOWN_LANGUAGES = 5


@dataclass(frozen=True, slots=True)
class Work:
    """The folder of a run, named by its input."""

    folder: Path
    files: Sequence[str]
    index: IndexSource | None
    layout: Layout
    group_field: str | None
    settings: Settings

    def texts(self, progress: Progress) -> Texts:
        """The documents, which are read unless an earlier run has read them.

        Raises:
            BadInput, NotFound, StoreUnavailable: they cannot be read.
        """
        from ingest.embeddings.preparing.texts import open_texts, read_texts

        try:
            texts = open_texts(self.folder, self.group_field)
            if self.index is None or time.time() - texts.path.stat().st_mtime < _MAX_AGE_S:
                return texts
        except (OSError, ValueError, KeyError):
            pass
        self.remove()
        with ExitStack() as opened:
            if self.index is None:
                records = opened.enter_context(opened_records(self.files, self.layout, self.settings, progress))
            else:
                records = opened.enter_context(_records_of(self.index, self.settings, progress))
            return read_texts(records, self.layout, self.folder, self.group_field, progress)

    def remove(self, *, keep_texts: bool = False) -> None:
        """Deletes the parts, and the documents' texts unless the run is to go on."""
        for path in self.folder.iterdir():
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            elif path.name != _LOCK and not keep_texts:
                path.unlink(missing_ok=True)


_LOCK = "lock"


@contextmanager
def work_folder(
    files: Sequence[str], index: str | None, layout: Layout, group_field: str | None, settings: Settings
) -> Iterator[Work]:
    """Opens the folder for these documents in the home. Finished parts in it are used again.

    Args:
        index: index on the command line; None for the index of the settings if there are no files.

    Raises:
        WrongParameter: files and an index are given, or neither.
        BadInput: another process prepares the same documents, or the store is a folder.
    """
    from ingest.files import STDIN, open_sources

    if files and index is not None:
        raise WrongParameter("give either files or --index, not both")
    source = None
    if files:
        if STDIN in files:
            raise WrongParameter("standard input cannot be read again to resume a run; give a file")
        with open_sources([name for name in files if "://" not in name] or []) as sources:
            identity: list[Any] = [*(one.identity() for one in sources), *(name for name in files if "://" in name)]
    else:
        source = _index_source(layout, settings)
        identity = [source.key]
    described = json.dumps([identity, asdict(layout), group_field], sort_keys=True, default=str)
    folder = settings.home / "prepare" / blake2b(described.encode(), digest_size=8).hexdigest()
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / _LOCK).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise BadInput("another process prepares embeddings for these documents; wait for it") from error
        yield Work(folder, files, source, layout, group_field, settings)
        if not any(path.name != _LOCK for path in folder.iterdir()):
            shutil.rmtree(folder, ignore_errors=True)


def _index_source(layout: Layout, settings: Settings) -> IndexSource:
    from ingest.from_index import IndexSource
    from reranker.service.engine import engine_address
    from reranker.stores.base.names import check_index_name

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
    from reranker.stores.engine.fields import text_fields
    from reranker.stores.engine.store import EngineStore
    from sinkrank.console.resources import opened_store

    with opened_store(settings) as store:
        mappings = store.mappings(index) if isinstance(store, EngineStore) else []
    names = list(dict.fromkeys(name for each in mappings for name in text_fields(each)))
    if set(layout.text_fields) & set(names) or any("sinkrank" in each.get("_meta", {}) for each in mappings):
        return None
    titles = [name for name in layout.title_fields if name in names][:1]
    return ",".join(name for name in names if name not in titles) or None


@contextmanager
def _records_of(source: IndexSource, settings: Settings, progress: Progress) -> Iterator[Iterator[Record]]:
    from ingest.documents import read_records
    from ingest.from_index import forget, opened_index
    from reranker.service.engine import engine_access

    with opened_index(
        source,
        settings.home / "collections",
        access=engine_access(settings),
        timeout_s=settings.store_timeout_s,
        progress=progress,
    ) as copy:
        yield read_records([copy], layout_of_copy(source.layout))
        forget(copy)


def described(texts: Texts, plan: Plan) -> dict[str, Any]:
    """The plan for JSON."""
    return {
        "documents": texts.n_documents,
        "languages": texts.languages,
        "not_used": texts.used.not_used,
        "needs_words": texts.used.needs_words,
        "words": {code: len(counter) for code, counter in texts.collection.document_frequencies.items()},
        "aligned_groups": texts.n_aligned,
        "unusable": str(texts.unusable) if texts.unusable.n else None,
        "parts": [
            {
                "part": part.name,
                "what": part.description,
                "seconds": round(one.seconds),
                "download_mb": round(one.download_bytes / 1e6),
            }
            for part, one in plan.steps()
        ],
        "left_out": plan.left_out,
        "seconds": round(plan.seconds),
        "download_mb": round(plan.download_bytes / 1e6),
        "output_mb": round(plan.output_bytes / 1e6),
    }


def show_plan(plan: dict[str, Any], console: Console) -> None:
    languages = ", ".join(f"{code} {n:,}" for code, n in plan["languages"].items())
    n_words = sum(plan["words"].values())
    lines = [f"{plan['documents']:,} documents ({languages}), {n_words:,} words"]
    lines += filter(None, [_not_used(plan["not_used"], plan["needs_words"]), plan["unusable"]])
    named: set[str] = set()
    for part in plan["parts"]:
        download = f", {part['download_mb']:,} MB to download" if part["download_mb"] else ""
        otherwise = "if that is not available: " if part["part"] in named else ""
        named.add(part["part"])
        lines.append(f"  {part['part']}: {otherwise}{part['what']} (about {_time(part['seconds'])}{download})")
    lines += [f"  without {name}: {reason}" for name, reason in plan["left_out"].items()]
    download = f", {plan['download_mb']:,} MB to download" if plan["download_mb"] else ""
    lines.append(f"about {_time(plan['seconds'])}{download}; the embeddings take some {plan['output_mb']:,} MB")
    for line in lines:
        console.print(line, markup=False, soft_wrap=True)


def _not_used(languages: Mapping[str, int], needs_words: Sequence[str]) -> str | None:
    if not languages:
        return None
    n = sum(languages.values())
    shown = [f"{code} {count:,}" for code, count in list(languages.items())[:_SHOWN_LANGUAGES]]
    rest = ", …" if len(languages) > len(shown) else ""
    cure = f"; for {', '.join(needs_words)} run: pip install 'sinkrank[words]'" if needs_words else ""
    return (
        f"{n:,} {'document' if n == 1 else 'documents'} in {len(languages)} other "
        f"{'language' if len(languages) == 1 else 'languages'} ({', '.join(shown)}{rest}): not used{cure}"
    )


def as_json(report: dict[str, Any], texts: Texts) -> dict[str, Any]:
    summary = report["summary"]
    summary |= {"output": str(summary["output"]), "seconds": round(summary["seconds"], 1)}
    return report | {"summary": summary, "not_used": texts.used.not_used, "needs_words": texts.used.needs_words}


def show_report(report: Report, texts: Texts) -> None:
    from rich import box
    from rich.table import Table

    from sinkrank.console import output

    console = output.results()
    asked = "translations" if report.across else "titles" if report.has_titles else "first words"
    table = Table(
        "part", "words", f"MRR, {report.n_questions} {asked}", "unknown words", "", box=box.SIMPLE_HEAD, pad_edge=False
    )
    rows = [(one.name, one.n_words, one.figures) for one in report.made]
    if len(report.made) > 1 or report.joined != report.made[0].figures:
        rows.append((_JOINED, sum(report.summary.languages.values()), report.joined))
    for name, n_words, figures in rows:
        shown = "" if figures.mrr is None else f"{figures.mrr:.3f}"
        table.add_row(name, f"{n_words:,}", shown, f"{figures.unknown_share:.1%}", _remark(name, report))
    console.print(table)
    for note in report.notes:
        console.print(note, markup=False, soft_wrap=True)
    not_used = _not_used(texts.used.not_used, texts.used.needs_words)
    if not_used is not None:
        console.print(not_used, markup=False, soft_wrap=True)
    for name, reason in report.left_out.items():
        console.print(f"without {name}: {reason}", markup=False, soft_wrap=True)
    for word, near in report.nearest.items():
        console.print(f"nearest to {word}: {', '.join(near)}", markup=False, soft_wrap=True)
    summary = report.summary
    languages = ", ".join(f"{code} {n:,}" for code, n in summary.languages.items())
    console.print(
        f"{summary.output}: {sum(summary.languages.values()):,} words of {summary.dim} dimensions ({languages}), in "
        f"{_time(summary.seconds)}",
        markup=False,
        soft_wrap=True,
    )


_JOINED, _TRAINING = "joined", "training"


def _remark(name: str, report: Report) -> str:
    """What to know of a row's figure: why that of the whole may be below one of its parts."""
    if name == _TRAINING:
        return "has seen these documents: too high for other queries"
    mrr = report.joined.mrr
    if name != _JOINED or mrr is None:
        return ""
    better = [one.name for one in report.made if one.figures.mrr is not None and one.figures.mrr > mrr]
    reasons = []
    if _TRAINING in better:
        reasons.append("training, which has seen these documents")
    if others := [each for each in better if each != _TRAINING]:
        reasons.append(f"{', '.join(others)} on these few texts; compare them by sinkrank evaluate")
    return f"below {', and below '.join(reasons)}" if reasons else ""


def next_step(files: Sequence[str], languages: Collection[str], settings: Settings) -> str:
    """The command to run next.

    Args:
        languages: languages of the documents.
    """
    home = "" if settings.home == type(settings).model_fields["home"].default else f" --home {settings.home}"
    if not files:
        return f"next: sinkrank serve{home} --store {without_credentials(settings.store_address)}"
    lang = next(iter(languages)) if len(languages) == 1 else "auto"
    return f"next: sinkrank ingest {shlex.join(files)}{home} --lang {lang} --index NAME"


def _time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
