"""The commands of `sinkrank embeddings` that make a store from other stores, or with a sentence encoder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from reranker.service.settings import Settings
from sinkrank.console import options
from sinkrank.console.embedding_options import (
    MAKES_STORE,
    Dictionaries,
    Replace,
    TextField,
    check_has_collection,
    count_words,
    open_dictionaries,
    show_summary,
)

_First = Annotated[Path, typer.Argument(metavar="STORE", help="An embedding store.")]
_Second = Annotated[Path, typer.Argument(metavar="OTHER", help="Another embedding store.")]


@options.takes_settings(*MAKES_STORE)
def extend(
    settings: Settings,
    store: _First,
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE", help="JSONL of texts aligned with a language of the store, as for train."),
    ] = None,
    dictionary: Dictionaries = None,
    replace: Replace = False,
    json_: options.Json = False,
) -> None:
    """Add languages to a store from texts aligned with its languages. Existing words keep their vectors and ids.

    Example: [bold]sinkrank embeddings extend my-embeddings fi-en.jsonl --output with-finnish[/bold]
    """
    from ingest.embeddings.extending import extend as run
    from reranker.embeddings import Embeddings
    from sinkrank.console import output as shown

    with shown.progress_bars() as progress:
        dictionaries = open_dictionaries(dictionary or [], settings.home, progress)
        summary = run(
            Embeddings.open(store),
            [*(files or []), *dictionaries],
            settings.embeddings_path,
            replace=replace,
            progress=progress,
        )
    show_summary(summary, json_)


@options.takes_settings(*MAKES_STORE)
def align(
    settings: Settings,
    store: _First,
    other: _Second,
    dictionary: Dictionaries = None,
    replace: Replace = False,
    json_: options.Json = False,
) -> None:
    """Align two stores of different languages: the second is rotated so that translations get similar vectors.

    Example: [bold]sinkrank embeddings align english finnish --dictionary fi-en --output both[/bold]
    """
    from ingest.embeddings.aligning import align as run
    from ingest.embeddings.dictionaries import read_pairs
    from reranker.embeddings import Embeddings
    from sinkrank.console import output as shown

    with shown.progress_bars() as progress:
        dictionaries = open_dictionaries(dictionary or [], settings.home, progress)
        summary = run(
            Embeddings.open(store),
            Embeddings.open(other),
            (pair for each in dictionaries for pair in read_pairs(each)),
            settings.embeddings_path,
            replace=replace,
            progress=progress,
        )
    show_summary(summary, json_)


@options.takes_settings(*MAKES_STORE)
def join(
    settings: Settings,
    stores: Annotated[list[Path], typer.Argument(metavar="STORE", help="Two or more embedding stores.")],
    dim: Annotated[
        int | None, typer.Option("--dim", min=1, help="Dimensions to keep; default: those of the largest store.")
    ] = None,
    replace: Replace = False,
    json_: options.Json = False,
) -> None:
    """Join stores that share words: the vectors of each word are concatenated and reduced to the main directions.

    Example: [bold]sinkrank embeddings join trained built --output joined[/bold]
    """
    from ingest.embeddings.joining import join as run
    from reranker.embeddings import Embeddings
    from sinkrank.console import output as shown

    if len(stores) < 2:
        raise typer.BadParameter("name two or more stores", param_hint="STORE...")
    with shown.progress_bars() as progress:
        summary = run(
            [Embeddings.open(store) for store in stores],
            settings.embeddings_path,
            dim=dim,
            replace=replace,
            progress=progress,
        )
    show_summary(summary, json_)


@options.takes_settings(*MAKES_STORE)
def build(
    settings: Settings,
    dictionary: Dictionaries = None,
    collection: Annotated[
        list[str] | None,
        typer.Option(
            "--collection",
            metavar="FILE",
            help="Encode only the words of these documents, and their translations: files as for ingest, or URL/INDEX. "
            "May be repeated.",
        ),
    ] = None,
    lang: Annotated[
        str | None,
        typer.Option("--lang", metavar="CODE", help="Language of documents of the collection that name none."),
    ] = None,
    text_field: TextField = None,
    replace: Replace = False,
    json_: options.Json = False,
) -> None:
    """Build cross-lingual embeddings without aligned text: a sentence encoder encodes the words of dictionaries.

    It encodes some 1,000 words per second and core. Encoded words are cached, so an interrupted run resumes. It needs
    the extra prepare.

    Example: [bold]sinkrank embeddings build --dictionary en-fr --dictionary fr-en --collection pages.jsonl[/bold]
    """
    from ingest.embeddings.building import build as run
    from ingest.embeddings.dictionaries import read_pairs
    from ingest.embeddings.sentence_models import E5, open_encoder
    from ingest.embeddings.word_encoder import WordVectors
    from reranker.embeddings import check_output
    from sinkrank.console import output as shown

    for option, value in (("--lang", lang), ("--text-field", text_field)):
        check_has_collection(collection, option, value)
    check_output(settings.embeddings_path, replace=replace)
    encoder = open_encoder(E5, settings.home / "models", settings.n_threads)
    with shown.progress_bars() as progress:
        pairs = [
            pair for each in open_dictionaries(dictionary or [], settings.home, progress) for pair in read_pairs(each)
        ]
        counted = None
        if collection:
            languages = {language for pair in pairs for language, _ in pair}
            counted = count_words(collection, lang, text_field, settings, progress, languages)
        with WordVectors(settings.home / "encoded-words.sqlite3", encoder) as words:
            summary = run(
                pairs,
                words.encode,
                settings.embeddings_path,
                collection=counted,
                encoder=encoder.name,
                replace=replace,
                progress=progress,
            )
    show_summary(summary, json_)
