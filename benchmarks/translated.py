"""Measures searches across languages on an index as it is: the proxy's translated searches beside an index of our own.

    python -m benchmarks.translated --libreoffice HOME --embeddings STORE

The English pages of the LibreOffice help go into an ordinary index of an engine (title and text by its `english`
analyzer, no vectors) and into one of ours (kNN). The first words of held-out pages in other languages ask for their
translation: through the proxy with `ext.rerank.translate`, and by `/v1/search` with kNN.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from statistics import mean
from typing import Any

from flask.testing import FlaskClient

from benchmarks.proxy import http_address, make_index, node
from benchmarks.report import machine
from benchmarks.scale import resources
from papers.corpora.tasks import Direction, Task, make_task
from reranker.api.app import create_app
from reranker.embeddings import Embeddings
from reranker.proxy import PROXY_EXTENSION
from reranker.search.request import SearchRequest
from reranker.search.searcher import Searcher
from reranker.service.settings import Settings
from reranker.stores import open_store
from reranker.stores.base.filters import Filters
from reranker.text.documents import Document
from sinkrank.demo import load_libreoffice
from sinkrank.demo.pages import CorpusPage

PLAIN, OURS = "sinkrank-benchmark-plain", "sinkrank-benchmark-ours"
FIELDS = ["title", "text"]
WINDOW = 100
_LEARNING_S = 120.0
# What a person types, as in the demo, and the page that answers.
EXAMPLES = (
    ("taulukon rivin korkeuden muuttaminen", "text/scalc/guide/row_height"),  # changing the height of a table's row
    ("toistuvien rivien poistaminen", "text/scalc/guide/remove_duplicates"),  # removing repeated rows
    ("makron nauhoittaminen", "text/shared/guide/macro_recording"),  # recording a macro
    ("nur ausgewählte Seiten drucken", "text/swriter/guide/print_selection"),  # printing only selected pages
    ("Zellen schützen", "text/scalc/guide/cell_protect"),  # protecting cells
    ("Rechtschreibung prüfen", "text/swriter/guide/spellcheck_dialog"),  # checking the spelling
    ("αυτόματη αποθήκευση κάθε δέκα λεπτά", "text/shared/guide/doc_autosave"),  # saving every ten minutes
    ("αλλαγή χρώματος κειμένου", "text/shared/guide/text_color"),  # changing the colour of text
    ("αρίθμηση σελίδων", "text/swriter/guide/pagenumbers"),  # numbering pages
    ("enregistrer automatiquement toutes les dix minutes", "text/shared/guide/doc_autosave"),
)

Ranks = Mapping[str, int | None]
"""The rank of each query's page, from 1; None where it is not among the first 100."""


def make_plain_index(url: str, pages: Sequence[CorpusPage]) -> None:
    """An ordinary index."""
    text = {"type": "text", "analyzer": "english"}
    settings = {"number_of_shards": 1, "number_of_replicas": 0}
    body = {"settings": settings, "mappings": {"properties": {"title": text, "text": text}}}
    resources.ask(url, f"/{PLAIN}", body, "PUT")
    resources.write(url, PLAIN, ((page.page_id, {"title": page.title, "text": page.text}) for page in pages))


def through_proxy(client: FlaskClient, task: Task) -> tuple[Ranks, Ranks]:
    """The ranks after re-ranking, and those of the engine's translated search."""
    after: dict[str, int | None] = {}
    before: dict[str, int | None] = {}
    ext = {"rerank": {"translate": True, "details": True, "language": task.direction.query_language}}
    for qrel in task.qrels:
        query = {"multi_match": {"query": task.written[qrel.query_id], "fields": FIELDS}}
        body = {"query": query, "size": WINDOW, "_source": False, "ext": ext}
        answer = client.post(f"/{PLAIN}/_search", json=body)
        if answer.headers.get("X-Rerank-Reason") != "translated":
            raise RuntimeError(f"{qrel.query_id} was not translated: {dict(answer.headers)}")
        expected = _page_id(qrel.doc_id)
        details = {hit["_id"]: hit["_rerank"] for hit in answer.get_json()["hits"]["hits"]}
        found = details.get(expected)
        after[qrel.query_id] = None if found is None else found["rank"]
        before[qrel.query_id] = None if found is None else found["first_stage_rank"]
    return after, before


def examples(client: FlaskClient) -> list[dict[str, Any]]:
    """The rank of the page that answers each example, by default settings and with `ext.rerank.translate`."""
    rows = []
    for text, page_id in EXAMPLES:
        row: dict[str, Any] = {"query": text, "page": page_id}
        for name, section in (("default", {}), ("translate", {"translate": True})):
            query = {"multi_match": {"query": text, "fields": FIELDS}}
            body = {"query": query, "size": 10, "_source": False, "ext": {"rerank": section}}
            answer = client.post(f"/{PLAIN}/_search", json=body)
            ids = [hit["_id"] for hit in answer.get_json()["hits"]["hits"]]
            row[name] = ids.index(page_id) + 1 if page_id in ids else None
            row[f"{name}_reason"] = answer.headers.get("X-Rerank-Reason", answer.headers["X-Rerank-Status"])
        rows.append(row)
    return rows


def by_our_index(searcher: Searcher, task: Task) -> tuple[Ranks, Ranks]:
    """The ranks after re-ranking, and those of kNN."""
    after: dict[str, int | None] = {}
    before: dict[str, int | None] = {}
    for qrel in task.qrels:
        request = SearchRequest(
            task.written[qrel.query_id],
            OURS,
            task.direction.query_language,
            Filters(languages=("en",)),
            first_stage="knn",
            depth=WINDOW,
            size=WINDOW,
        )
        hits = {hit.id: hit for hit in searcher.search(request).hits}
        found = hits.get(_page_id(qrel.doc_id))
        after[qrel.query_id] = None if found is None else found.rank
        before[qrel.query_id] = None if found is None else found.first_stage_rank
    return after, before


def measures(ranks: Ranks) -> dict[str, float]:
    return {
        "MRR": round(mean(0.0 if rank is None else 1 / rank for rank in ranks.values()), 4),
        "R@100": round(mean(float(rank is not None) for rank in ranks.values()), 4),
    }


def measure(client: FlaskClient, searcher: Searcher, task: Task) -> dict[str, dict[str, float]]:
    after, before = through_proxy(client, task)
    knn_after, knn = by_our_index(searcher, task)
    return {
        "translated": measures(before),
        "translated, re-ranked": measures(after),
        "kNN": measures(knn),
        "kNN, re-ranked": measures(knn_after),
    }


def _page_id(doc_id: str) -> str:
    return doc_id.partition("/")[2]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--libreoffice", type=Path, metavar="HOME", required=True, help="folder with the corpus")
    parser.add_argument("--embeddings", type=Path, required=True)
    parser.add_argument("--engine", default="opensearch-2.19.1", help="engine to start (%(default)s)")
    parser.add_argument("--languages", nargs="+", default=["fi", "de", "el"], help="of the queries (%(default)s)")
    parser.add_argument("--words", nargs="+", default=["first3", "first8", "first20"], help="(%(default)s)")
    parser.add_argument("--queries", type=int, default=200, help="a language (%(default)s)")
    parser.add_argument("--json", type=Path, help="write the results here too")
    return parser.parse_args()


def main() -> None:
    arguments = _arguments()
    corpus = load_libreoffice(arguments.libreoffice)
    embeddings = Embeddings.open(arguments.embeddings)
    pages = [page for page in corpus.test_pages if page.language == "en"]
    results: dict[str, Any] = {"machine": machine(), "documents": len(pages), "engine": arguments.engine}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        address = stack.enter_context(node(None, arguments.engine))
        store = stack.enter_context(closing(open_store(address)))
        documents = [Document(page.page_id, page.text, page.language, title=page.title) for page in pages]
        make_index(address, embeddings, documents, OURS)
        make_plain_index(http_address(address), pages)
        # The order is measured here, whatever else the machine does.
        settings = Settings(home=folder, store=address, proxy_budget_ms=60_000)
        app = create_app(settings, store, embeddings)
        client = app.test_client()
        client.post(f"/{PLAIN}/_search", json={"query": {"multi_match": {"query": "print", "fields": FIELDS}}})
        app.extensions[PROXY_EXTENSION].ranking.statistics.wait(_LEARNING_S)
        results["examples"] = examples(client)
        for row in results["examples"]:
            print(json.dumps(row, ensure_ascii=False), flush=True)
        results["rows"] = []
        searcher = Searcher(store, embeddings)
        for kind in arguments.words:
            for language in arguments.languages:
                task = make_task(corpus, Direction(language, "en"), kind, arguments.queries)
                row = {"task": task.name, **measure(client, searcher, task)}
                results["rows"].append(row)
                print(json.dumps(row), flush=True)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
