"""What the commands that make embedding stores have in common: options, the dictionaries they name, what they show."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ingest.embeddings.dictionaries import Dictionary
    from ingest.embeddings.summary import Summary
    from ingest.progress import Progress

Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="DIR", help="Embedding store to make (default: HOME/embeddings)."),
]
Replace = Annotated[bool, typer.Option("--replace", help="Put it in the place of a store that is there.")]
Precision = Annotated[
    str, typer.Option("--precision", help="float32, float16 (half the size) or int8 (a quarter of it).")
]
Dictionaries = Annotated[
    list[str] | None,
    typer.Option(
        "--dictionary",
        metavar="PAIR[=FILE]",
        help="en-fr=FILE: a dictd index, its folder, or TSV; en-fr alone: FreeDict's, fetched once. May be repeated.",
    ),
]


def open_dictionaries(names: Sequence[str], home: Path, progress: Progress) -> list[Dictionary]:
    """The dictionaries of `--dictionary`; FreeDict's are fetched to the home's folder unless they are there.

    Raises:
        BadInput: a name is not of the form `en-fr` or `en-fr=FILE`, or FreeDict has no such dictionary.
        CorpusUnavailable: it cannot be fetched.
    """
    from evaluation.corpora import freedict
    from evaluation.tasks import Direction
    from ingest.embeddings.dictionaries import Dictionary
    from reranker.errors import BadInput

    found = []
    for name in names:
        pair, separator, file = name.partition("=")
        direction = Direction.parse(pair)
        if separator:
            path = Path(file)
        elif direction in freedict.LICENCES:
            path = freedict.fetch(home / "corpora" / "freedict", direction, progress)
        else:
            raise BadInput(
                f"FreeDict has no dictionary {pair} that is fetched here, only "
                f"{', '.join(map(str, freedict.LICENCES))}; give one of your own: --dictionary {pair}=FILE"
            )
        found.append(Dictionary(path, direction.query_language, direction.document_language))
    return found


def show_summary(summary: Summary, as_json: bool) -> None:
    """What was made and what was left out; what the user should know of it on standard error."""
    from dataclasses import asdict

    from sinkrank import output

    for warning in summary.warnings:
        typer.echo(f"sinkrank: {warning}", err=True)
    if as_json:
        output.print_json(asdict(summary) | {"output": str(summary.output), "seconds": round(summary.seconds, 3)})
        return
    console = output.results()
    languages = ", ".join(f"{language} {n:,}" for language, n in summary.languages.items())
    console.print(
        f"{summary.output}: {sum(summary.languages.values()):,} terms of {summary.dim} dimensions ({languages}), "
        f"version {summary.version}, in {summary.seconds:.1f} s",
        markup=False,
        soft_wrap=True,
    )
    for reason, n in summary.skipped.items():
        console.print(f"left out: {n:,} {reason}", markup=False, soft_wrap=True)
