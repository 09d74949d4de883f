"""What goes into a store and what comes back: prepared documents, new vectors, and what became of each."""

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
    """What became of one document: `error` is None when it is in the index."""

    doc_id: str
    error: str | None = None


class PreparedDocument(NamedTuple):
    """A document as one store takes it.

    Attributes:
        content: for the store that made it; None where the document cannot be kept.
        n_bytes: about what it takes in memory and on the way.
        problem: why it cannot be kept.
    """

    doc_id: str
    content: Any
    n_bytes: int
    problem: str | None = None


Preparer = Callable[[EncodedDocument], PreparedDocument]
"""The part of writing that needs no store: it can be pickled, and called in any process."""

Writable = PreparedDocument | None
"""A document to write, or None: what came before is to be sent now, however little it is."""


class StoredBag(NamedTuple):
    """What a document's weights are made of, as an index holds it.

    Attributes:
        weights_version: of the figures that its nBOW embedding was made with; empty where that is not known.
    """

    doc_id: str
    language: str
    bag: BagOfWords
    weights_version: str


class NewVector(NamedTuple):
    """The nBOW embedding that a document is to have from now on: (dim,) float32, or None for none."""

    doc_id: str
    nbow: NDArray[np.float32] | None
    weights_version: str
