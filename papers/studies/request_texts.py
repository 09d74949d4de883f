"""Measures `auto` on texts that come with a request, with and without BM25 of the texts (`reranker.ranking.lexical`).

The texts are BM25's best 100 for each query of a judged collection, without their scores. They are weighted with the
document frequencies of the collection, as for a request that names its index, and with those of the embeddings, if any.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from statistics import fmean

from papers.base import module_command
from papers.base.markdown import print_table
from papers.judged.beir import Collection, read_beir
from papers.judged.indexing import INDEX, index_collection
from reranker.embeddings import Embeddings
from reranker.ranking.reranker import Reranker
from reranker.search.searcher import Searcher
from reranker.stores import open_store
from reranker.text.bags import BagOfWords
from sinkrank.evaluation.comparison import IndexSearches, Way, measures_of
from sinkrank.evaluation.judgments import JudgedQuery

_DEPTH = 100
_COLUMNS = ("collection", "document frequencies", "engine's order", "transport alone", "with BM25 of the texts")

Candidates = Mapping[str, Sequence[str]]
"""Document ids by query id, best first."""

_Bags = Mapping[str, tuple[BagOfWords, str]]


def rows(collection: Collection, embeddings: Embeddings, language: str) -> Iterator[list[str]]:
    """nDCG@10 of each order, one row for each kind of document frequencies."""
    with tempfile.TemporaryDirectory() as folder, closing(open_store(folder)) as store:
        index_collection(collection, language, store, embeddings)
        searcher = Searcher(store, embeddings)
        queries = [replace(query, language=language) for query in collection.queries]
        found = IndexSearches(searcher, INDEX).run(Way("BM25", "none", "bm25", _DEPTH), queries).ranking
        of_collection = searcher.open(INDEX).reranker
    texts = collection.texts({doc_id for doc_ids in found.values() for doc_id in doc_ids}, language)
    bags = {doc_id: (embeddings.bag(text, language), language) for doc_id, text in texts.items()}
    alone = Reranker(embeddings)
    kinds = {"the collection's": of_collection, "the embeddings'" if alone.idf.languages else "none": alone}
    for name, reranker in kinds.items():
        scores = [_ndcg(collection, found)]
        for has_lexical in (False, True):
            ranking = {
                query.query_id: _reranked(reranker, query, language, found[query.query_id], bags, has_lexical)
                for query in collection.queries
            }
            scores.append(_ndcg(collection, ranking))
        yield [collection.name, name, *(f"{score:.3f}" for score in scores)]


def _reranked(
    reranker: Reranker, query: JudgedQuery, language: str, doc_ids: Sequence[str], bags: _Bags, has_lexical: bool
) -> list[str]:
    """The documents in the order of `auto`; in the given order if the query has no known word."""
    read = reranker.query_with_unknown_words(query.text, language)
    if not doc_ids or not len(read.weighted):
        return list(doc_ids)
    candidates = [bags[doc_id] for doc_id in doc_ids]
    scores = reranker.lexical_scores(read, candidates) if has_lexical else None
    return [doc_ids[each.index] for each in reranker.rerank_bags(read, candidates, first_stage_scores=scores).documents]


def _ndcg(collection: Collection, ranking: Candidates) -> float:
    return fmean(measures_of(collection.queries, ranking)["nDCG@10"].values())


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m papers.studies.request_texts", description=__doc__)
    parser.add_argument("collections", type=Path, nargs="+", help="folders in BEIR's layout")
    parser.add_argument("--embeddings", type=Path, required=True)
    parser.add_argument("--language", default="en", help="language of queries and documents")
    options = parser.parse_args(arguments)
    embeddings = Embeddings.open(options.embeddings)
    found = (row for folder in options.collections for row in rows(read_beir(folder), embeddings, options.language))
    print_table(_COLUMNS, found, 2)


if __name__ == "__main__":
    module_command.run(main)
