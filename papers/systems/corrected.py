"""Corrects distances of `auto` as a search does, by hubness and unknown words
(`reranker.ranking.corrections`)."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np
from numpy.typing import NDArray

from papers.corpora.tasks import Task
from reranker.embeddings import Embeddings
from reranker.embeddings.hubness import SAMPLE_TOKENS, HubnessSample
from reranker.ranking.corrections import Corrections, order_distance
from reranker.ranking.unknown_terms import unknown_share
from reranker.text.bags import BagOfWords
from reranker.text.tokens import tokenize
from sinkrank.demo.pages import CorpusPage

Matrix = NDArray[np.float64]


def sample_of(pages: Iterable[CorpusPage], languages: Collection[str], embeddings: Embeddings) -> HubnessSample:
    """The hubness sample of an index that holds these pages, of some languages."""

    def words_of(page: CorpusPage) -> BagOfWords:
        return embeddings.bag_of_tokens(tokenize(page.text, page.language, SAMPLE_TOKENS), page.language)

    found = (page for page in pages if page.language in languages)
    return HubnessSample.of(embeddings.version, ((page.language, page.page_id, words_of(page)) for page in found))


def order_distances(task: Task, embeddings: Embeddings, hubness: NDArray[np.float64] | None, found: Matrix) -> Matrix:
    """Computes the values to order by, from the distances of a task's queries to its documents.

    Args:
        hubness: (n_documents,); None leaves it out.
        found: (n_queries, n_documents); inf and NaN stay as they are.
    """
    language = task.direction.query_language
    held = [frozenset(tokens) for tokens in task.documents.values()]
    corrected = np.empty_like(found)
    for row, tokens in enumerate(task.queries.values()):
        unknown = [token for token in tokens if not embeddings.stand_ins(language, token)]
        share = unknown_share(tokens, unknown)
        if share == 1.0:
            corrected[row] = found[row]  # it has no known word, and finds nothing
            continue
        distinct = tuple(dict.fromkeys(unknown))
        lacking = np.array([[term not in tokens_held for term in distinct] for tokens_held in held], np.bool_)
        offsets = Corrections.make(len(held), hubness, share, distinct, lacking).offset
        corrected[row] = order_distance(found[row], share, offsets)
    return corrected
