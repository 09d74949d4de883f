"""`sinkrank traffic`: what live searches say of re-ranking."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reranker.service.settings import Settings
from sinkrank.console import options, output

if TYPE_CHECKING:
    from reranker.answers.traffic import InterleavedVotes, TrafficAnswer
    from reranker.traffic.file import TrafficFile


@options.takes_settings("home", "store")
def traffic(settings: Settings, json_: options.Json = False) -> None:
    """Show what re-ranking would change in the searches that came through the proxy, and which order people click in.

    The service records it with `proxy_mode` `shadow` or `interleave`. Clicks that OpenSearch's User Behavior Insights
    recorded are read first, if the interleaved searches had a `query_id`.

    Example: [bold]sinkrank traffic --store opensearch://localhost:9200[/bold]
    """
    from reranker.traffic.file import TrafficFile

    file = TrafficFile(settings.home)
    _add_clicks_of_ubi(settings, file)
    found = file.report(with_queries=True)
    if json_:
        output.print_json(found)
        return
    for line in _lines(found):
        output.results().print(line, soft_wrap=True)
    if found.queries:
        _print_queries(found)


def _add_clicks_of_ubi(settings: Settings, file: TrafficFile) -> None:
    from reranker.stores.engine.store import EngineStore
    from sinkrank.console.resources import opened_store

    known = file.query_ids()
    if not known:
        return
    with opened_store(settings) as store:
        if isinstance(store, EngineStore):
            file.add_clicks((known[query_id], doc_id) for query_id, doc_id in store.ubi_clicks(list(known)))


def _lines(found: TrafficAnswer) -> list[str]:
    n = found.n_ranked
    has_count = found.n_searches or found.interleaved is None  # interleaved searches have a line of their own
    lines = [f"searches since {found.since}: {found.n_searches:,}"] if has_count else []
    if n:
        lines += [
            f"re-ranked beside the engine: {n:,}, in {found.mean_ms} ms each, {found.mean_engine_ms} ms of it the "
            "engine's",
            f"another first hit:           {found.n_new_first:,} ({found.n_new_first / n:.1%})",
            f"another first page:          {found.n_new_page:,} ({found.n_new_page / n:.1%})",
        ]
    lines += [f"not re-ranked:               {n:,} ({reason})" for reason, n in found.not_ranked.items()]
    return lines if found.interleaved is None else [*lines, *_verdict(found.interleaved)]


def _verdict(votes: InterleavedVotes) -> list[str]:
    lines = [
        f"interleaved searches:        {votes.n_searches:,}; by clicks ours won {votes.wins:,}, the engine's order "
        f"{votes.losses:,}, neither {votes.ties:,}"
    ]
    if votes.low is not None and votes.high is not None:
        lines.append(
            f"ours wins {votes.low:.0%} to {votes.high:.0%} of the searches that one order wins (95 % interval)"
        )
    if votes.winner is not None:
        lines.append(f"verdict:                     {'ours' if votes.winner == 'ours' else 'the engine'}")
    elif not votes.wins + votes.losses + votes.ties:
        lines.append("verdict:                     no clicks yet")
    elif votes.n_searches_needed is None:
        lines.append("verdict:                     none; there is no difference so far")
    else:
        missing = max(0, votes.n_searches_needed - votes.n_searches)
        lines.append(f"verdict:                     none yet; some {missing:,} more searches are needed to tell")
    return lines


def _print_queries(found: TrafficAnswer) -> None:
    from sinkrank.console.tables import plain

    table = output.table("query", "searches", "change", title="queries that change most")
    for each in found.queries:
        table.add_row(plain(each.query), f"{each.n:,}", f"{each.change:.0%}")
    output.results().print(table)
