"""Draws the papers' plots as SVG: the effect of lambda, a transport plan, quality against time."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from papers.suite.questions import Question
from papers.suite.results import REFERENCE, Table
from papers.suite.suite import Outcome
from papers.suite.tabulating import GROUPS, group_of
from papers.systems.runs import encode
from reranker.base.errors import NotFound
from reranker.base.whole_files import write_whole
from reranker.embeddings import Embeddings
from reranker.text.bags import WeightedBag
from reranker.transport import transport

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LAMBDA_NAME, PLAN_NAME, COST_NAME = "lambda.svg", "plan.svg", "cost.svg"

PLAN_WORDS = 20
"""Maximum number of words of the query and of the document in a plot; more could not be read."""

PLAN_METHODS = ("emd", "sinkhorn", "relaxed")

N_COST_TABLES = 2
"""Number of tables in a plot; the first tables of the first collection are whole pages and short queries."""

_MARKERS = "osD^v"

# Without it an SVG has random ids, and the same figures would give another file each time.
_SALT = "sinkrank"


@dataclass(frozen=True, eq=False)
class Pair:
    """A query and its translation, both cut, and the plan of each method.

    Attributes:
        plans: (n_query_words, n_document_words) by method, with columns in the order of `document_words`.
    """

    query_words: tuple[str, ...]
    document_words: tuple[str, ...]
    plans: Mapping[str, NDArray[np.float64]]


def draw(outcomes: Sequence[Outcome], folder: Path) -> list[Path]:
    """Writes the plots for which the outcomes have figures.

    Raises:
        NotFound: matplotlib is not installed.
    """
    try:
        import matplotlib
    except ModuleNotFoundError as error:
        raise NotFound("plots need matplotlib, which is not installed; pip install matplotlib") from error
    figures: dict[str, Figure] = {}
    for outcome in outcomes:
        if outcome.by_epsilon:
            figures[LAMBDA_NAME] = lambda_figure(outcome.by_epsilon)
        short = next((each for each in outcome.collection.questions if each.task.query_kind == "first20"), None)
        if short is not None and PLAN_NAME not in figures:
            figures[PLAN_NAME] = plan_figure(pair_of(short, outcome.embeddings))
    tables = [table for outcome in outcomes for table in outcome.tables if any(row.measures for row in table.rows)]
    if tables:
        figures[COST_NAME] = cost_figure(tables[:N_COST_TABLES])
    written = []
    with matplotlib.rc_context({"svg.hashsalt": _SALT}):
        for name, figure in figures.items():
            buffer = io.BytesIO()
            figure.savefig(buffer, format="svg", metadata={"Date": None}, bbox_inches="tight")
            write_whole(folder / name, buffer.getvalue())
            written.append(folder / name)
    return written


def pair_of(question: Question, embeddings: Embeddings) -> Pair:
    """The first query of a question that has a known word and its document, cut to `PLAN_WORDS` words.

    Document words are in the order of the query words from which `emd` brings most of their mass.
    """
    task = question.task
    cut = {doc_id: tokens[:PLAN_WORDS] for doc_id, tokens in task.documents.items()}
    encoded = encode(replace(task, documents=cut), embeddings)
    # Query n and document n are translations of each other.
    place = next(n for n, query in enumerate(encoded.queries) if len(query) and len(encoded.documents[n]))
    query, document = encoded.queries[place], encoded.documents[place]
    plans = {method: transport(query, document, embeddings.vectors, method).plan for method in PLAN_METHODS}
    order = np.argsort(plans[PLAN_METHODS[0]].argmax(axis=0), kind="stable")
    words = _words(document, embeddings)
    return Pair(
        _words(query, embeddings),
        tuple(words[column] for column in order),
        {method: plan[:, order] for method, plan in plans.items()},
    )


def lambda_figure(by_epsilon: Mapping[str, Mapping[float, float]]) -> Figure:
    """MRR by epsilon, with one line for each kind of query (figure 2 of Balikas et al. 2018)."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4))
    axes = figure.subplots()
    for kind, means in by_epsilon.items():
        axes.plot(list(means), list(means.values()), marker="o", label=kind)
    epsilons = list(next(iter(by_epsilon.values())))
    axes.set(xscale="log", xlabel="epsilon = 1 / lambda", ylabel="MRR of sinkhorn", ylim=(None, 1.0))
    axes.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
    axes.set_xticks([], minor=True)
    axes.legend()
    return figure


def plan_figure(pair: Pair) -> Figure:
    """The plan of each method as a heat map, with query words in rows and document words in columns."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5 * len(pair.plans), 5), layout="constrained")
    largest = max(float(plan.max()) for plan in pair.plans.values())
    for axes, (method, plan) in zip(
        np.atleast_1d(figure.subplots(1, len(pair.plans))), pair.plans.items(), strict=True
    ):
        shown = axes.imshow(plan, cmap="Greys", vmin=0, vmax=largest)
        axes.set_title(method)
        axes.set_xticks(range(len(pair.document_words)), pair.document_words, rotation=90, fontsize="small")
        axes.set_yticks(range(len(pair.query_words)), pair.query_words, fontsize="small")
    figure.colorbar(shown, ax=figure.axes, label="share of all weight that goes from word to word", shrink=0.7)
    return figure


def cost_figure(tables: Sequence[Table]) -> Figure:
    """MRR against the time of a query, with a panel for each table and a point for each system that did all of it.

    A line joins the systems that no other system beats in both (the Pareto front). Only these and the reference have
    labels, because many other points overlap.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8 * len(tables), 6), layout="constrained")
    for axes, table in zip(np.atleast_1d(figure.subplots(1, len(tables))), tables, strict=True):
        points = {row.system: (row.costs.query_ms, row.measures["MRR"]) for row in table.rows if row.measures}
        for place, group in enumerate(GROUPS):
            of_group = [point for system, point in points.items() if group_of(system) == group]
            if of_group:
                axes.plot(*zip(*of_group, strict=True), linestyle="", marker=_MARKERS[place], label=group)
        front = front_of(points)
        axes.plot(*zip(*front.values(), strict=True), color="grey", linewidth=0.8, zorder=0)
        for system in (system for system in points if system in front or system == REFERENCE):
            axes.annotate(
                system, points[system], xytext=(-4, 6), textcoords="offset points", ha="right", fontsize="small"
            )
        axes.set(xscale="log", xlabel="CPU time a query (ms)", ylabel="MRR, mean of the directions", title=table.name)
        axes.margins(x=0.15, y=0.08)  # room for the names
        axes.legend(loc="lower right", fontsize="small")
    return figure


def front_of(points: Mapping[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    """The Pareto front: the systems for which no other is as fast and as good, sorted by time.

    Args:
        points: time and quality by system.
    """
    front: dict[str, tuple[float, float]] = {}
    best = -np.inf
    for system, (time, quality) in sorted(points.items(), key=lambda item: (item[1][0], -item[1][1])):
        if quality > best:
            best, front[system] = quality, (time, quality)
    return front


def _words(bag: WeightedBag, embeddings: Embeddings) -> tuple[str, ...]:
    return tuple(embeddings.term(int(term_id))[1] for term_id in bag.term_ids)
