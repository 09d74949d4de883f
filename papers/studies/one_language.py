"""Measures ways to count words for training in one language, on judged collections.

`python -m papers.studies.one_language FOLDER…` (folders in BEIR's layout) prints the table of
papers/results/embeddings.md. Each store is trained on the collection's own documents. Transport orders BM25's best 100,
alone and with BM25's score.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ingest.embeddings.sparse_rows import SparseRows
from ingest.embeddings.spectral import ppmi, truncated_svd, unit_rows
from ingest.embeddings.spelling import smooth
from ingest.embeddings.training import DIM, SEED, SINGULAR_VALUE_POWER
from papers.base import module_command
from papers.base.markdown import print_table
from papers.judged.beir import Collection, read_beir
from papers.judged.indexing import indexed
from reranker.embeddings import Embeddings, EmbeddingsWriter
from reranker.ranking.reranker import Reranker
from reranker.search.searcher import Searcher, SearchRequest
from reranker.stores import open_store
from reranker.text.documents import Document
from reranker.text.tokens import letter_tokens
from sinkrank.evaluation.comparison import measures_of

_INDEX = "documents"
_DEPTH = 100
_COLUMNS = ("collection", "columns", "BM25", "transport alone", "whole order")


@dataclass(frozen=True)
class Words:
    """The words of a collection in reading order: the term and the document of each."""

    terms: list[str]
    ids: NDArray[np.int64]
    documents: NDArray[np.int64]


def words_of(documents: Iterable[Document], language: str) -> Words:
    """The words of documents in one language, without stop words."""
    ids: dict[str, int] = {}
    tokens = [letter_tokens(document.full_text, language, max_tokens=None) for document in documents]
    flat = np.array([ids.setdefault(token, len(ids)) for each in tokens for token in each], dtype=np.int64)
    return Words(list(ids), flat, np.repeat(np.arange(len(tokens)), [len(each) for each in tokens]))


def by_part(words: Words, size: int | None) -> SparseRows:
    """Counts terms in parts of about this many words: 1 if a part contains the term. None for whole documents."""
    lengths = np.bincount(words.documents)
    starts = np.cumsum(lengths) - lengths
    n_parts = np.ones_like(lengths) if size is None else np.maximum(1, np.rint(lengths / size).astype(np.int64))
    places = (np.arange(len(words.ids)) - starts[words.documents]) * n_parts[words.documents]
    columns = (np.cumsum(n_parts) - n_parts)[words.documents] + places // lengths[words.documents]
    return ppmi(SparseRows.of_ones(words.ids, columns, (len(words.terms), int(n_parts.sum()))))


def by_word(words: Words, window: int) -> SparseRows:
    """Counts for each term the terms of the same document at most this many words away."""
    found = sparse.csr_matrix((len(words.terms), len(words.terms)), dtype=np.float32)
    for distance in range(1, window + 1):
        first, second = words.ids[:-distance], words.ids[distance:]
        here = (words.documents[:-distance] == words.documents[distance:]) & (first != second)
        found += _counts(first[here], second[here], found.shape)
    counts = (found + found.T).tocsr()
    # Contexts by the power 0.75 of their counts (Levy, Goldberg and Dagan 2015).
    of_term = np.asarray(counts.sum(axis=1)).ravel()
    of_context = of_term**0.75 / (of_term**0.75).sum()
    rows = np.repeat(np.arange(len(of_term)), np.diff(counts.indptr))
    information = np.maximum(0, np.log(counts.data / (of_term[rows] * of_context[counts.indices]))).astype(np.float32)
    places = SparseRows(counts.data, counts.indices, counts.indptr.astype(np.int64), len(of_term))
    return places.with_values(information)


def _counts(rows: NDArray[np.int64], columns: NDArray[np.int64], shape: tuple[int, int]) -> sparse.csr_matrix:
    return sparse.csr_matrix((np.ones(len(rows), dtype=np.float32), (rows, columns)), shape=shape)


def trained(words: Words, weighted: SparseRows, spelling: bool = True) -> NDArray[np.float32]:
    """(n_terms, k), the vectors that `train` makes from a weighted matrix."""
    left, values = truncated_svd(weighted, DIM, SEED)
    rows = unit_rows(left * values**SINGULAR_VALUE_POWER)
    rows[weighted.n_values_of_rows == 0] = 0
    return smooth(rows, words.terms, _n_documents(words)) if spelling else rows


def _n_documents(words: Words) -> NDArray[np.integer]:
    """(n_terms,) number of documents with each term."""
    shape = len(words.terms), int(words.documents.max()) + 1
    found: NDArray[np.integer] = np.diff(_counts(words.ids, words.documents, shape).indptr)
    return found


def end_to_end(words: Words) -> NDArray[np.float32]:
    """The vectors of both ways, concatenated and reduced to the main directions."""
    both = [trained(words, weighted, spelling=False) for weighted in (by_part(words, None), by_word(words, 10))]
    ends = np.concatenate(both, axis=1).astype(np.float64)
    directions = np.linalg.eigh(ends.T @ ends)[1][:, ::-1][:, :DIM]
    return smooth(unit_rows((ends @ directions).astype(np.float32)), words.terms, _n_documents(words))


WAYS: Mapping[str, Callable[[Words], NDArray[np.float32]]] = {
    "documents": lambda words: trained(words, by_part(words, None)),
    "documents, spellings not compared": lambda words: trained(words, by_part(words, None), spelling=False),
    "parts of 50 words": lambda words: trained(words, by_part(words, 50)),
    "words within 10": lambda words: trained(words, by_word(words, 10)),
    "documents and words within 10": end_to_end,
}


def rows(collection: Collection, language: str) -> Iterator[list[str]]:
    """nDCG@10 of BM25, of transport alone and of the whole order, with a row for each way to count."""
    words = words_of(collection.documents(language), language)
    for name, train in WAYS.items():
        with TemporaryDirectory() as folder:
            yield [collection.name, name, *_figures(collection, language, words.terms, train(words), Path(folder))]


def _figures(
    collection: Collection, language: str, terms: Sequence[str], vectors: NDArray[np.float32], folder: Path
) -> list[str]:
    known = np.flatnonzero(vectors.any(axis=1))
    with EmbeddingsWriter(folder / "embeddings", dim=vectors.shape[1], source=collection.name) as writer:
        writer.append(language, [terms[row] for row in known.tolist()], vectors[known])
        writer.commit()
    embeddings = Embeddings.open(folder / "embeddings")
    with (
        closing(open_store(str(folder / "store"))) as store,
        indexed(collection, language, store, embeddings, _INDEX),
    ):
        searcher = Searcher(store, embeddings)
        reranker = searcher.open(_INDEX).reranker
        found: dict[str, dict[str, list[str]]] = {"BM25": {}, "alone": {}, "whole": {}}
        for query in collection.queries:
            request = SearchRequest(
                query.text, _INDEX, language, first_stage="bm25", depth=_DEPTH, size=_DEPTH, method="none"
            )
            hits = searcher.search(request).hits
            doc_ids = [hit.id for hit in hits]
            documents = store.open(_INDEX).documents(doc_ids)
            texts = [documents[doc_id].full_text for doc_id in doc_ids]
            scores = np.array([hit.first_stage_score for hit in hits])
            found["BM25"][query.query_id] = doc_ids
            found["alone"][query.query_id] = _order(reranker, query.text, language, doc_ids, texts, None)
            found["whole"][query.query_id] = _order(reranker, query.text, language, doc_ids, texts, scores)
    return [f"{fmean(measures_of(collection.queries, run)['nDCG@10'].values()):.3f}" for run in found.values()]


def _order(
    reranker: Reranker,
    query: str,
    language: str,
    doc_ids: Sequence[str],
    texts: Sequence[str],
    scores: NDArray[np.float64] | None,
) -> list[str]:
    """The documents in the order of `auto`; in the given order if the query has no known word."""
    read = reranker.query_with_unknown_words(query, language)
    if not len(read.weighted):
        return list(doc_ids)
    bags = [(reranker.embeddings.bag(text, language), language) for text in texts]
    return [doc_ids[each.index] for each in reranker.rerank_bags(read, bags, first_stage_scores=scores).documents]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m papers.studies.one_language", description=__doc__)
    parser.add_argument("collections", type=Path, nargs="+", help="folders in BEIR's layout")
    parser.add_argument("--language", default="en", help="language of queries and documents")
    options = parser.parse_args(arguments)
    print_table(
        _COLUMNS, (row for folder in options.collections for row in rows(read_beir(folder), options.language)), 2
    )


if __name__ == "__main__":
    module_command.run(main)
