"""Searches judged queries in an index that Sinkrank did not make: through the proxy, with the caller's query."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sinkrank.actions import in_process_proxy, judged
from sinkrank.console import output, resources

if TYPE_CHECKING:
    from evaluation.judged.query_template import QueryTemplate
    from reranker.service.settings import Settings
    from reranker.stores.engine.store import EngineStore
    from sinkrank.actions.judged import Searching

# A query over more fields is slow, and most of so many fields are not text that people search.
_MAX_FIELDS = 100


def opened(settings: Settings, template: Path | None, window: int) -> AbstractContextManager[Searching]:
    """Searches through the proxy if a template is given or the index is not ours; otherwise by `judged.opened`.

    Args:
        window: number of hits that the proxy re-ranks.
    """
    if template is None and not in_process_proxy.is_foreign(settings):
        return judged.opened(settings)
    return _opened_proxy(settings, template, window)


@contextmanager
def _opened_proxy(settings: Settings, template: Path | None, window: int) -> Iterator[Searching]:
    """
    Raises:
        WrongParameter: no index is named, or the store is not an engine.
        BadInput, NotFound: the template or the index cannot be used.
    """
    from evaluation.judged.comparison import Way
    from evaluation.judged.proxy_way import FIRST_STAGE, ProxySearches
    from evaluation.judged.query_template import QueryTemplate
    from reranker.base.errors import WrongParameter

    if settings.index is None:
        raise WrongParameter("a search through the proxy needs the name of the index; give --index NAME")
    read = None if template is None else QueryTemplate.read(template)
    parameters = resources.parameters_of(settings)

    def way_of(method: str) -> Way:
        return Way(method, method, FIRST_STAGE, window, parameters)

    with in_process_proxy.opened_proxy(settings) as (app, engine):
        read = read or _plain_template(engine, settings.index)
        searches = ProxySearches(app, read, settings.index, in_process_proxy.caller_headers(settings))
        yield judged.Searching(settings.index, way_of, searches.run, searches.outcomes)


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
