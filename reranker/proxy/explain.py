"""Explains one hit of a search whose window is ranked: its score taken apart, and the transport word by word."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reranker.answers import ExplainAnswer
from reranker.base.errors import BadInput, Busy, NotAllowed, NotFound, SinkrankError, StoreUnavailable, Unauthenticated
from reranker.proxy.rank import RankedWindow
from reranker.query_dsl.source_texts import source_text
from reranker.ranking.explanation import explain
from reranker.search.answers import explain_answer
from reranker.stores.engine.client import describe_failure
from reranker.text.documents import Document

# Of a search: what it shows of hits, and of all documents. Explaining a hit needs its whole text and nothing else.
_ONLY_SHOWN = frozenset(
    [
        *("_source", "aggregations", "aggs", "docvalue_fields", "explain", "fields", "from", "highlight", "profile"),
        *("script_fields", "size", "stored_fields", "suggest", "version"),
    ]
)


def window_search(body: Mapping[str, Any]) -> dict[str, Any]:
    """The body of a caller's search without what does not matter to an explanation of one of its hits."""
    searched = {name: value for name, value in body.items() if name not in _ONLY_SHOWN} | {"from": 0, "size": 1}
    ext = body.get("ext")
    section = ext.get("rerank") if isinstance(ext, Mapping) else None
    if isinstance(ext, Mapping) and isinstance(section, Mapping):
        # A hit that is left out is explained, too.
        kept = {name: value for name, value in section.items() if name != "min_relevance"}
        searched["ext"] = {**ext, "rerank": kept}
    return searched


def explain_hit(ranked_window: RankedWindow, doc_id: str) -> ExplainAnswer:
    """Takes the score of a hit apart.

    Raises:
        NotFound: it is not among the hits of the window.
        BadInput: these hits keep the engine's order, or no word of the hit has an embedding.
    """
    window, found, weighed = ranked_window.window, ranked_window.found, ranked_window.weighed
    search, ranking = window.search, ranked_window.ranking
    place = next((place for place, hit in enumerate(window.hits) if str(hit.get("_id")) == doc_id), None)
    if place is None:
        raise NotFound(
            f"document {doc_id!r} is not among the first {len(window.hits)} hits of this search, which are those "
            "that are re-ranked; check its id, or re-rank more hits (window_size, depth)"
        )
    if ranking is None or weighed is None or found is None:
        raise not_reranked(ranked_window.outcome.reason)
    hit, (bag, language), (reranker, _, query) = window.hits[place], found.bags[place], weighed
    ranked = next(each for each in ranking.documents if each.index == place)
    source = hit.get("_source")
    text = source_text(source, search.read_fields) or source_text(source, ())
    document = Document(doc_id, text, language)
    explained = explain(
        query.weighted,
        reranker.idf.weigh(bag, language),
        reranker.embeddings,
        search.method,
        search.parameters,
        document=document,
    )
    return explain_answer(
        str(hit.get("_index")),
        query,
        document,
        explained,
        ranked.correction,
        ranked.parts,
        ranked.sources(reranker.embeddings, found.doc_ids.__getitem__),
        () if window.translation is None else window.translation.groups.get(language, ()),
    )


def not_reranked(reason: str) -> BadInput:
    """The error for a search that keeps the engine's order."""
    return BadInput(f"this search keeps the engine's order ({reason}), so there is no score of ours to explain")


def refusal(status: int, details: Any, what: str = "the search", cure: str = "change it") -> SinkrankError:
    """The error for an answer of the engine that is one.

    Args:
        details: its `error`, or whatever it says.
        what: was refused; `cure`: if its body was wrong.
    """
    reason = f"{status}: {describe_failure(details)}"
    if status in (401, 403):
        kind = Unauthenticated if status == 401 else NotAllowed
        return kind(
            f"the engine refuses the credentials ({reason}); send those of a user who may read the index (commands: "
            "store_username and store_password, or store_api_key)"
        )
    if status == 404:
        return NotFound(f"the engine has no such index ({reason}); check its name")
    if status == 429:
        return Busy(f"the engine has too much to do ({reason}); try again")
    if status < 500:
        return BadInput(f"{what} is refused ({reason}); {cure}")
    return StoreUnavailable(f"the engine failed ({reason}); its log says why")
