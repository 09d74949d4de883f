"""What a store takes and returns: prepared documents, new vectors, and the result for each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reranker.text.bags import BagOfWords
from reranker.text.documents import EncodedDocument


@dataclass(frozen=True, slots=True)
class WriteResult:
    """The result for one document; `error` is None if it is in the index."""

    doc_id: str
    error: str | None = None


class PreparedDocument(NamedTuple):
    """A document as one store takes it.

    Attributes:
        content: for the store that made it.
        n_bytes: about its size in memory and in a request.
    """

    doc_id: str
    content: Any
    n_bytes: int


Preparer = Callable[[EncodedDocument], PreparedDocument]
"""The part of writing that needs no store. It can be pickled and called in any process."""


Revision = tuple[int, ...]
"""What a document was when it was read, for the store that read it. It changes with the document."""


class StoredBag(NamedTuple):
    """A document's bag as an index has it."""

    doc_id: str
    language: str
    bag: BagOfWords
    revision: Revision


class NewVector(NamedTuple):
    """The new nBOW embedding of a document: (dim,) float32, or None for none.

    Attributes:
        revision: of the bag that it was made of (`StoredBag`).
    """

    doc_id: str
    nbow: NDArray[np.float32] | None
    weights_version: str
    revision: Revision
