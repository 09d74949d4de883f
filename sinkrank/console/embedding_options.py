"""The common part of the commands that make embedding stores: options, dictionaries, and the summary."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reranker.service.settings import Settings
from sinkrank.console import options
from sinkrank.console.document_sources import opened_records, shown

if TYPE_CHECKING:
    from ingest.documents import Record
    from ingest.embeddings.collection import Collection
    from ingest.embeddings.dictionaries import Dictionary
    from ingest.embeddings.summary import Summary
    from ingest.progress import Progress
    from reranker.text.documents import Document

# Number of rows between two steps of the progress bar.
_ROWS_A_REPORT = 1_000

# The settings of the commands that make an embedding store.
MAKES_STORE = (
    options.SettingOption(
        "embeddings", ("--output", "-o"), help="Embedding store to make; default: HOME/embeddings.", panel=None
    ),
    "home",
)
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
TextField = Annotated[
    str | None, typer.Option("--text-field", metavar="NAME", help="Text field of the collection's documents.")
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


def check_has_collection(collection: Sequence[str] | None, option: str, value: str | None) -> None:
    """
    Raises:
        typer.BadParameter: the option needs a collection, and there is none.
    """
    if value is not None and not collection:
        raise typer.BadParameter("it needs --collection", param_hint=option)


def count_words(
    names: Sequence[str],
    lang: str | None,
    text_field: str | None,
    settings: Settings,
    progress: Progress,
) -> Collection:
    """The document frequencies of the words of a collection: files as ingest reads them, and indices (URL/INDEX), which
    are copied to the home's folder meanwhile.

    Args:
        lang: of documents that name none.
        text_field: of the rows, or of an index that Sinkrank did not make.

    Raises:
        BadInput, NotFound, StoreUnavailable: one cannot be read, or none holds a document.
    """
    from ingest.documents import Layout
    from ingest.embeddings.collection import count_collection
    from reranker.base.errors import BadInput

    layout = Layout(text_field=text_field, default_language=lang)
    with opened_records(names, layout, settings, progress) as records:
        counted = count_collection(_told(records, progress))
    if not counted.n_documents:
        raise BadInput(
            f"no document with words and a language came of {', '.join(map(shown, names))}; give the language of rows "
            "that name none with --lang, and the field of the text with --text-field"
        )
    return counted


def _told(records: Iterable[Record], progress: Progress) -> Iterator[Document]:
    """The documents of records, with their number as progress."""
    for number, record in enumerate(records):
        if number % _ROWS_A_REPORT == 0:
            progress(number, None, "counting words")
        if record.document is not None:
            yield record.document


def show_summary(summary: Summary, as_json: bool) -> None:
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
