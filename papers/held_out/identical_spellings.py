"""Measures a method on a task's queries without the tokens that documents spell alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from papers.base.measures import measure, recall
from papers.corpora.tasks import Task
from papers.held_out.translated import by_evidence, translated_scores, with_default_candidates
from papers.systems.runs import EncodedTask, encode, first_stage_run, make_run, method_distances
from reranker.ranking.corrections import CORRECTED_METHOD
from reranker.transport import Parameters


@dataclass(frozen=True)
class StrippedResult:
    """One method's measures over the candidates of the first stage. Both stages use the shortened queries.

    Attributes:
        n_empty: number of queries without any token left; they count as 0.
        removed_share: share (0 to 1) of the queries' tokens that are removed.
        recall: recall of the first stage.
    """

    method: str
    measures: Mapping[str, float]
    recall: float
    removed_share: float
    n_empty: int


def stripped(task: Task) -> Task:
    """Removes the query tokens that any document spells alike, and queries without any token left. The judgments stay,
    so these queries count as 0."""
    shared = {token for tokens in task.documents.values() for token in tokens}
    left = {
        query_id: tuple(token for token in tokens if token not in shared) for query_id, tokens in task.queries.items()
    }
    return replace(task, queries={query_id: tokens for query_id, tokens in left.items() if tokens})


def measure_stripped(
    encoded: EncodedTask, methods: tuple[str, ...], parameters: Parameters, depth: int, n_threads: int = 1
) -> StrippedResult | None:
    """Measures `auto`, or the last method if it is not among them, with the shortened queries. None in one language.

    The documents, their idf and their hubness are the same as for the whole queries.
    """
    task, direction = encoded.task, encoded.task.direction
    if direction.query_language == direction.document_language:
        return None
    method = CORRECTED_METHOD if CORRECTED_METHOD in methods else methods[-1]
    rest = replace(encode(stripped(task), encoded.embeddings), hubness=encoded.hubness)
    translated = translated_scores(rest)
    rest = with_default_candidates(rest, translated, depth)
    found = method_distances(rest, method, parameters, depth, n_threads)
    if method == CORRECTED_METHOD:
        found = by_evidence(rest, translated, found, depth)
    n_tokens = sum(map(len, task.queries.values()))
    n_left = sum(map(len, rest.task.queries.values()))
    return StrippedResult(
        method,
        measure(task.qrels, make_run(rest, found, depth)),
        recall(task.qrels, first_stage_run(rest, depth), depth),
        (n_tokens - n_left) / n_tokens,
        len(task.queries) - len(rest.task.queries),
    )
