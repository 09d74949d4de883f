"""Writes the answer: the engine's own text, with the caller's page of hits in their new order.

All that is not re-ranking's to change (totals, aggregations, suggestions, profile, each hit's own parts) stays as the
engine wrote it, byte for byte.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from reranker.base.raw_json import (
    RawObject,
    read_object,
    write_array,
    write_object,
)
from reranker.proxy.page import Page, Place
from reranker.proxy.rank import RankedWindow
from reranker.proxy.search import ProxyRequest, Translations
from reranker.proxy.window import AsItCame
from reranker.query_dsl.filter_path import filtered_answer
from reranker.ranking.ranked import Reranking
from reranker.service.json_text import float_text, json_bytes
from reranker.upstream.answers import EngineAnswer, Fetched
from reranker.upstream.incoming import is_true

DETAILS_KEY = "_rerank"
_WEIGHT_DECIMALS = 3


def write_answer(request: ProxyRequest, fetched: Fetched, lines: Sequence[Page | AsItCame], added_ms: float) -> bytes:
    """The answer to a request whose searches are ranked.

    Args:
        fetched: the engine's answer, in whose text the pages are written.
        lines: of the request; of a `_search` one.
        added_ms: what all else took; `took` is to count it.
    """
    pieces = [_written(line, added_ms) for line in lines]
    if fetched.responses is None:
        written = pieces[0]
    else:
        changes = {"responses": write_array(fetched.text, fetched.responses, pieces)}
        took = fetched.raw.parsed.get("took")
        if isinstance(took, int):
            changes["took"] = str(took + round(added_ms))
        written = write_object(fetched.text, fetched.raw, replace=changes)
    # With what stands around the object, the last line end for example.
    text = fetched.text[: fetched.raw.start] + written + fetched.text[fetched.raw.end :]
    parameters = request.calls.incoming.parameters
    if filter_path := parameters.get("filter_path"):
        text = filtered_answer(text, filter_path, is_true(parameters.get("pretty")))
    return json_bytes(text)


def _written(line: Page | AsItCame, added_ms: float) -> str:
    """The answer to one search: the caller's page, re-ranked or not, without what he did not ask for."""
    if isinstance(line, AsItCame):
        return line.answer.whole
    window, ranking, changes = line.ranked.window, line.ranked.ranking, {}
    answer = window.answer
    assert answer.hits is not None  # noqa: S101 - there would be no page
    written = [_hit(line.ranked, *one, line.highlights.get(number)) for number, one in enumerate(line.hits)]
    outer: RawObject = answer.raw.parsed["hits"]
    of_hits = {"hits": write_array(answer.text, answer.hits, written)}
    if (window.search.page.is_behind or ranking is not None) and outer.parsed.get("max_score") is not None:
        # Behind the window the first hit of all pages is not at hand, so its score is not known.
        best = ranking.documents[:1] if ranking is not None else ()
        of_hits["max_score"] = float_text(best[0].score) if best else "null"
    if ranking is not None and window.search.page.is_cut:
        # What the caller pages through: nothing behind the window belongs to it.
        n, total = len(ranking.documents), outer.parsed.get("total")
        if isinstance(total, Mapping):
            of_hits["total"] = f'{{"value":{n},"relation":"eq"}}'
        elif total is not None:
            of_hits["total"] = str(n)
    changes["hits"] = write_object(answer.text, outer, replace=of_hits)
    took = answer.raw.parsed.get("took")
    if isinstance(took, int):
        changes["took"] = str(took + round(added_ms))
    added = {}
    if section := _section(line, ranking):
        if (ext := answer.raw.member("ext")) is None:
            added["ext"] = json.dumps({"rerank": section})
        else:
            engines, _ = read_object(answer.text, ext.value_start)
            changes["ext"] = write_object(answer.text, engines, drop=("rerank",), add={"rerank": json.dumps(section)})
    return write_object(answer.text, answer.raw, replace=changes, add=added)


def _section(page: Page, ranking: Reranking | None) -> dict[str, Any]:
    """What `ext.rerank` says of a page: whether its search has a good answer, how many hits were re-ranked and in which
    language its query was read, where somebody asked for it, and which order each hit came from, where it is
    interleaved."""
    section: dict[str, Any] = {}
    search, teams = page.ranked.window.search, page.ranked.teams
    if ranking is not None and (search.with_details or search.min_relevance is not None):
        section["no_good_answer"] = (teams or ranking).has_no_good_answer
        if search.min_relevance is not None:
            section["n_cut"] = ranking.n_cut
        if search.with_details:
            section["n_reranked"] = ranking.n_candidates
            if (weighed := page.ranked.weighed) is not None:
                section["language"] = weighed.query.language
    if teams is not None:
        section |= {"search_id": teams.search_id, "teams": page.teams}
    return section


def _hit(ranked: RankedWindow, place: Place, answer: EngineAnswer, index: int, highlight: str | None) -> str:
    """A hit of the page, from a whole window or from the page that was fetched; with a new `highlight`, if any."""
    window, search, document = ranked.window, ranked.window.search, answer.hit(index)
    changes = {} if place.score is None else {"_score": float_text(place.score)}
    added = {DETAILS_KEY: _details(ranked, place)} if search.with_details else {}
    if highlight is not None:
        (changes if "highlight" in document.parsed else added)["highlight"] = highlight
    if window.kind is not None:
        # The page was asked by other clauses: what the engine thought of the hit stands in the window.
        for name in ("_score", "sort"):
            if name in window.answer.found[place.index] and name not in changes:
                changes[name] = _member_text(window.answer, place, name)
    return write_object(answer.text, document, search.added_keys, changes, added)


def _member_text(answer: EngineAnswer, place: Place, name: str) -> str:
    """What a member of a hit says, as the engine wrote it; `null` where there is none."""
    member = answer.hit(place.index).member(name)
    return "null" if member is None else answer.text[member.value_start : member.end]


def _details(of: RankedWindow, place: Place) -> str:
    window, ranked, ranking = of.window, place.ranked, of.ranking
    if ranked is None or ranking is None or of.collected is None:  # the engine's order
        how: dict[str, Any] = {"method": "none", "precision": "none", "has_feedback": False}
        how |= {"without_known_word": False, "distance": None, "order_distance": None, "hubness": None}
        how |= {"lacking_words": [], "score_parts": None, "score_sources": None, "relevance": None}
    else:
        how = {"method": ranking.method, "precision": ranking.precision, "has_feedback": ranking.has_feedback}
        is_known = not ranked.without_known_word
        how["without_known_word"] = ranked.without_known_word
        how["distance"] = ranked.distance if is_known else None
        how["order_distance"] = ranked.order_distance if is_known else None
        how["hubness"], how["lacking_words"] = ranked.correction.hubness, list(ranked.correction.lacking_words)
        how["score_parts"] = ranked.parts
        how["relevance"] = ranked.relevance
        how["score_sources"] = ranked.sources(window.search.query.embeddings, of.collected.doc_ids.__getitem__)
    if window.translation is not None:
        how["translations"] = _by_language(window.translation.groups)
    first_stage_rank = window.search.page.fetched_from + place.index + 1
    score = _member_text(window.answer, place, "_score")
    return (
        f'{{"rank":{place.rank},"first_stage_rank":{first_stage_rank},"first_stage_score":{score},'
        f"{json.dumps(how, ensure_ascii=False, separators=(',', ':'), default=dict)[1:]}"
    )


def _by_language(translations: Translations) -> dict[str, Any]:
    """By language, query word and its translations their weights."""
    return {
        language: {
            group.token: {each.term: round(each.weight, _WEIGHT_DECIMALS) for each in group.translations}
            for group in groups
        }
        for language, groups in translations.items()
    }
