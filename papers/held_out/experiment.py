"""Runs every method over every task of a plan and measures the rankings; prints and writes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ingest.progress import Progress, no_progress
from papers.base.measures import measure, recall
from papers.base.names import check_name
from papers.corpora.tasks import (
    DEFAULT_LIMIT,
    DEFAULT_QUERY_KINDS,
    QUERY_KINDS,
    SAMPLE_SEED,
    Direction,
    make_task,
)
from papers.held_out.identical_spellings import StrippedResult, measure_stripped
from papers.held_out.translated import by_evidence, translated_scores, with_default_candidates
from papers.systems.corrected import sample_of
from papers.systems.protocol import Distances, System, fit
from papers.systems.runs import EncodedTask, encode, first_stage_run, make_run, plain_run, unknown_shares
from papers.systems.transport import Transport
from papers.systems.unknown_words import RULES, by_rule
from reranker.base.errors import BadInput, WrongParameter
from reranker.embeddings import Embeddings
from reranker.ranking.corrections import CORRECTED_METHOD
from reranker.transport import Parameters, check_method
from sinkrank.demo.pages import Corpus

# Without `emd`: for 400 queries and 400 pages it takes some ten times as long as all the others together.
DEFAULT_METHODS = ("nbow", "rwmd", "sinkhorn", "relaxed", "auto")
DEFAULT_DEPTH = 100


@dataclass(frozen=True)
class Plan:
    """What to evaluate.

    Attributes:
        limit: number of test pages in a task; None for all.
        depth: candidates of the first stage that the second re-ranks.
        everything: whether to re-rank all documents too, to see what the first stage loses.
        unknown_words: rule for tokens without an embedding (`papers.systems.unknown_words`).
        systems: names of other systems (`papers.systems`). They rank all documents.
    """

    directions: tuple[Direction, ...]
    query_kinds: tuple[str, ...] = DEFAULT_QUERY_KINDS
    methods: tuple[str, ...] = DEFAULT_METHODS
    limit: int | None = DEFAULT_LIMIT
    depth: int = DEFAULT_DEPTH
    everything: bool = True
    seed: int = SAMPLE_SEED
    parameters: Parameters = field(default_factory=Parameters)
    unknown_words: str = "parts"
    systems: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, given in (
            ("directions", self.directions),
            ("kinds of query", self.query_kinds),
            ("methods", self.methods),
        ):
            if not given or len(set(given)) != len(given):
                raise WrongParameter(
                    f"the {name} are {', '.join(map(str, given)) or 'none'}; give at least one, each once"
                )
        for method in self.methods:
            check_method(method)
        for query_kind in self.query_kinds:
            check_name(query_kind, QUERY_KINDS, "a kind of query")
        check_name(self.unknown_words, tuple(RULES), "a rule for unknown words")
        if self.depth < 1:
            raise WrongParameter(f"depth is {self.depth}; give 1 or more")
        if self.systems and not self.everything:
            raise WrongParameter(
                "systems rank all documents, so the methods must too: leave out --candidates or --systems"
            )

    @property
    def n_tasks(self) -> int:
        return len(self.directions) * len(self.query_kinds)


@dataclass(frozen=True)
class MethodResult:
    """A method's measures over the first stage's candidates and, if the plan has `everything`, over all documents."""

    method: str
    two_stage: Mapping[str, float]
    everything: Mapping[str, float] | None


@dataclass(frozen=True)
class SystemResult:
    """A system's measures over all documents, and its costs. Our own methods are systems too.

    Attributes:
        document_ms: CPU time (ms, all threads) for a document, once.
        query_ms: CPU time (ms, all threads) for a query: its preparation and the distances to all documents.
    """

    system: str
    measures: Mapping[str, float]
    document_ms: float
    query_ms: float

    @classmethod
    def of(cls, name: str, measures: Mapping[str, float], found: Distances) -> SystemResult:
        n_queries, n_documents = found.values.shape
        return cls(name, measures, 1000 * found.document_s / n_documents, 1000 * found.query_s / n_queries)


@dataclass(frozen=True)
class TaskResult:
    """The results of a task.

    Attributes:
        recall: recall of the first stage at the plan's depth, the upper bound of `two_stage`.
        n_unknown: number of queries without a known word; they find nothing.
        mean_query_words: mean number of distinct known words in a query.
        unknown_shares: share (0 to 1) of the tokens without an embedding, in the queries and in the documents.
        skipped_shares: the same with the rule `skip`, with which no word borrows an embedding.
        systems: the methods and the plan's systems; empty if the plan has no systems.
        stripped: one method with identical spellings removed from the queries; None if not measured.
    """

    direction: Direction
    query_kind: str
    n_queries: int
    n_documents: int
    n_unknown: int
    mean_query_words: float
    recall: float
    left_out: Mapping[str, int]
    methods: tuple[MethodResult, ...]
    unknown_shares: tuple[float, float] = (0.0, 0.0)
    skipped_shares: tuple[float, float] = (0.0, 0.0)
    systems: tuple[SystemResult, ...] = ()
    stripped: StrippedResult | None = None


@dataclass(frozen=True)
class FittedSystem:
    """A system's part of a report (see `System`), with the CPU time (s) of training or loading."""

    name: str
    description: str
    data: str
    fit_s: float


def fit_systems(
    systems: Sequence[System], corpus: Corpus, progress: Progress = no_progress
) -> tuple[FittedSystem, ...]:
    """Fits each system on the training pages.

    Raises:
        SinkrankError: the data of a system is not available.
    """
    return tuple(
        FittedSystem(system.name, system.description, system.data, fit(system, corpus.train_pages, progress))
        for system in systems
    )


def run_plan(
    corpus: Corpus,
    embeddings: Embeddings,
    plan: Plan,
    n_threads: int = 1,
    progress: Progress = no_progress,
    systems: Sequence[System] = (),
) -> Iterator[TaskResult]:
    """Yields the result of each task as soon as it is known, with kinds of query in the outer loop.

    Args:
        systems: the plan's systems, fitted.

    Raises:
        BadInput: the corpus or the embeddings lack a language of a direction.
    """
    languages = {language for each in plan.directions for language in (each.query_language, each.document_language)}
    if missing := sorted(languages - set(embeddings.languages)):
        raise BadInput(
            f"the embeddings have no words in {', '.join(missing)}, only in {', '.join(embeddings.languages)};"
            " train them on this corpus, or take other directions"
        )
    embeddings = by_rule(embeddings, plan.unknown_words)
    asking = {each.query_language for each in plan.directions}
    sample = sample_of(corpus.train_pages, asking, embeddings)
    tasks = [(kind, direction) for kind in plan.query_kinds for direction in plan.directions]
    for place, (query_kind, direction) in enumerate(tasks):
        task = make_task(corpus, direction, query_kind, plan.limit, plan.seed)
        progress(place, len(tasks), f"measuring tasks, {task.name}")
        yield measure_task(encode(task, embeddings, sample), plan, n_threads, systems)
    progress(len(tasks), len(tasks), "measuring tasks")


def measure_task(encoded: EncodedTask, plan: Plan, n_threads: int = 1, systems: Sequence[System] = ()) -> TaskResult:
    """Runs the plan's methods and systems over one task."""
    task = encoded.task
    depth = None if plan.everything else plan.depth
    is_across = task.direction.query_language != task.direction.document_language
    translated = translated_scores(encoded) if is_across else None
    if translated is not None:
        encoded = with_default_candidates(encoded, translated, plan.depth)

    results: list[MethodResult] = []
    beside: list[SystemResult] = []
    for method in plan.methods:
        # A distance depends only on its query and document, so the candidates' distances are a part of all distances.
        ours = Transport(method, encoded.embeddings, plan.parameters, depth, n_threads)
        found = ours.distances_of(encoded)
        two_stage = everything = found.values
        if method == CORRECTED_METHOD and translated is not None:
            two_stage = by_evidence(encoded, translated, found.values, plan.depth)
            everything = by_evidence(encoded, translated, found.values, None) if plan.everything else everything
        of_two_stages = measure(task.qrels, make_run(encoded, two_stage, plan.depth))
        of_everything = measure(task.qrels, make_run(encoded, everything)) if plan.everything else None
        results.append(MethodResult(method, of_two_stages, of_everything))
        if systems and of_everything:
            beside.append(SystemResult.of(method, of_everything, found))
    for system in systems:
        found = system.distances(task)
        beside.append(SystemResult.of(system.name, measure(task.qrels, plain_run(task, found.values)), found))
    return TaskResult(
        direction=task.direction,
        query_kind=task.query_kind,
        n_queries=len(encoded.queries),
        n_documents=len(encoded.doc_ids),
        n_unknown=sum(not len(query) for query in encoded.queries),
        mean_query_words=float(np.mean([len(query) for query in encoded.queries])),
        recall=recall(task.qrels, first_stage_run(encoded, plan.depth), plan.depth),
        left_out=task.left_out,
        methods=tuple(results),
        unknown_shares=encoded.unknown_shares,
        skipped_shares=unknown_shares(task, by_rule(encoded.embeddings, "skip")),
        systems=tuple(beside),
        stripped=measure_stripped(encoded, plan.methods, plan.parameters, plan.depth, n_threads),
    )
