"""The common part of `embeddings import` and `embeddings fetch`: options that reduce the vocabulary, and the import."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sinkrank.console.embedding_options import count_words

if TYPE_CHECKING:
    from ingest.embeddings.selection import Source
    from ingest.embeddings.summary import Summary
    from ingest.progress import Progress
    from reranker.service.settings import Settings

MaxTerms = Annotated[
    int | None,
    typer.Option("--max-terms", min=1, help="Number of most frequent words to keep per language; default: all."),
]
Vocabulary = Annotated[
    list[str] | None,
    typer.Option(
        "--vocabulary",
        metavar="FILE",
        help="Keep only these words: a file with one per line, optionally with a count; fr=FILE names their language.",
    ),
]
MinCount = Annotated[
    int | None,
    typer.Option(
        "--min-count",
        min=1,
        help="Drop words with a lower count in the vocabulary, or in fewer documents of the collection.",
    ),
]
Collection = Annotated[
    list[str] | None,
    typer.Option(
        "--collection",
        metavar="FILE",
        help="Keep only the words of these documents: files as for ingest, or URL/INDEX. May be repeated.",
    ),
]


def import_sources(
    sources: Sequence[Source],
    settings: Settings,
    progress: Progress,
    *,
    lang: str | None,
    max_terms: int | None,
    vocabulary: Sequence[str] | None,
    min_count: int | None,
    collection: Sequence[str] | None,
    text_field: str | None,
    replace: bool,
) -> Summary:
    """Makes the embedding store of the settings from files.

    Args:
        lang: language of vocabularies and documents of the collection that name none.

    Raises:
        NotFound, BadInput, StoreUnavailable: as `ingest.embeddings.importing.import_embeddings` and `count_words`.
    """
    from ingest.embeddings.importing import import_embeddings

    counted = count_words(collection, lang, text_field, settings, progress) if collection else None
    return import_embeddings(
        sources,
        settings.embeddings_path,
        replace=replace,
        max_terms_per_language=max_terms,
        vocabularies=_by_language(vocabulary or [], lang),
        frequencies=None if counted is None else counted.document_frequencies,
        min_count=min_count,
        progress=progress,
    )


def named_file(file: str, lang: str | None) -> tuple[Path, str | None]:
    """The path and the language of a FILE argument. `fr=FILE` names a language unless a file of this name exists."""
    prefix, separator, rest = file.partition("=")
    if separator and rest and prefix.isalpha() and not Path(file).exists():
        return Path(rest), prefix
    return Path(file), lang


def _by_language(files: Sequence[str], lang: str | None) -> dict[str, Path]:
    from reranker.base.errors import WrongParameter
    from reranker.text.languages import language_code

    found: dict[str, Path] = {}
    for file in files:
        path, language = named_file(file, lang)
        if language is None:
            raise WrongParameter(f"the vocabulary {file} has no language; write fr={file}, or give --lang")
        found[language_code(language)] = path
    return found
