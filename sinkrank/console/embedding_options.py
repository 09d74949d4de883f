"""The common part of the commands that make embedding stores: options and the summary."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from sinkrank.console import output

if TYPE_CHECKING:
    from ingest.embeddings.summary import EmbeddingsSummary

MaxTerms = Annotated[
    int | None,
    typer.Option("--max-terms", min=1, help="Number of most frequent words to keep per language; default: all."),
]
Replace = Annotated[bool, typer.Option("--replace", help="Replace an existing store.")]
GroupField = Annotated[
    str | None,
    typer.Option(
        "--group-field",
        metavar="NAME",
        help="Field with the same value in all translations of a document; may be id; default: group, if it exists.",
    ),
]


def show_summary(summary: EmbeddingsSummary, as_json: bool) -> None:
    """Prints the summary of a new store, and warnings on standard error."""
    for warning in summary.warnings:
        output.talk().print(f"sinkrank: {warning}")
    if as_json:
        output.print_json(asdict(summary) | {"output": str(summary.output), "seconds": round(summary.seconds, 3)})
        return
    console = output.results()
    languages = ", ".join(f"{language} {n:,}" for language, n in summary.languages.items())
    console.print(
        f"{summary.output}: {sum(summary.languages.values()):,} terms of {summary.dim} dimensions ({languages}), "
        f"version {summary.version}, in {summary.seconds:.1f} s",
        soft_wrap=True,
    )
    for reason, n in summary.skipped.items():
        console.print(f"skipped ({n:,}): {reason}", soft_wrap=True)
