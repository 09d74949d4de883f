"""`sinkrank evaluate`: compares methods on judged queries, as tables and files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from rich.console import Group

from reranker.base.whole_files import write_whole
from reranker.service.settings_sources import LoadedSettings
from reranker.text.documents import Document
from reranker.transport import check_method
from sinkrank.actions import in_process_proxy
from sinkrank.console import output, resources
from sinkrank.console.tables import methods_table, plain
from sinkrank.evaluation.comparison import (
    ComparedRun,
    IndexSearches,
    QueryMove,
    Run,
    Way,
    by_gain,
    compared_runs,
    query_moves,
)
from sinkrank.evaluation.judgments import JudgedQuery, read_judged_queries
from sinkrank.evaluation.known_queries import N_DOCUMENTS, documents_of_hits, known_queries, sentence
from sinkrank.evaluation.measures import MEASURES

if TYPE_CHECKING:
    from sinkrank.evaluation.proxy_way import ProxySearches

_MAX_MOVES = 5
_MAX_HITS = 5
MEASURE = "nDCG@10"


def after_first_stage(methods: Sequence[str]) -> list[str]:
    """Checks the methods to compare, each once, and puts `none`, the first stage's order, before them.

    Raises:
        WrongParameter: a method is unknown.
    """
    return ["none", *map(check_method, dict.fromkeys(name for name in methods if name != "none"))]


@contextmanager
def opened(
    loaded: LoadedSettings, template: Path | None
) -> Iterator[tuple[IndexSearches | ProxySearches, Callable[[int], Iterable[Document]]]]:
    """What searches the index of the settings, and what draws up to so many of its documents. It searches through the
    proxy if a template is given or Sinkrank did not make the index.

    Raises:
        StoreUnavailable, WrongParameter, BadInput, NotFound: as `in_process_proxy.is_proxied` and `opened_index`.
    """
    settings = loaded.settings
    with resources.opened_searcher(settings) as searcher:
        if not in_process_proxy.is_proxied(loaded, searcher.store, template):
            own = searcher.choose_index(settings.index)
            yield IndexSearches(searcher, own), searcher.open(own).reader.random_documents
            return
        from sinkrank.evaluation.proxy_way import ProxySearches

        engine = in_process_proxy.check_engine(settings, searcher.store)
        index = in_process_proxy.opened_index(settings, engine, searcher.embeddings, template)
        yield ProxySearches(index), lambda n: documents_of_hits(engine.sample(index.name, (), n))


def compare(
    loaded: LoadedSettings,
    template: Path | None,
    queries: Path | None,
    qrels: Path | None,
    methods: Sequence[str],
    folder: Path | None,
    as_json: bool,
) -> None:
    """Compares each method with the first stage alone. Prints, and writes a report and TREC runs into a folder.

    Args:
        qrels: None takes titles of the index as queries, whose document is known.
    """
    names = after_first_stage(methods)
    judged = None if qrels is None else read_judged_queries(queries, qrels, output.talk().print)
    with opened(loaded, template) as (searches, documents), output.progress_bars() as progress:
        if judged is None:
            judged = known_queries(documents(N_DOCUMENTS))
        runs = [searches.run(Way.of(loaded.settings, name, searches.first_stage), judged, progress) for name in names]
    if qrels is not None and not any(run.mean("R@100") for run in runs):
        output.talk().print(f"no search found a relevant document; the ids of {qrels} must be those of the index")
    outcomes = {name: outcome for name, outcome in searches.outcomes.items() if name != "none"}
    summed = present(searches.index, runs, judged, folder, as_json, {"searches": outcomes} if outcomes else {})
    if not as_json:
        if qrels is None:
            for each in summed:
                if each.difference is not None:
                    told = sentence(each.difference, len(judged))
                    output.results().print(f"\n{each.run.way.name}, {told}")
        for name, outcome in outcomes.items():
            counted = ", ".join(f"{n} {what}" for what, n in outcome.most_common())
            output.results().print(f"\nsearches by {name}: {counted}")


def present(
    index: str,
    runs: Sequence[Run],
    judged: Sequence[JudgedQuery],
    folder: Path | None,
    as_json: bool,
    more: Mapping[str, Any] = MappingProxyType({}),
) -> Sequence[ComparedRun]:
    """Prints the comparison of the runs with the first one, writes it into a folder, and returns it.

    Args:
        more: added to the report in JSON.
    """
    moves = list(query_moves(runs, judged, MEASURE))
    summed = compared_runs(runs, MEASURE)
    report = _report(index, summed, moves) | dict(more)
    if folder is not None:
        _write(folder, report, runs)
        output.talk().print(f"written: {folder}")
    if as_json:
        output.print_json(report)
        return summed
    console = output.results(least_width=80)
    console.print(comparison_tables(summed))
    for line in _moved(runs, moves):
        console.print(line)
    return summed


def comparison_tables(summed: Sequence[ComparedRun]) -> Group:
    """The measures, and below them how sure the differences are."""
    first = summed[0].run
    measures = {name: [f"{each.run.mean(name):.3f}" for each in summed] for name in MEASURES}
    certainty = {
        "95 %": [f"{each.interval.low:.3f}–{each.interval.high:.3f}" for each in summed],
        "difference": [f"{each.difference.mean:+.3f}" if each.difference else "" for each in summed],
        "p": [f"{each.difference.p_value:.3f}" if each.difference else "" for each in summed],
        "better / worse": [
            f"{each.difference.n_better} / {each.difference.n_worse}" if each.difference else "" for each in summed
        ],
        "worse by .1": [str(each.difference.n_much_worse) if each.difference else "" for each in summed],
    }
    methods = [each.run.way.name for each in summed]
    n_queries = output.counted(len(first.ranking), "query", "queries")
    title = f"{n_queries}; p: paired randomisation test of {MEASURE} against {first.way.name}, Holm"
    return Group(title, methods_table(methods, measures), methods_table(methods, certainty))


def _moved(runs: Sequence[Run], moves: Sequence[QueryMove]) -> list[str]:
    """The queries with the largest gains and losses of each method, with the ranks of their relevant documents."""
    first = runs[0]
    lines = []
    for run in runs[1:]:
        ordered = by_gain(moves, run, first)
        if not ordered:
            lines.append(f"\n{run.way.name} changes no query's {MEASURE}")
            continue
        lines.append(f"\n{run.way.name} against {first.way.name}, the largest gains and losses:")
        displayed = ordered if len(ordered) <= 2 * _MAX_MOVES else [*ordered[:_MAX_MOVES], *ordered[-_MAX_MOVES:]]
        for move in displayed:
            change = move.values[run.way.name] - move.values[first.way.name]
            relevant = [
                f"{plain(doc).plain} {ranks[first.way.name] or '–'} → {ranks[run.way.name] or '–'}"
                for doc, ranks in move.ranks.items()
                if move.query.relevance[doc] > 0
            ]
            more = f" and {len(relevant) - _MAX_HITS} more" if len(relevant) > _MAX_HITS else ""
            hits = "; ".join(relevant[:_MAX_HITS]) + more
            lines.append(f"  {change:+.3f}  {plain(move.query.text).plain}: {hits}")
    return lines


def _report(index: str, summed: Sequence[ComparedRun], moves: Sequence[QueryMove]) -> dict[str, Any]:
    return {
        "index": index,
        "baseline": summed[0].run.way.name,
        "measure": MEASURE,
        "methods": {
            each.run.way.name: {
                "means": {name: each.run.mean(name) for name in MEASURES},
                "interval": list(each.interval[1:]),
                "difference": None if each.difference is None else vars(each.difference),
            }
            for each in summed
        },
        "queries": [
            {
                "query_id": move.query.query_id,
                "query": move.query.text,
                "values": dict(move.values),
                "ranks": {doc: dict(ranks) for doc, ranks in move.ranks.items()},
            }
            for move in moves
        ],
    }


def _write(folder: Path, report: dict[str, Any], runs: Sequence[Run]) -> None:
    for run in runs:
        lines = [
            f"{query_id} Q0 {doc} {rank} {1 / rank:.6f} {run.way.name}\n"
            for query_id, docs in run.ranking.items()
            for rank, doc in enumerate(docs, start=1)
        ]
        write_whole(folder / f"{run.way.name}.run", "".join(lines).encode())
    text = json.dumps(report, ensure_ascii=False, indent=2, allow_nan=False)
    write_whole(folder / "judged.json", f"{text}\n".encode())
