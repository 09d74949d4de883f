"""`sinkrank evaluate` and `sinkrank tune` on an index that Sinkrank did not make: through the proxy, with the caller's
query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sinkrank.actions import in_process_proxy, judged, tuned
from sinkrank.console import output, resources

if TYPE_CHECKING:
    from collections import Counter

    from evaluation.judged.comparison import Way
    from evaluation.judged.proxy_way import ProxySearches
    from evaluation.judged.query_template import QueryTemplate
    from reranker.service.settings import Settings
    from reranker.stores.engine.store import EngineStore

# A query over more fields is slow, and most of so many fields are not text that people search.
_MAX_FIELDS = 100


def is_wanted(settings: Settings, template: Path | None) -> bool:
    """Whether to search through the proxy: a template was given, or the index is not ours."""
    return template is not None or in_process_proxy.is_foreign(settings)


def compare(
    settings: Settings,
    window: int,
    template: Path | None,
    queries: Path,
    qrels: Path,
    methods: Sequence[str],
    folder: Path | None,
    as_json: bool,
) -> None:
    """Compares each method with the engine's own order. Prints, and writes a report and TREC runs into a folder."""
    from evaluation.judged.judgments import read_judged_queries

    names = judged.after_first_stage(methods)
    found = read_judged_queries(queries, qrels)
    with _opened(settings, template) as searches, output.progress_bars() as progress:
        runs = [searches.run(_way(settings, name, window), found, progress) for name in names]
    outcomes = {name: dict(outcome) for name, outcome in searches.outcomes.items() if name != "none"}
    judged.present(str(settings.index), runs, found, folder, as_json, {"searches": outcomes})
    if not as_json:
        for name in outcomes:
            output.results().print(_told(name, searches.outcomes[name]), markup=False)


def tune(settings: Settings, template: Path | None, queries: Path, qrels: Path, as_json: bool) -> None:
    """Chooses method, epsilon, tau and window, and prints them as lines of sinkrank.toml."""
    from evaluation.judged.judgments import read_judged_queries
    from evaluation.judged.tuning import tune as choose

    found = read_judged_queries(queries, qrels)
    start = _way(settings, settings.method, settings.proxy_window_size)
    with _opened(settings, template) as searches, output.progress_bars() as progress:
        tuning = choose(start, lambda way, some: searches.run(way, some, progress), found, judged.MEASURE)
    tuned.present(tuning, as_json)


@contextmanager
def _opened(settings: Settings, template: Path | None) -> Iterator[ProxySearches]:
    """
    Raises:
        WrongParameter: no index is named, or the store is not an engine.
        BadInput, NotFound: the template or the index cannot be used.
    """
    from evaluation.judged.proxy_way import ProxySearches
    from evaluation.judged.query_template import QueryTemplate
    from reranker.base.errors import WrongParameter

    if settings.index is None:
        raise WrongParameter("a search through the proxy needs the name of the index; give --index NAME")
    read = None if template is None else QueryTemplate.read(template)
    with in_process_proxy.opened_proxy(settings) as (app, engine):
        read = read or _plain_template(engine, settings.index)
        yield ProxySearches(app, read, settings.index, in_process_proxy.caller_headers(settings))


def _plain_template(engine: EngineStore, index: str) -> QueryTemplate:
    """A query over all text fields of the index."""
    from evaluation.judged.query_template import QueryTemplate
    from reranker.base.errors import BadInput
    from reranker.stores.engine.fields import text_fields

    fields = sorted({name for mappings in engine.mappings(index) for name in text_fields(mappings)})
    if not 0 < len(fields) <= _MAX_FIELDS:
        raise BadInput(
            f"index {index!r} has {len(fields)} text fields; say which to search with --template FILE, the body of a "
            'search with {{text}} in the place of the query: {"query": {"match": {"body": "{{text}}"}}}'
        )
    output.talk().print(f"searching the text fields {', '.join(fields)}; --template asks another way", markup=False)
    return QueryTemplate.over(fields)


def _way(settings: Settings, method: str, window: int) -> Way:
    from evaluation.judged.comparison import Way
    from evaluation.judged.proxy_way import FIRST_STAGE

    return Way(method, method, FIRST_STAGE, window, resources.parameters_of(settings))


def _told(name: str, outcomes: Counter[str]) -> str:
    """The number of searches by outcome: re-ranked, or the reason why not."""
    counted = ", ".join(f"{n} {outcome}" for outcome, n in outcomes.most_common())
    return f"\nsearches by {name}: {counted}"
