"""Embedding stores: word embeddings of several languages in one vector space, in a folder that is written once.

    vectors.npy               (n_terms, dim), L2-normalised (`rows.py`); frequent terms of a language first
    term_bytes.npy, term_offsets.npy, languages.npy, slots.npy     the vocabulary (`vocabulary.py`)
    spellings.npy             index of spellings at one edit (`spelling.py`)
    document_frequencies.npy  (n_terms,) int32; only if the training text was counted
    meta.json                 contents, version and checksums of the files (`manifest.py`)

All arrays are memory-mapped: opening a store reads no vectors, and all processes of a host share one copy.
"""

from reranker.embeddings.folder import FORMAT, check_output
from reranker.embeddings.store import Embeddings
from reranker.embeddings.writer import EmbeddingsWriter

__all__ = [
    "FORMAT",
    "Embeddings",
    "EmbeddingsWriter",
    "check_output",
]
