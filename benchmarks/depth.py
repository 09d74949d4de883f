"""Measures recall, quality and time of whole searches by the depth of the first stage.

    python -m benchmarks.depth --collection FOLDER --embeddings STORE                    # questions in one language
    python -m benchmarks.depth --libreoffice HOME --direction fi-en --embeddings STORE   # pages across languages

A collection has BEIR's layout. For the LibreOffice help, all pages in the documents' language are indexed, and the
queries are the first 20 words of test pages in the other language. The index is in a temporary embedded store. Each
depth is searched once for recall and quality, then the depths in turn for time, with `size` 10 and without cached
costs.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean, median, quantiles
from typing import Any

import ir_measures
from ir_measures import RR, Qrel, R, ScoredDoc, nDCG

from benchmarks.report import machine
from papers.corpora.tasks import Direction, make_task
from papers.judged.beir import CORPUS, QRELS, QUERIES, Collection, read_beir
from papers.judged.indexing import INDEX, index_collection
from reranker.embeddings import Embeddings
from reranker.search.request import SearchRequest
from reranker.search.searcher import Searcher
from reranker.stores import open_store
from reranker.stores.base.filters import Filters
from reranker.stores.base.protocol import WritableStore
from sinkrank.demo.libreoffice import load_libreoffice
from sinkrank.evaluation.judgments import JudgedQuery

DEPTHS = (100, 300, 500, 1_000)
PAGE = 10
SEED = 2018
STAGES = ("first_stage", "rerank", "total")


@dataclass(frozen=True, slots=True)
class Work:
    """A collection, with the languages of its queries and documents."""

    collection: Collection
    query_language: str
    document_language: str


def request(query: JudgedQuery, work: Work, depth: int, size: int) -> SearchRequest:
    """A default search in the documents' language at one depth."""
    return SearchRequest(
        query.text,
        INDEX,
        language=work.query_language,
        filters=Filters.parse([work.document_language]),
        depth=depth,
        size=size,
    )


def quality(searcher: Searcher, work: Work, queries: Sequence[JudgedQuery], depth: int) -> dict[str, float | str]:
    """Recall of the first stage, and the measures of the whole order."""
    qrels = [Qrel(query.query_id, doc_id, grade) for query in queries for doc_id, grade in query.relevance.items()]
    run = []
    for query in queries:
        answer = searcher.search(request(query, work, depth, size=depth))
        run += [ScoredDoc(query.query_id, hit.id, -hit.rank) for hit in answer.hits]
    found = ir_measures.calc_aggregate([R @ depth, RR, nDCG @ 10], qrels, run)
    return {
        "first_stage": answer.first_stage,
        "recall": round(found[R @ depth], 4),
        "MRR": round(found[RR], 4),
        "nDCG@10": round(found[nDCG @ 10], 4),
    }


def times(
    searcher: Searcher, work: Work, queries: Sequence[JudgedQuery], depths: Sequence[int], rounds: int
) -> dict[int, dict[str, list[float]]]:
    """Milliseconds of each stage by depth. In each round each query is searched at each depth in turn."""
    took: dict[int, dict[str, list[float]]] = {depth: {stage: [] for stage in STAGES} for depth in depths}
    for _ in range(rounds):
        for query in queries:
            for depth in depths:
                answer = searcher.search(request(query, work, depth, PAGE))
                for stage in STAGES:
                    took[depth][stage].append(answer.took_ms[stage])
    return took


def spread(values: Sequence[float]) -> dict[str, float]:
    """Median and quartiles."""
    low, _, high = quantiles(values, n=4)
    return {"median": round(median(values), 2), "lower": round(low, 2), "upper": round(high, 2)}


def measure(
    store: WritableStore, embeddings: Embeddings, work: Work, depths: Sequence[int], arguments: argparse.Namespace
) -> dict[str, Any]:
    """Recall, quality and times by depth, over an index that is made for this measurement."""
    queries, rounds = work.collection.queries[: arguments.queries], arguments.rounds
    made = index_collection(work.collection, work.document_language, store, embeddings)
    searcher = Searcher(store, embeddings, arguments.threads)
    rows = [quality(searcher, work, queries, depth) for depth in depths]
    took = times(searcher, work, queries, depths, rounds)
    return {
        "documents": made.n_documents,
        "queries": len(queries),
        "words_a_query": round(mean(len(query.text.split()) for query in queries), 1),
        "rounds": rounds,
        "depths": [
            {"depth": depth, **row, **{f"{stage}_ms": spread(took[depth][stage]) for stage in STAGES}}
            for depth, row in zip(depths, rows, strict=True)
        ],
    }


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """One line for each depth; times in ms, median (quartiles)."""
    lines = [
        f"{'depth':>6} {'first stage':>11} {'recall':>7} {'MRR':>6} {'nDCG@10':>8}"
        f"{'first stage, ms':>24}{'re-ranking, ms':>24}{'search, ms':>24}"
    ]
    for row in rows:
        taken = [
            f"{one['median']:.1f} ({one['lower']:.1f} to {one['upper']:.1f})"
            for one in (row[f"{stage}_ms"] for stage in STAGES)
        ]
        found = f"{row['recall']:>7.3f} {row['MRR']:>6.3f} {row['nDCG@10']:>8.3f}"
        lines.append(f"{row['depth']:>6} {row['first_stage']:>11} {found}" + "".join(f"{one:>24}" for one in taken))
    return "\n".join(lines)


def help_pages(home: Path, direction: Direction, n_queries: int, folder: Path) -> Work:
    """The LibreOffice help as a collection in a folder.

    Args:
        home: folder of the corpus, which is downloaded if it is missing.
    """
    corpus = load_libreoffice(home)
    task = make_task(corpus, direction, "first20", n_queries, SEED)
    language = direction.document_language
    pages = [page for page in (*corpus.train_pages, *corpus.test_pages) if page.language == language]
    documents = [{"_id": f"{language}/{page.page_id}", "text": page.text} for page in pages]
    queries = [{"_id": query_id, "text": task.written[query_id]} for query_id in task.queries]
    (folder / QRELS).parent.mkdir(parents=True)
    (folder / CORPUS).write_text("".join(json.dumps(one) + "\n" for one in documents), encoding="utf-8")
    (folder / QUERIES).write_text("".join(json.dumps(one) + "\n" for one in queries), encoding="utf-8")
    judged = [f"{one.query_id}\t{one.doc_id}\t{one.relevance}\n" for one in task.qrels]
    (folder / QRELS).write_text("query-id\tcorpus-id\tscore\n" + "".join(judged), encoding="utf-8")
    collection = replace(read_beir(folder), name=f"LibreOffice help, {direction}")
    return Work(collection, direction.query_language, language)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    work = parser.add_mutually_exclusive_group(required=True)
    work.add_argument("--collection", type=Path, help="folder in BEIR's layout")
    work.add_argument("--libreoffice", type=Path, metavar="HOME", help="folder with the corpus, or to download it to")
    parser.add_argument("--language", default="en", help="language of the collection (%(default)s)")
    parser.add_argument(
        "--direction", type=Direction.parse, default="fi-en", help="languages of the pages (%(default)s)"
    )
    parser.add_argument("--embeddings", type=Path, required=True)
    parser.add_argument("--depths", type=int, nargs="+", default=DEPTHS)
    parser.add_argument("--queries", type=int, default=200, help="maximum number of queries (%(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="searches of each query at each depth (%(default)s)")
    parser.add_argument("--threads", type=int, default=2, help="threads of one re-ranking (%(default)s)")
    parser.add_argument("--json", type=Path, help="write the results here too")
    return parser.parse_args()


def main() -> None:
    arguments = _arguments()
    embeddings = Embeddings.open(arguments.embeddings)
    with tempfile.TemporaryDirectory(prefix="sinkrank-bench-") as name:
        folder = Path(name)
        if arguments.collection is not None:
            work = Work(read_beir(arguments.collection), arguments.language, arguments.language)
        else:
            work = help_pages(arguments.libreoffice, arguments.direction, arguments.queries, folder / "pages")
        results: dict[str, Any] = {
            "machine": machine(),
            "collection": work.collection.name,
            "embeddings": {"n_terms": embeddings.n_terms, "dim": embeddings.dim},
            "threads": arguments.threads,
            "seed": SEED,
        }
        print(json.dumps(results))
        with closing(open_store(str(folder / "store"))) as store:
            results |= measure(store, embeddings, work, arguments.depths, arguments)
        sizes = {name: results[name] for name in ("documents", "queries", "words_a_query", "rounds")}
        print(f"\n{json.dumps(sizes)}\n{table(results['depths'])}", flush=True)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
