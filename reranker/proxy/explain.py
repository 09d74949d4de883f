"""Explains one hit of a search whose window is ranked: its score taken apart, and the transport word by word."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from math import inf, nextafter
from typing import Any, NamedTuple

from reranker.answers.explanation import ExplainAnswer
from reranker.base.errors import BadInput, Busy, NotAllowed, NotFound, SinkrankError, StoreUnavailable, Unauthenticated
from reranker.proxy.fetch import look_up
from reranker.proxy.hit_texts import WITHOUT_VECTOR, look_up_body, look_ups
from reranker.proxy.rank import RankedWindow, WindowRanker
from reranker.proxy.search import ProxyRequest, knn_with_k
from reranker.proxy.window import Window
from reranker.query_dsl.source_texts import source_text
from reranker.search.answers import explain_answer
from reranker.stores.engine.client import describe_failure
from reranker.text.documents import Document
from reranker.upstream.calls import Fallback

# Of a search: what it shows of hits, and of all documents. Explaining a hit needs its whole text and nothing else.
_PRESENTATION = frozenset(
    [
        *("_source", "aggregations", "aggs", "docvalue_fields", "explain", "fields", "from", "highlight", "profile"),
        *("script_fields", "size", "stored_fields", "suggest", "version"),
    ]
)


# Of such a search: what a single hit, or a number of hits, is asked for without.
_NOT_OF_ONE = ("collapse", "rescore", "search_after", "sort", "terminate_after")


class _Found(NamedTuple):
    """A document in a ranked window.

    Attributes:
        place: among the hits.
        first_stage_rank: None where the first stage does not find it.
        is_candidate: whether it is a hit by itself, and not added to be explained.
    """

    ranked: RankedWindow
    place: int
    first_stage_rank: int | None
    is_candidate: bool


def window_search(body: Mapping[str, Any]) -> dict[str, Any]:
    """The body of a caller's search without what does not matter to an explanation of one of its hits."""
    searched = {name: value for name, value in body.items() if name not in _PRESENTATION}
    searched |= {**knn_with_k(body), "from": 0, "size": 1}
    ext = body.get("ext")
    section = ext.get("rerank") if isinstance(ext, Mapping) else None
    if isinstance(ext, Mapping) and isinstance(section, Mapping):
        # A hit that is left out is explained, too.
        rest = {name: value for name, value in section.items() if name != "min_relevance"}
        searched["ext"] = {**ext, "rerank": rest}
    return searched


def with_document(request: ProxyRequest, ranked: RankedWindow, doc_id: str, ranker: WindowRanker) -> _Found:
    """The window with a document that is to be explained, which is added to the hits where it is none of them.

    Raises:
        NotFound: the searched indices hold no such document.
        BadInput: the hits keep the engine's order.
        Fallback: the engine cannot be asked.
    """
    window = ranked.window
    if ranked.ranking is None and (window.hits or window.is_refused):
        raise not_reranked(ranked.outcome.reason)
    place = next((place for place, hit in enumerate(window.hits) if str(hit.get("_id")) == doc_id), None)
    if place is not None:
        return _Found(ranked, place, place + 1, is_candidate=True)
    n_hits = len(window.hits)
    hit, rank = _looked_up(request, window, doc_id)
    # It gets nothing of the first stage, and what the others get stays: one that is much lower would change that.
    scores = [one["_score"] for one in window.hits if isinstance(one.get("_score"), int | float)]
    added = {**hit, "_score": nextafter(min(scores), -inf) if scores else None}
    search = replace(window.search, page=replace(window.search.page, window=n_hits + 1))
    answer = replace(window.answer, found=[*window.hits, added])
    larger = replace(window, search=search, answer=answer)
    weighed = ranker.weigh(larger)
    hits = [ranker.at_hand(request, larger, weighed)]
    lacking = look_ups(hits)
    (bags,) = ranker.texts.collect(hits, look_up(request, lacking) if lacking else ())
    assert bags is not None  # noqa: S101 - the window is a whole one
    return _Found(ranker.order(larger, bags, weighed), n_hits, rank, is_candidate=False)


def _looked_up(request: ProxyRequest, window: Window, doc_id: str) -> tuple[Mapping[str, Any], int | None]:
    """A document that is no hit of the window, and its rank; None where the search does not find it."""
    search = window.search
    named = {"ids": {"values": [doc_id]}}
    changed: dict[str, Any] = {"from": 0, "size": 1, "seq_no_primary_term": True, "track_total_hits": False}
    changed |= {} if window.translation is None else {"query": window.translation.query}
    own_filter = search.body.raw.parsed.get("post_filter")
    filters = [named, *([] if own_filter is None else [own_filter])]
    asked = search.changed_body(changed | {"post_filter": {"bool": {"filter": filters}}}, _NOT_OF_ONE)
    is_found_alone = "collapse" not in search.body.raw.parsed  # else another hit may stand for it
    with suppress(Fallback):
        for hit in look_up(request, [(search, asked)])[0].found if is_found_alone else ():
            counted = {"min_score": hit.get("_score"), "size": 0, "track_total_hits": True}
            (better,) = look_up(request, [(search, search.changed_body(changed | counted, _NOT_OF_ONE))])
            return hit, max(better.total, len(window.hits) + 1)
    (found,) = look_up(request, [(search, look_up_body(search, [{"_id": doc_id}], WITHOUT_VECTOR))])
    for hit in found.found:
        return hit, None
    raise NotFound(f"the searched indices hold no document {doc_id!r}, or you may not read it; check its id")


def explain_hit(found: _Found) -> ExplainAnswer:
    """Takes the score of a hit apart.

    Raises:
        BadInput: no word of the hit has an embedding.
    """
    window, bags, weighed = found.ranked.window, found.ranked.collected, found.ranked.weighed
    search, ranking = window.search, found.ranked.ranking
    if ranking is None or weighed is None or bags is None:
        raise not_reranked(found.ranked.outcome.reason)
    hit, (_, language) = window.hits[found.place], bags.bags[found.place]
    source = hit.get("_source")
    text = source_text(source, search.read_fields) or source_text(source, ())
    return explain_answer(
        str(hit.get("_index")),
        weighed.query,
        Document(str(hit.get("_id")), text, language),
        ranking,
        found.place,
        found.first_stage_rank,
        found.is_candidate,
        search.parameters,
        bags.doc_ids.__getitem__,
        () if window.translation is None else window.translation.groups.get(language, ()),
    )


def not_reranked(reason: str) -> BadInput:
    """The error for a search that keeps the engine's order."""
    return BadInput(f"this search keeps the engine's order ({reason}), so it has no score of Sinkrank's to explain")


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
