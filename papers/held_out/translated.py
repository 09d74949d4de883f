"""The default order of a search across languages, on a task: kNN and the translated search find the candidates, which
are ordered by transport and the score of the translated search."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from papers.systems.runs import EncodedTask
from reranker.ranking.evidence import scaled, translated_share
from reranker.ranking.query import Query
from reranker.search.fusion import RRF_K
from reranker.stores import open_store
from reranker.stores.base.description import IndexDescription
from reranker.stores.base.filters import Filters
from reranker.text.bags import BagOfWords
from reranker.text.documents import Document, EncodedDocument
from reranker.text.idf import DocumentFrequencies, IdfTable
from reranker.translation import Translator

Matrix = NDArray[np.float64]

_INDEX = "task"
_MAX_DEPTH = 10_000
_NO_WORDS = BagOfWords(np.empty(0, np.int32), np.empty(0, np.int32))


def translated_scores(encoded: EncodedTask) -> Matrix:
    """Returns (n_queries, n_documents) the scores of the embedded store's translated search, as in an index of the
    task's documents; 0 for a document that it does not find."""
    task, language = encoded.task, encoded.task.direction.document_language
    bags = [encoded.embeddings.bag_of_tokens(tokens, language) for tokens in task.documents.values()]
    translator = Translator(encoded.embeddings, IdfTable({language: DocumentFrequencies.count(bags)}))
    place_of = {doc_id: place for place, doc_id in enumerate(encoded.doc_ids)}
    found = np.zeros((len(task.queries), len(encoded.doc_ids)))
    with TemporaryDirectory() as folder, closing(open_store(str(Path(folder) / "store"))) as store:
        store.promote(_INDEX, store.stage(_INDEX, IndexDescription(encoded.embeddings.version, encoded.embeddings.dim)))
        texts = {doc_id: task.written.get(doc_id) or " ".join(tokens) for doc_id, tokens in task.documents.items()}
        documents = (Document(doc_id, text, language) for doc_id, text in texts.items())
        prepare = store.preparer(_INDEX)
        prepared = (prepare(EncodedDocument(document, _NO_WORDS, None)) for document in documents)
        for result in store.write_prepared(_INDEX, prepared):
            if result.error is not None:
                raise ValueError(f"document {result.doc_id} cannot be searched: {result.error}")
        for row, tokens in enumerate(task.queries.values()):
            query = Query("", task.direction.query_language, IdfTable(), encoded.embeddings, (), tokens=tokens)
            groups = {language: translator.groups(query, language)}
            for hit in store.open(_INDEX).translated(groups, min(len(place_of), _MAX_DEPTH), Filters()):
                found[row, place_of[hit.doc_id]] = hit.first_stage_score
    return found


def with_default_candidates(encoded: EncodedTask, translated: Matrix, depth: int) -> EncodedTask:
    """Returns the task with its documents in the order of the default first stage: the best `depth` of kNN and of the
    translated search with their ranks fused, then the others in the order of kNN."""
    order = np.empty_like(encoded.order)
    for row, by_knn in enumerate(encoded.order):
        fused = np.zeros(len(by_knn))
        finite = by_knn[np.isfinite(encoded.cosines[row, by_knn])]
        by_words = np.argsort(-translated[row], kind="stable")
        for run in (finite, by_words[translated[row, by_words] > 0]):
            fused[run[:depth]] += 1.0 / (RRF_K + np.arange(1, len(run[:depth]) + 1))
        order[row] = by_knn[np.argsort(-fused[by_knn], kind="stable")]
    return replace(encoded, order=order)


def by_evidence(encoded: EncodedTask, translated: Matrix, found: Matrix, depth: int | None) -> Matrix:
    """Computes the values to order by, lowest first, for the first `depth` candidates of each query, or for all
    documents. They join the score of the translated search and transport, each scaled over the candidates
    (`reranker.ranking.evidence`).

    Args:
        found: (n_queries, n_documents) order distances by `auto`.
    """
    ordered_by = np.full_like(found, np.inf)
    for row, columns in enumerate(encoded.order[:, :depth]):
        distances = found[row, columns]
        is_known = np.isfinite(distances)
        near = scaled(np.where(is_known, -distances, 0.0), is_known)
        words = _as_found(translated[row], depth)[columns]
        share = translated_share(len(encoded.queries[row]))
        score = share * scaled(words, np.ones(len(words), np.bool_)) + (1 - share) * near
        ordered_by[row, columns] = -score
    return ordered_by


def _as_found(scores: NDArray[np.float64], depth: int | None) -> NDArray[np.float64]:
    """Gives documents missing from a full run its lowest score (`reranker.search.first_stage.CandidateWindow`)."""
    if depth is None or np.count_nonzero(scores) < depth:
        return scores
    raised: NDArray[np.float64] = np.maximum(scores, np.sort(scores)[-depth])
    return raised
