"""A query word with the words of the documents' language that may stand for it.

A group counts as one term whose occurrences are summed: the structured queries of Pirkola 1998 ("The effects of query
structure and dictionary setups in dictionary-based cross-language information retrieval", SIGIR).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Translation:
    """A word of the documents' language that may stand for a query word.

    Attributes:
        term: normalised, as the embeddings hold it.
        weight: what one occurrence of it counts, above 0, at most 1.
        n_documents: of the index, that hold it; None where that is not known.
    """

    term: str
    weight: float
    n_documents: int | None = None


@dataclass(frozen=True, slots=True)
class WordGroup:
    """A distinct query word with its translations.

    Attributes:
        token: the query word, normalised by the rules of the query's language.
        n_occurrences: how often the query holds it.
        translations: at least one, the heaviest first. A token that stays as it is, such as a number, is one of them,
            with weight 1.
    """

    token: str
    n_occurrences: int
    translations: tuple[Translation, ...]
