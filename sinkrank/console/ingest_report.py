"""Reports what a run of ingest has done, and why it failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sinkrank.console import output

if TYPE_CHECKING:
    from ingest.summary import IngestSummary


def report(summary: IngestSummary, store: str) -> str:
    """The result of a run, in a few lines.

    Args:
        store: address of the store.
    """
    languages = ", ".join(f"{language} {n:,}" for language, n in summary.languages.items())
    where = "would be" if summary.is_dry_run else "are"
    lines = [
        f"{summary.indexed:,} of {summary.read:,} documents {where} in index {summary.index!r}"
        + (f" ({languages})" if languages else ""),
        f"{summary.seconds:.1f} s, {summary.documents_per_second:,.0f} documents a second"
        + (f"; {summary.already_there:,} were there already" if summary.already_there else ""),
    ]
    if summary.languages.get("und"):
        lines.append(f"{summary.languages['und']:,} have no detected language: only BM25 finds them")
    if summary.without_known_words:
        lines.append(f"{summary.without_known_words:,} of them have no word with an embedding: only BM25 finds them")
    if not summary.read:
        lines.append("no document came: is the input empty?")
    if summary.rejected:
        lines.append(f"{summary.rejected:,} rejected, with their reasons in {summary.rejects}")
        lines.append(f"the first of them: {summary.first_reject}")
    if summary.previous_version:
        from reranker.stores.base.cures import store_command

        back = store_command(store, "ingest", "rollback", "--index", summary.index)
        lines.append(f"{summary.version} replaces {summary.previous_version}; {back} goes back")
    return "\n".join(lines)


def explain_failure(summary: IngestSummary) -> None:
    """Prints on standard error why a run ended early, and how to resume it."""
    if summary.failure is None:
        return
    output.talk().print(
        f"sinkrank: {summary.failure}\n"
        f"sinkrank: {summary.indexed:,} documents were confirmed, {summary.unconfirmed:,} were on their way. "
        "Give the same command again: it writes what is missing, and no document is added twice."
    )
