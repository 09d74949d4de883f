"""Searches judged queries in an index that Sinkrank did not make: through the proxy, with the caller's query."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sinkrank.actions import in_process_proxy, judged
from sinkrank.console import resources

if TYPE_CHECKING:
    from reranker.service.settings import Settings
    from sinkrank.actions.judged import Searching


@contextmanager
def opened(settings: Settings, template: Path | None) -> Iterator[Searching]:
    """Searches through the proxy if a template is given or the index is not ours; otherwise by `judged.opened`.

    Raises:
        StoreUnavailable, WrongParameter, BadInput, NotFound: as `in_process_proxy.is_foreign` and `opened_index`.
    """
    from sinkrank.evaluation.comparison import Way
    from sinkrank.evaluation.known_queries import documents_of_hits
    from sinkrank.evaluation.proxy_way import FIRST_STAGE, ProxySearches

    parameters = resources.parameters_of(settings)

    def way_of(method: str) -> Way:
        return Way(method, method, FIRST_STAGE, settings.depth, parameters)

    with resources.opened_searcher(settings) as searcher:
        if template is None and not in_process_proxy.is_foreign(searcher.store, settings.index):
            yield judged.searching(settings, searcher)
            return
        engine = in_process_proxy.check_engine(settings, searcher.store)
        index = in_process_proxy.opened_index(settings, searcher.store, searcher.embeddings, template)
        searches = ProxySearches(index)
        yield judged.Searching(
            index.name,
            way_of,
            searches.run,
            lambda n: documents_of_hits(engine.sample(index.name, (), n)),
            searches.outcomes,
        )
