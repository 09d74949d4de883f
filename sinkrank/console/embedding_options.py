"""The common part of the commands that make embedding stores: options, dictionaries, and the summary."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sinkrank.console import options

if TYPE_CHECKING:
    from ingest.embeddings.dictionaries import Dictionary
    from ingest.embeddings.summary import EmbeddingsSummary
    from ingest.progress import Progress

# The settings of the commands that make an embedding store.
MAKES_STORE = (
    options.SettingOption(
        "embeddings", ("--output", "-o"), help="Embedding store to make; default: HOME/embeddings.", panel=None
    ),
    "home",
)
MaxTerms = Annotated[
    int | None,
    typer.Option("--max-terms", min=1, help="Number of most frequent words to keep per language; default: all."),
]
Replace = Annotated[bool, typer.Option("--replace", help="Replace an existing store.")]
Dictionaries = Annotated[
    list[str] | None,
    typer.Option(
        "--dictionary",
        metavar="PAIR[=FILE]",
        help="en-fr=FILE (a dictd index, its folder, or TSV), or en-fr for FreeDict's, which is fetched once. May be "
        "repeated.",
    ),
]
TitleField = Annotated[
    str | None, typer.Option("--title-field", metavar="NAME", help="Title field; default: title or headline.")
]
LanguageField = Annotated[
    str | None,
    typer.Option("--language-field", metavar="NAME", help="Language field; default: language or lang."),
]
GroupField = Annotated[
    str | None,
    typer.Option(
        "--group-field",
        metavar="NAME",
        help="Field with the same value in all translations of a document; may be id; default: group, if it exists.",
    ),
]


def open_dictionaries(names: Sequence[str], home: Path, progress: Progress) -> list[Dictionary]:
    """The dictionaries of `--dictionary`; FreeDict's are fetched to the home's folder unless they are there.

    Raises:
        BadInput: a name is not of the form `en-fr` or `en-fr=FILE`, or FreeDict has no such dictionary.
        CorpusUnavailable: it cannot be fetched.
    """
    from ingest.embeddings import freedict
    from ingest.embeddings.dictionaries import Dictionary
    from reranker.base.errors import BadInput
    from reranker.text.languages import language_pair

    found = []
    for name in names:
        pair, separator, file = name.partition("=")
        language, target = language_pair(pair)
        if separator:
            path = Path(file)
        elif f"{language}-{target}" in freedict.LICENCES:
            path = freedict.fetch(home / "corpora" / "freedict", f"{language}-{target}", progress)
        else:
            raise BadInput(
                f"FreeDict has no dictionary {pair}; it has {freedict.pairs_near(f'{language}-{target}')}; "
                f"give one of your own: --dictionary {pair}=FILE"
            )
        found.append(Dictionary(path, language, target))
    return found


def show_summary(summary: EmbeddingsSummary, as_json: bool) -> None:
    """Prints the summary of a new store, and warnings on standard error."""
    from dataclasses import asdict

    from sinkrank.console import output

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
        console.print(f"skipped: {n:,} {reason}", markup=False, soft_wrap=True)
