"""Reads an engine's search answer where it stands, and writes it with the caller's page of hits in their new order.

All that is not re-ranking's to change (totals, aggregations, suggestions, profile, each hit's own parts) stays as the
engine wrote it, byte for byte.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from reranker.proxy.answer_filters import SourceFilter
from reranker.proxy.raw_json import (
    Member,
    RawArray,
    RawObject,
    read_array,
    read_document,
    read_object,
    read_value,
    write_array,
    write_object,
)
from reranker.ranking.evidence import ScoreParts
from reranker.service.json_text import float_text

DETAILS_KEY = "_rerank"
SEQ_NO_KEYS = ("_seq_no", "_primary_term")


@dataclass(frozen=True, slots=True)
class Ordering:
    """How hits came into their order.

    Attributes:
        precision: the arithmetic used: float32, float64 or log; `none` for the engine's own order.
        has_feedback: the hits were scored again with the query moved towards the best of them.
    """

    method: str
    precision: str
    has_feedback: bool = False


ENGINES_ORDER = Ordering("none", "none")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a hit goes.

    Attributes:
        index: its place among the hits of the engine's answer, from 0.
        score: the new one; None to leave the engine's.
        rank, first_stage_rank: the new one and the engine's, over all pages, from 1.
        ordering: what gave it its place.
        without_known_word: no word of it has an embedding.
        parts: what the score is the sum of; None where it is of the distance alone.
    """

    index: int
    score: float | None
    rank: int
    first_stage_rank: int
    ordering: Ordering
    without_known_word: bool = False
    parts: ScoreParts | None = None


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """An answer in its text; `hits` is None where it holds no list of hits (an error in a multi-search)."""

    text: str
    raw: RawObject
    hits: RawArray | None

    @property
    def found(self) -> list[dict[str, Any]]:
        """The hits in the engine's order."""
        return [] if self.hits is None else [element.parsed for element in self.hits.elements]

    def is_empty(self, offset: int) -> bool:
        """Whether the search found nothing, on any page.

        Args:
            offset: hits that were left out before these; without a total a later page cannot tell.
        """
        if self.hits is None or self.hits.elements:
            return False
        total = self.raw.get("hits").get("total")
        return offset == 0 or (total.get("value") if isinstance(total, Mapping) else total) == 0

    def whole(self) -> str:
        return self.text[self.raw.start : self.raw.end]

    def rearranged(
        self,
        places: Sequence[Place],
        max_score: str | None,
        added_ms: float,
        source_filter: SourceFilter,
        drop: Sequence[str],
        with_details: bool,
        translations: Mapping[str, Any] | None = None,
    ) -> str:
        """The answer with these hits.

        Args:
            max_score: of all pages, in JSON; None to leave the engine's.
            added_ms: what `took` is to count besides the engine's own time.
            drop: keys of a hit that the caller did not ask for.
            translations: of the query's words, for the details.
        """
        if self.hits is None:
            raise ValueError("the answer holds no hits")
        outer: RawObject = self.raw.get("hits")
        shown = [(place, read_object(self.text, self.hits.elements[place.index].start)[0]) for place in places]
        more = {} if translations is None else {"translations": translations}
        details = more if with_details else None
        pieces = [self._hit(hit, place, source_filter, drop, details) for place, hit in shown]
        changed = {"hits": write_array(self.text, self.hits, pieces)}
        if max_score is not None and outer.get("max_score") is not None:
            changed["max_score"] = max_score
        changes = {"hits": write_object(self.text, outer, replace=changed)}
        suggest = self.raw.member("suggest")
        if suggest is not None:
            changes["suggest"] = self._suggestions(suggest, source_filter, drop)
        took = self.raw.get("took")
        if isinstance(took, int):
            changes["took"] = str(took + round(added_ms))
        return write_object(self.text, self.raw, replace=changes)

    def _hit(
        self,
        hit: RawObject,
        place: Place,
        source_filter: SourceFilter,
        drop: Sequence[str],
        details: Mapping[str, Any] | None,
    ) -> str:
        score = {} if place.score is None else {"_score": float_text(place.score)}
        added = {} if details is None else {DETAILS_KEY: self._details(hit, place, details)}
        return self._as_asked(hit, source_filter, drop, score, added)

    def _suggestions(self, suggest: Member, source_filter: SourceFilter, drop: Sequence[str]) -> str:
        """The suggestions; those of a completion are documents, which come with all that the hits come with."""
        raw, _ = read_object(self.text, suggest.value_start)
        changes = {}
        for suggester in raw.members:
            entries, _ = read_array(self.text, suggester.value_start, _read_entry)
            pieces = [
                write_object(self.text, entry.parsed, replace=self._options(entry.parsed, source_filter, drop))
                for entry in entries.elements
            ]
            changes[suggester.key] = write_array(self.text, entries, pieces)
        return write_object(self.text, raw, replace=changes)

    def _options(self, entry: RawObject, source_filter: SourceFilter, drop: Sequence[str]) -> dict[str, str]:
        options: RawArray = entry.get("options")
        pieces = [self._as_asked(option.parsed, source_filter, drop) for option in options.elements]
        return {"options": write_array(self.text, options, pieces)}

    def _as_asked(
        self,
        hit: RawObject,
        source_filter: SourceFilter,
        drop: Sequence[str],
        changes: Mapping[str, str] | None = None,
        added: Mapping[str, str] | None = None,
    ) -> str:
        """A document of the answer without what the caller did not ask for."""
        dropped = [*drop, "_source"] if source_filter.drop else drop
        changed = dict(changes or {})
        source = hit.member("_source")
        if source_filter.extra and source is not None and isinstance(hit.get("_source"), Mapping):
            raw, _ = read_object(self.text, source.value_start)
            changed["_source"] = write_object(self.text, raw, drop=source_filter.extra)
        return write_object(self.text, hit, dropped, changed, added)

    def _details(self, hit: RawObject, place: Place, more: Mapping[str, Any]) -> str:
        score = hit.member("_score")
        written = "null" if score is None else self.text[score.value_start : score.end]
        parts = None if place.parts is None else asdict(place.parts)
        how = {**asdict(place.ordering), "without_known_word": place.without_known_word, "score_parts": parts, **more}
        return (
            f'{{"rank":{place.rank},"first_stage_rank":{place.first_stage_rank},"first_stage_score":{written},'
            f"{json.dumps(how, ensure_ascii=False, separators=(',', ':'))[1:]}"
        )


def read_answer(text: str) -> SearchAnswer:
    """The answer to a search.

    Raises:
        ValueError, RecursionError: it is no JSON object.
    """
    return _answer(text, read_document(text, _read_outer))


def read_answers(text: str) -> tuple[RawObject, RawArray, list[SearchAnswer]]:
    """The answer to a multi-search: the whole, its list of responses, and each of them.

    Raises:
        ValueError, RecursionError: it is no JSON object with a list of objects.
    """
    raw: RawObject = read_document(text, lambda text, at: read_object(text, at, {"responses": _read_responses}))
    responses = raw.get("responses")
    if not isinstance(responses, RawArray):
        raise ValueError("the answer holds no responses")
    return raw, responses, [_answer(text, element.parsed) for element in responses.elements]


def _answer(text: str, raw: RawObject) -> SearchAnswer:
    outer = raw.get("hits")
    hits = outer.get("hits") if isinstance(outer, RawObject) else None
    return SearchAnswer(text, raw, hits if isinstance(hits, RawArray) else None)


def _read_responses(text: str, at: int) -> tuple[RawArray, int]:
    return read_array(text, at, _read_outer)


def _read_outer(text: str, at: int) -> tuple[RawObject, int]:
    return read_object(text, at, {"hits": _read_hits})


def _read_hits(text: str, at: int) -> tuple[Any, int]:
    return read_object(text, at, {"hits": _read_hit_list}) if text[at : at + 1] == "{" else read_value(text, at)


def _read_hit_list(text: str, at: int) -> tuple[RawArray, int]:
    return read_array(text, at, _read_hit)


def _read_hit(text: str, at: int) -> tuple[dict[str, Any], int]:
    """A hit as Python has it: where its parts stand is looked for in those of the page alone."""
    if text[at : at + 1] != "{":
        raise ValueError(f"no hit at {at}")
    return read_value(text, at)


def _read_entry(text: str, at: int) -> tuple[RawObject, int]:
    """Of a suggester's, one for each part of its text."""
    return read_object(text, at, {"options": _read_list})


def _read_list(text: str, at: int) -> tuple[RawArray, int]:
    return read_array(text, at, read_object)
