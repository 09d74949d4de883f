"""Queries of given tokens, as if their text had been read."""

from __future__ import annotations

from collections.abc import Sequence

from reranker.embeddings import Embeddings
from reranker.ranking.query import Query
from reranker.text.idf import IdfTable


def query_of(tokens: Sequence[str], language: str, embeddings: Embeddings) -> Query:
    return Query(" ".join(tokens), language, IdfTable(), embeddings, (), tokens=tuple(tokens))
