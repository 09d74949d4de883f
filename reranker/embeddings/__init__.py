"""Embedding stores: folders of word embeddings in one space for several languages, written once and then read.

    vectors.npy               (n_terms, dim), L2-normalised (`rows.py`); frequent terms of a language come first
    term_bytes.npy, term_offsets.npy, languages.npy, slots.npy     the vocabulary (`vocabulary.py`)
    spellings.npy             terms by what they leave without one letter (`spelling.py`)
    document_frequencies.npy  (n_terms,) int32, only where the training text was counted
    meta.json                 what is in the folder, its version, and digests of the files (`manifest.py`)

All arrays are memory-mapped: opening reads no vector, and the processes of a host share one copy.
"""

from reranker.embeddings.folder import FORMAT, check_output
from reranker.embeddings.rows import PRECISIONS, Precision, check_precision
from reranker.embeddings.store import Embeddings
from reranker.embeddings.unknown import DEFAULT_RULE, UNKNOWN_WORDS_RULES, UnknownWordsRule, check_rule
from reranker.embeddings.writer import EmbeddingsWriter

__all__ = [
    "DEFAULT_RULE",
    "FORMAT",
    "PRECISIONS",
    "UNKNOWN_WORDS_RULES",
    "Embeddings",
    "EmbeddingsWriter",
    "Precision",
    "UnknownWordsRule",
    "check_output",
    "check_precision",
    "check_rule",
]
