"""A query word with its possible translations in the documents' language.

A group counts as one term whose occurrences are summed: the structured queries of Pirkola 1998 ("The effects of query
structure and dictionary setups in dictionary-based cross-language information retrieval", SIGIR).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Translation:
    """A word of the documents' language that may translate a query word.

    Attributes:
        term: normalised, as the embeddings hold it.
        weight: how much one occurrence counts, above 0, at most 1.
        n_documents: documents of the index that contain it; None: not known.
        spellings: in which an engine is asked for it, since it may not normalise: the query's own where that has the
            word, else those of `reranker.text.normalization.spellings`. Empty: the term itself.
    """

    term: str
    weight: float
    n_documents: int | None = None
    spellings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WordGroup:
    """A distinct query word with its translations.

    Attributes:
        token: the query word, normalised by the rules of the query's language.
        n_occurrences: how often the query contains it.
        translations: at least one, the heaviest first. The token itself may be one of them, with weight 1.
    """

    token: str
    n_occurrences: int
    translations: tuple[Translation, ...]
