"""`sinkrank ingest`: documents into an index, and what is to be done with an index afterwards."""

from __future__ import annotations

import glob
import json
import signal
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from sinkrank.console import options

if TYPE_CHECKING:
    from ingest.pipeline import Engine
    from ingest.summary import Summary

DEFAULT_INDEX = "documents"

_FIELDS = "Fields"
_FROM_INDEX = "From an index"
_DEFAULT_COMMAND = "files"


class _Group(TyperGroup):
    """`sinkrank ingest pages.jsonl` is `sinkrank ingest files pages.jsonl`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args or args[0] not in self.commands:
            args = [_DEFAULT_COMMAND, *args]
        return super().parse_args(ctx, args)


app = typer.Typer(cls=_Group, help="Bring documents into an index, and look after it.")


@app.command(_DEFAULT_COMMAND)
def ingest_files(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE",
            help="JSONL, CSV, TSV, Parquet, TREC, HTML, Markdown or text; plain, .gz, .zst or .bz2; a folder of pages, "
            "a pattern, or - for standard input.",
            show_default=False,
        ),
    ] = None,
    from_index: Annotated[
        str | None,
        typer.Option(
            "--from-index",
            metavar="URL/INDEX",
            rich_help_panel=_FROM_INDEX,
            help="Read the documents of this index of OpenSearch or Elasticsearch in place of files.",
        ),
    ] = None,
    query: Annotated[
        str | None,
        typer.Option("--query", metavar="JSON", rich_help_panel=_FROM_INDEX, help="Which of its documents (all)."),
    ] = None,
    lang: Annotated[
        str | None,
        typer.Option("--lang", metavar="CODE", help="Language of the documents that name none; auto detects it."),
    ] = None,
    min_confidence: Annotated[
        float, typer.Option("--min-confidence", help="A language detected with less is und, not determined.")
    ] = 0.5,
    rebuild: Annotated[
        bool,
        typer.Option(
            "--rebuild",
            help="Write a new version of the index, which takes the old one's place when it is whole.",
        ),
    ] = False,
    rejects: Annotated[
        Path | None,
        typer.Option("--rejects", metavar="FILE", help="Where rejected rows go (default: <first FILE>.rejects.jsonl)."),
    ] = None,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Read this many rows only.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Read and check everything; write nothing but the reject file.")
    ] = False,
    workers: Annotated[
        int | None, typer.Option("--workers", min=1, help="Processes that encode (default: one a core).")
    ] = None,
    engine: Annotated[
        str, typer.Option("--engine", help="What encodes: processes of this machine, or ray, a Ray cluster.")
    ] = "processes",
    ray_address: Annotated[
        str | None,
        typer.Option("--ray-address", metavar="ADDRESS", help="The cluster, such as auto (default: one started here)."),
    ] = None,
    pipeline: Annotated[
        str | None,
        typer.Option("--pipeline", metavar="NAME", help="Ingest pipeline of the engine (default: the index's own)."),
    ] = None,
    file_format: Annotated[
        str | None,
        typer.Option(
            "--format", help="jsonl, csv, tsv, parquet, trec, html, markdown or text, where the name does not say it."
        ),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option("--columns", metavar="NAMES", help="Names of the columns of CSV without a header: doc_id,text."),
    ] = None,
    types: Annotated[
        str | None,
        typer.Option(
            "--types",
            metavar="TYPES",
            help="Types of CSV metadata: int, float, bool or list, as in year=int,tags=list.",
        ),
    ] = None,
    id_field: Annotated[
        str | None, typer.Option(rich_help_panel=_FIELDS, help="Field of the id (default: id, doc_id, _id, docno).")
    ] = None,
    language_field: Annotated[
        str | None,
        typer.Option(rich_help_panel=_FIELDS, help="Field of its language (default: language, lang)."),
    ] = None,
    title_field: Annotated[
        str | None, typer.Option(rich_help_panel=_FIELDS, help="Field of its title (default: title, headline).")
    ] = None,
    text_field: Annotated[
        str | None,
        typer.Option(rich_help_panel=_FIELDS, help="Field of its text (default: text, body, contents, content)."),
    ] = None,
    url_field: Annotated[str, typer.Option(rich_help_panel=_FIELDS, help="Field of its address.")] = "url",
    json_: options.Json = False,
    home: options.Home = None,
    embeddings: options.EmbeddingsPath = None,
    store: options.StoreAddress = None,
    index: options.IndexName = None,
    config: options.Config = None,
) -> None:
    """Index the documents of files.

    A row has the fields id, language, title, text, url; all others are metadata to filter by. Without an id it gets
    one from its contents, so running a command again changes nothing. The index is made where it is missing (default:
    documents). A run that was stopped, however it was, goes on where it was when the same command is given again. Rows
    that cannot be indexed are written, with the reason, to the reject file, which can be mended and given as a FILE;
    the exit code is 0 only when every row is in the index.

    Example: [bold]sinkrank ingest pages.jsonl 'more/*.csv.gz' --lang fr --index pages[/bold]

    Into a cluster: [bold]zcat dump.jsonl.gz | sinkrank ingest - --store https://search:9200 --index pages[/bold]

    Copy an index: [bold]sinkrank ingest --from-index http://old:9200/articles --text-field title,body
    --query '{"term": {"lang": "fr"}}' --store http://new:9200 --index pages[/bold]

    Also: [bold]sinkrank ingest refresh | rollback | versions | template | delete --help[/bold]
    """
    from ingest.documents import Layout
    from ingest.files import open_sources
    from ingest.from_index import forget, opened_index, read_index_source
    from ingest.pipeline import Options
    from ingest.pipeline import ingest as run
    from reranker.stores import EngineAccess
    from sinkrank.console import output, resources
    from sinkrank.console.document_sources import say_left_out

    if bool(files) == bool(from_index):
        raise typer.BadParameter("name at least one file (- for standard input), or --from-index", param_hint="FILE...")
    flags = {"home": home, "embeddings": embeddings, "store": store, "index": index, "store_pipeline": pipeline}
    settings = options.load(config, **flags).settings
    layout = Layout(
        id_field,
        language_field,
        title_field,
        text_field,
        url_field,
        lang,
        min_confidence,
        _pairs(types.split(",") if types else (), "--types", "FIELD=TYPE, parted by commas"),
    )
    for name in files or ():
        _check_is_there(name)
    loaded = resources.open_embeddings(settings, files or ())
    checkpoints = settings.home / "ingest"
    options_ = Options(
        layout,
        rebuild,
        rejects,
        checkpoints,
        limit,
        dry_run,
        workers,
        _engine(engine, ray_address),
        ray_address,
        settings.store_pipeline,
    )
    with ExitStack() as opened, _ended_cleanly(), output.progress_bars() as progress:
        if from_index is None:
            sources = opened.enter_context(
                open_sources(files or (), file_format, columns.split(",") if columns else None)
            )
            say_left_out(sources)
        else:
            wanted = read_index_source(from_index, layout, query)
            copy = opened.enter_context(
                opened_index(
                    wanted,
                    checkpoints,
                    # The key and the certificate are for the store, and for nobody else.
                    access=EngineAccess(ca_certs=settings.store_ca_certs, verify_certs=settings.store_verify_certs),
                    timeout_s=settings.store_timeout_s,
                    progress=progress,
                )
            )
            sources = [copy]
            # The rows of the copy have our own names.
            options_ = replace(options_, layout=Layout(default_language=lang, min_confidence=min_confidence))
        to = opened.enter_context(resources.opened_store(settings))
        summary = run(sources, to, settings.index or DEFAULT_INDEX, loaded, options_, progress=progress)
        if from_index is not None and summary.failure is None:
            forget(copy)
    if json_:
        left_out = {source.name: dict(source.left_out) for source in sources if source.left_out}
        output.print_json(summary.as_dict() | ({"left_out": left_out} if left_out else {}))
    else:
        output.results().print(_report(summary), markup=False)
    _explain_failure(summary)
    if not summary.is_whole:
        raise typer.Exit(1)


@app.command()
def versions(
    json_: options.Json = False,
    home: options.Home = None,
    store: options.StoreAddress = None,
    index: options.IndexName = None,
    config: options.Config = None,
) -> None:
    """List the versions of an index: the one that serves, and those that rebuilds have left to go back to.

    Example: [bold]sinkrank ingest versions --index pages[/bold]
    """
    from reranker.base.errors import NotFound
    from sinkrank.console import output, resources

    settings = options.load(config, home=home, store=store, index=index).settings
    name = settings.index or DEFAULT_INDEX
    with resources.opened_store(settings) as opened:
        found = opened.versions(name)
        if not found:
            opened.describe(name)  # says what is wrong where there is no such index
            raise NotFound(f"index {name!r} has no versions; `sinkrank ingest FILE --rebuild` makes the first")
        counts = {version.name: opened.count(version.name) for version in found}
    if json_:
        rows = [{"name": one.name, "is_serving": one.is_serving, "documents": counts[one.name]} for one in found]
        output.print_json({"index": name, "versions": rows})
        return
    for version in found:
        serving = "  serving" if version.is_serving else ""
        documents = output.counted(counts[version.name], "document")
        output.results().print(f"{version.name}  {documents}{serving}", markup=False)


@app.command()
def rollback(
    to: Annotated[
        str | None, typer.Option("--to", metavar="VERSION", help="The version to serve (default: the one before).")
    ] = None,
    json_: options.Json = False,
    home: options.Home = None,
    store: options.StoreAddress = None,
    index: options.IndexName = None,
    config: options.Config = None,
) -> None:
    """Put the version before a rebuild back in its place; nothing is deleted, and --to goes forward again.

    Example: [bold]sinkrank ingest rollback --index pages[/bold]
    """
    from ingest.versions import roll_back
    from sinkrank.console import output, resources

    settings = options.load(config, home=home, store=store, index=index).settings
    name = settings.index or DEFAULT_INDEX
    with resources.opened_store(settings) as opened:
        version = roll_back(opened, name, to)
    if json_:
        output.print_json({"index": name, "version": version})
    else:
        output.results().print(f"index {name!r} now is {version}", markup=False)


@app.command()
def refresh(
    json_: options.Json = False,
    home: options.Home = None,
    embeddings: options.EmbeddingsPath = None,
    store: options.StoreAddress = None,
    index: options.IndexName = None,
    config: options.Config = None,
) -> None:
    """Count an index's document frequencies anew, and weigh its documents with them, in place.

    To be run after an index has grown, or lost documents. Searches go on meanwhile; a refresh that was stopped goes on
    where it was.

    Example: [bold]sinkrank ingest refresh --index pages[/bold]
    """
    from ingest.refresh import refresh as run
    from sinkrank.console import output, resources

    settings = options.load(config, home=home, embeddings=embeddings, store=store, index=index).settings
    loaded = resources.open_embeddings(settings)
    with resources.opened_store(settings) as opened, output.progress_bars() as progress:
        done = run(opened, settings.index or DEFAULT_INDEX, loaded, progress)
    if json_:
        output.print_json(done.as_dict())
        return
    changed = ", ".join(done.changed_languages) or "no language"
    output.results().print(
        f"{output.counted(done.documents, 'document')} in index {done.index!r}; new figures for {changed}, "
        f"{output.counted(done.reweighed, 'document')} weighed anew",
        markup=False,
    )


@app.command()
def template(
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--setting", metavar="NAME=VALUE", help="Index setting: number_of_shards=12, lifecycle.name=pages."
        ),
    ] = None,
    show: Annotated[bool, typer.Option("--show", help="Print the template; install nothing.")] = False,
    remove: Annotated[bool, typer.Option("--remove", help="Take the template away.")] = False,
    json_: options.Json = False,
    home: options.Home = None,
    embeddings: options.EmbeddingsPath = None,
    store: options.StoreAddress = None,
    index: options.IndexName = None,
    config: options.Config = None,
) -> None:
    """Install an index template: every index of the name, or of the name and a hyphen, then has the mapping.

    For indices that a lifecycle policy or an operator makes (pages-000002), and for settings that those of ingest are
    to have, such as shards and copies.

    Example: [bold]sinkrank ingest template --index pages --setting number_of_shards=12 --store https://search:9200[/bold]
    """
    from reranker.base.errors import WrongParameter
    from reranker.stores.base.protocol import IndexDescription
    from reranker.stores.engine.store import EngineStore
    from sinkrank.console import output, resources

    settings = options.load(config, home=home, embeddings=embeddings, store=store, index=index).settings
    name = settings.index or DEFAULT_INDEX
    given = _pairs(setting or (), "--setting", "NAME=VALUE")
    with resources.opened_store(settings) as opened:
        if not isinstance(opened, EngineStore):
            raise WrongParameter(f"{opened.address} is a folder, which has no templates; give an engine with --store")
        if remove:
            done = {"removed": opened.remove_template(name)}
        else:
            loaded = resources.open_embeddings(settings)
            description = IndexDescription(loaded.version, loaded.dim)
            if show:
                output.print_json(opened.template(name, description, given))
                return
            done = {"installed": opened.install_template(name, description, given)}
    if json_:
        output.print_json(done)
        return
    for what, template_name in done.items():
        output.results().print(f"template {template_name!r} {what}", markup=False)


@app.command()
def delete(
    ids: Annotated[list[str] | None, typer.Argument(metavar="ID", help="Ids of documents.", show_default=False)] = None,
    ids_from: Annotated[
        Path | None, typer.Option("--ids", metavar="FILE", help="A file with an id in each line.")
    ] = None,
    json_: options.Json = False,
    home: options.Home = None,
    store: options.StoreAddress = None,
    index: options.IndexName = None,
    config: options.Config = None,
) -> None:
    """Delete documents by id. (Documents are replaced by ingesting others of the same ids.)

    The exit code is 1 where one of them was not there. Refresh the index when much of it is gone.

    Example: [bold]sinkrank ingest delete page-7 page-9 --index pages[/bold]
    """
    from sinkrank.console import output, resources

    settings = options.load(config, home=home, store=store, index=index).settings
    name = settings.index or DEFAULT_INDEX
    wanted = [*(ids or ()), *(_lines(ids_from) if ids_from else ())]
    if not wanted:
        raise typer.BadParameter("name at least one id, or a file of them with --ids", param_hint="ID...")
    with resources.opened_store(settings) as opened:
        results = list(opened.delete(name, wanted))
        opened.refresh(name)
    missing = [result.doc_id for result in results if result.error is not None]
    if json_:
        output.print_json({"index": name, "deleted": len(results) - len(missing), "missing": missing})
    else:
        deleted = output.counted(len(results) - len(missing), "document")
        output.results().print(f"{deleted} deleted from index {name!r}", markup=False)
        if missing:
            typer.echo(f"sinkrank: not there: {', '.join(missing[:20])}", err=True)
    if missing:
        raise typer.Exit(1)


@contextmanager
def _ended_cleanly() -> Iterator[None]:
    """Within it SIGTERM and SIGHUP end the run as Ctrl-C does, so that none of its temporary files stay behind.

    A signal that is ignored, as nohup has it, stays so.
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


def _lines(path: Path) -> list[str]:
    """The file's lines but for blank ones.

    Raises:
        BadInput: it is not UTF-8.
        OSError: it cannot be read.
    """
    from reranker.base.errors import BadInput

    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(f"{path} is not UTF-8 ({error.reason} at byte {error.start}); save it as UTF-8") from error
    return [line for line in text.splitlines() if line.strip()]


def _check_is_there(name: str) -> None:
    """A file that was mistyped is told of before embeddings are asked for.

    Raises:
        NotFound: there is no such file.
    """
    from ingest.files import STDIN
    from reranker.base.errors import NotFound

    if name != STDIN and not Path(name).exists() and not glob.has_magic(name):
        raise NotFound(f"there is no file {name!r}; check the path")


def _engine(given: str, ray_address: str | None) -> Engine:
    if given == "ray":
        return "ray"
    if given != "processes" or ray_address is not None:
        raise typer.BadParameter("give processes, or ray, which alone takes --ray-address", param_hint="--engine")
    return "processes"


def _pairs(given: Iterable[str], option: str, form: str) -> dict[str, str]:
    """`a=x`, `b=y` as a dictionary."""
    pairs = [pair.partition("=") for pair in given]
    if any(not name or not value for name, _, value in pairs):
        raise typer.BadParameter(f"give {form}", param_hint=option)
    return {name.strip(): value.strip() for name, _, value in pairs}


def _report(summary: Summary) -> str:
    languages = ", ".join(f"{language} {n:,}" for language, n in summary.languages.items())
    where = "would be" if summary.is_dry_run else "are"
    lines = [
        f"{summary.indexed:,} of {summary.read:,} documents {where} in index {summary.index!r}"
        + (f" ({languages})" if languages else ""),
        f"{summary.seconds:.1f} s, {summary.documents_per_second:,.0f} documents a second"
        + (f", going on after row {summary.resumed_at:,}" if summary.resumed_at else ""),
    ]
    if summary.languages.get("und"):
        lines.append(f"{summary.languages['und']:,} are of no language that could be told: only BM25 finds them")
    if summary.without_known_words:
        lines.append(f"{summary.without_known_words:,} of them have no word with an embedding: only BM25 finds them")
    if not summary.read:
        lines.append("no document came: is the input empty?")
    if summary.rejected:
        lines.append(f"{summary.rejected:,} rejected, with their reasons in {summary.rejects}")
        lines.append(f"the first of them: {_first_reason(summary)}")
    if summary.previous_version:
        lines.append(
            f"{summary.version} is in place of {summary.previous_version}, which "
            f"`sinkrank ingest rollback --index {summary.index}` puts back"
        )
    return "\n".join(lines)


def _first_reason(summary: Summary) -> str:
    """File, line and reason of the first row of the reject file."""
    assert summary.rejects is not None  # noqa: S101 - there are rejects
    with summary.rejects.open(encoding="utf-8") as file:
        first = json.loads(file.readline())
    return f"{first['file']}, line {first['line']}: {first['reason']}"


def _explain_failure(summary: Summary) -> None:
    if summary.failure is None:
        return
    place = f"; the first not confirmed is {summary.first_unconfirmed}" if summary.first_unconfirmed else ""
    typer.echo(
        f"sinkrank: {summary.failure}\n"
        f"sinkrank: {summary.indexed:,} documents were confirmed, {summary.unconfirmed:,} were on their way{place}. "
        "Give the same command again: it goes on there, and nothing comes in twice.",
        err=True,
    )
