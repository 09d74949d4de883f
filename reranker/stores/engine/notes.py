"""Keeps notes in a hidden index of the engine, which no search of a user reaches.

A note is one document with the compressed content. It is replaced only if nobody has changed it since it was read
(`if_seq_no`).
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping
from typing import Any

import opensearchpy
from opensearchpy import exceptions

from reranker.base.errors import BadInput
from reranker.stores.base.notes import NOTES_OF_AN_INDEX, Change, Kind
from reranker.stores.engine.client import multi_get, unchanged

NOTES_INDEX = "sinkrank-idf"

# The engines take requests of 100 MB (`http.max_content_length`), and strings of 50 million characters in JSON. 40
# languages of 300,000 words each have an idf of this size.
_MOST_CHARACTERS = 40_000_000

# zlib's level. Its default, 6, makes an idf table a seventh smaller and takes eight times as long.
_COMPRESSION = 1

_DEFINITION: dict[str, Any] = {
    "settings": {"index": {"hidden": True, "number_of_shards": 1, "auto_expand_replicas": "0-1"}},
    "mappings": {"dynamic": "strict", "properties": {"content": {"type": "binary"}}},
}


def read_note(client: opensearchpy.OpenSearch, name: str, kind: Kind) -> bytes | None:
    """Returns a note, also one that searches do not see yet; None if there is none."""
    return _content(_find(client, name, kind))


def change_note(client: opensearchpy.OpenSearch, name: str, kind: Kind, change: Change) -> None:
    """See `reranker.stores.base.notes.NotesWriter`."""
    while True:
        found = _find(client, name, kind)
        before = _content(found)
        after = change(before)
        if after == before:
            return
        try:
            if after is None:
                client.delete(index=NOTES_INDEX, id=_note_id(name, kind), params=unchanged(found))
            else:
                body = {"content": _encoded(after, name)}
                if before is None:
                    _ensure_index(client)
                client.index(index=NOTES_INDEX, id=_note_id(name, kind), body=body, params=unchanged(found))
        except exceptions.ConflictError:
            continue
        return


def forget_notes(client: opensearchpy.OpenSearch, name: str) -> None:
    """Deletes the notes of an index."""
    for kind in NOTES_OF_AN_INDEX:
        client.delete(index=NOTES_INDEX, id=_note_id(name, kind), ignore=[404])


def _ensure_index(client: opensearchpy.OpenSearch) -> None:
    try:
        client.indices.create(index=NOTES_INDEX, body=_DEFINITION)
    except exceptions.RequestError as error:
        if error.error != "resource_already_exists_exception":
            raise
        client.indices.put_mapping(index=NOTES_INDEX, body=_DEFINITION["mappings"])


def _find(client: opensearchpy.OpenSearch, name: str, kind: Kind) -> Mapping[str, Any]:
    try:
        (found,) = multi_get(client, NOTES_INDEX, [_note_id(name, kind)])
    except exceptions.NotFoundError:
        return {}
    return found


def _content(found: Mapping[str, Any]) -> bytes | None:
    content = found.get("_source", {}).get("content")
    return None if content is None else zlib.decompress(base64.b64decode(content))


def _encoded(note: bytes, name: str) -> str:
    content = base64.b64encode(zlib.compress(note, _COMPRESSION)).decode("ascii")
    if len(content) > _MOST_CHARACTERS:
        raise BadInput(
            f"what is to be kept beside the index {name!r} has {len(content):,} characters, and an engine takes "
            f"{_MOST_CHARACTERS:,}; make the index with embeddings of fewer languages or words"
        )
    return content


def _note_id(name: str, kind: Kind) -> str:
    # No index name has a colon. A slash would not do: some proxies decode an encoded one.
    return f"{name}:{kind}"
