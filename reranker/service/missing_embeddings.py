"""Finds the command that makes missing embeddings: all of them, or those of a query's language."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from reranker.service.settings import Settings
from reranker.text.language_detection import UNKNOWN_LANGUAGE, detect_language
from reranker.upstream.addresses import EngineAddress, read_address

# Confidence of the detection. The second finds the language of 19 of 20 Finnish and German queries of 1 to 5 words.
# It takes one of 10 English ones for another (`paper jam in printer`: Latin), but that has known words.
_SURE, _LIKELY = 0.5, 0.25


def no_embeddings_message(settings: Settings, files: Sequence[str] = ()) -> str:
    """The message for missing embeddings, with the cure.

    >>> no_embeddings_message(Settings(store="opensearch://localhost:9200", index="pages"))
    'there are no embeddings at .sinkrank/embeddings; make them with `sinkrank embeddings prepare --store \
opensearch://localhost:9200 --index pages`'
    """
    return f"there are no embeddings at {settings.embeddings_path}; make them with `{prepare_command(settings, files)}`"


def unprepared_language(text: str, has_known_word: bool, prepared: Sequence[str]) -> str:
    """The language of a query, if it seems to be one that the embeddings lack; else empty.

    Args:
        has_known_word: whether any word of the query has an embedding.
        prepared: the languages of the embeddings.
    """
    found = detect_language(text, _SURE if has_known_word else _LIKELY)
    return "" if found in (UNKNOWN_LANGUAGE, *prepared) else found


def prepare_command(settings: Settings, files: Sequence[str] = (), query_languages: Sequence[str] = ()) -> str:
    """The command that makes the embeddings of these settings, from these files or an index of the engine, without
    credentials.

    Args:
        query_languages: to make them anew with these languages too, whether the documents are in them or not.
    """
    words = ["sinkrank", "embeddings", "prepare"]
    address = read_address(settings.store_address)
    if files:
        words += files
    elif isinstance(address, EngineAddress):
        words += ["--store", address.redacted, "--index", settings.index or "INDEX"]
    else:
        words += ["FILE"]
    if settings.embeddings is not None:
        words += ["--output", str(settings.embeddings)]
    elif settings.home != Settings.model_fields["home"].default:
        words += ["--home", str(settings.home)]
    if query_languages:
        words += ["--queries-in", ",".join(query_languages), "--replace"]
    return shlex.join(words)
