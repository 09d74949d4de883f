"""What a store keeps beside the documents of an index: its idf table, its hubness sample, and the claim of the run that
makes versions of it. Each is one note, which a store reads and changes as a whole."""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Literal

from reranker.embeddings.hubness import HubnessSample
from reranker.stores.base.names import check_index_name, claim_seconds, claimed_by_another
from reranker.text.idf import IdfTable

Kind = Literal["idf", "hubness", "claim"]

NOTES_OF_AN_INDEX: tuple[Kind, ...] = ("idf", "hubness")
"""They are deleted with their index."""

Change = Callable[[bytes | None], bytes | None]
"""Makes of a note what it is to be. None: there is no note."""


class NotesReader(ABC):
    """Reads the notes of an open index; see `reranker.stores.base.protocol.IndexReader`."""

    @abstractmethod
    def note(self, kind: Kind) -> bytes | None: ...

    def idf(self) -> IdfTable:
        return _table(self.note("idf"))

    def hubness_sample(self) -> HubnessSample:
        return _sample(self.note("hubness"))


class NotesWriter(ABC):
    """Changes the notes of a store's indices; see `reranker.stores.base.protocol.WritableStore`."""

    @abstractmethod
    def own_name(self, index: str) -> str:
        """Returns an index's own name, under which its notes are kept."""

    @abstractmethod
    def change_note(self, name: str, kind: Kind, change: Change) -> None:
        """Replaces a note in one step. If another process changes it meanwhile, `change` is called again.

        Raises:
            BadInput: the note is larger than the store takes, or `change` raises it.
        """

    def save_idf(self, index: str, table: IdfTable, before: IdfTable | None = None) -> IdfTable:
        saved = table

        def change(found: bytes | None) -> bytes:
            nonlocal saved
            saved = table if before is None else table.with_changes(before, _table(found))
            return saved.packed()

        self.change_note(self.own_name(index), "idf", change)
        return saved

    def save_hubness_sample(self, index: str, sample: HubnessSample) -> None:
        self.change_note(self.own_name(index), "hubness", lambda found: _packed(sample.as_json()))

    def add_to_hubness_sample(self, index: str, sample: HubnessSample) -> None:
        def change(found: bytes | None) -> bytes | None:
            before = _sample(found)
            fits = before.embeddings_version == sample.embeddings_version
            return _packed(before.merged(sample).as_json()) if fits else found

        self.change_note(self.own_name(index), "hubness", change)

    def claim(self, index: str, owner: str, seconds: float) -> None:
        def change(found: bytes | None) -> bytes:
            now = time.time()
            if found is not None:
                claim = json.loads(found)
                if claim["owner"] != owner and (remaining := claim_seconds(claim["claimed_until"], now)):
                    raise claimed_by_another(index, remaining)
            return _packed({"owner": owner, "claimed_until": now + seconds})

        self.change_note(check_index_name(index), "claim", change)

    def release(self, index: str, owner: str) -> None:
        def change(found: bytes | None) -> bytes | None:
            return None if found is not None and json.loads(found)["owner"] == owner else found

        self.change_note(check_index_name(index), "claim", change)


def _table(note: bytes | None) -> IdfTable:
    return IdfTable() if note is None else IdfTable.unpacked(note)


def _sample(note: bytes | None) -> HubnessSample:
    return HubnessSample() if note is None else HubnessSample.from_json(json.loads(note))


def _packed(content: dict[str, object]) -> bytes:
    return json.dumps(content).encode()
