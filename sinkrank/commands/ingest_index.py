"""The commands of `sinkrank ingest` that look after an index: rollback, refresh, delete."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from reranker.service.settings import Settings
from sinkrank.console import options, output


@options.takes_settings(*options.STORE, index=options.IngestIndex)
def rollback(
    settings: Settings,
    to: Annotated[
        str | None, typer.Option("--to", metavar="VERSION", help="Version to serve; default: the previous one.")
    ] = None,
    json_: options.Json = False,
) -> None:
    """Serve the version from before a rebuild again. Nothing is deleted; --to can go forward again.

    Example: [bold]sinkrank ingest rollback --index pages[/bold]
    """
    from ingest.versions import roll_back
    from sinkrank.console import resources

    name = settings.index or options.DEFAULT_INDEX
    with resources.opened_store(settings) as opened:
        version = roll_back(opened, name, to)
    if json_:
        output.print_json({"index": name, "version": version})
    else:
        output.results().print(f"index {name!r} now is {version}")


@options.takes_settings(*options.SEARCHABLE, index=options.IngestIndex)
def refresh(settings: Settings, json_: options.Json = False) -> None:
    """Recount the document frequencies of an index and reweight its documents, in place.

    Run it after an index has grown or lost documents. Searches go on meanwhile. An interrupted refresh resumes where
    it stopped.

    Example: [bold]sinkrank ingest refresh --index pages[/bold]
    """
    from ingest.refresh import refresh as run
    from sinkrank.console import resources

    loaded = resources.open_embeddings(settings)
    with resources.opened_store(settings) as opened, output.progress_bars() as progress:
        done = run(opened, settings.index or options.DEFAULT_INDEX, loaded, progress)
    if json_:
        output.print_json(asdict(done))
        return
    changed = ", ".join(done.changed_languages) or "no language"
    output.results().print(
        f"{output.counted(done.documents, 'document')} in index {done.index!r}; document frequencies "
        f"recounted for {changed}, {output.counted(done.reweighed, 'document')} reweighted"
    )


@options.takes_settings(*options.STORE, index=options.IngestIndex)
def delete(
    settings: Settings,
    ids: Annotated[list[str], typer.Argument(metavar="ID", help="Document ids.", show_default=False)],
    json_: options.Json = False,
) -> None:
    """Delete documents by id. (To replace documents, ingest new ones with the same ids.)

    The exit code is 1 if one of them did not exist. Refresh the index after deleting many documents.

    Example: [bold]sinkrank ingest delete page-7 page-9 --index pages[/bold]
    """
    from sinkrank.console import resources

    try:
        "".join(ids).encode()
    except UnicodeEncodeError as error:
        raise typer.BadParameter("an id is not UTF-8; give ids as UTF-8", param_hint="ID") from error
    name = settings.index or options.DEFAULT_INDEX
    with resources.opened_store(settings) as opened:
        results = list(opened.delete(name, dict.fromkeys(ids)))
        opened.refresh(name)
    missing = [result.doc_id for result in results if result.error is not None]
    if json_:
        output.print_json({"index": name, "deleted": len(results) - len(missing), "missing": missing})
    else:
        deleted = output.counted(len(results) - len(missing), "document")
        output.results().print(f"{deleted} deleted from index {name!r}")
        if missing:
            output.talk().print(f"sinkrank: not there: {', '.join(missing[:20])}")
    if missing:
        raise typer.Exit(1)
