"""What goes through the proxy: a request with its searches, each of which carries what was read, fetched and ranked.

read → fetch → rank → write

`read` makes the objects here from a request; the later steps add to them. Nothing is read twice.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, NamedTuple

import orjson

from reranker.base.raw_json import RawObject, write_object
from reranker.proxy.bare_windows import BARE_MEMBERS, PAGE_ONLY, BarePlan
from reranker.query_dsl.answer_filters import SourceFilter
from reranker.query_dsl.clauses import Field
from reranker.query_dsl.scoring import ALL_FIELDS, FieldTypes
from reranker.query_dsl.sort import TieKey
from reranker.ranking.query import Query
from reranker.ranking.ranked import RankedDocument, Reranking
from reranker.ranking.reranker import Reranker
from reranker.service.json_text import json_bytes
from reranker.service.text_bags import Bag
from reranker.translation import WordGroup
from reranker.transport import Parameters
from reranker.upstream.answers import SearchAnswer
from reranker.upstream.calls import EngineCalls

MAX_TEXT_FIELDS = 20
# A document's first 500 words are read: a title that is read more often would leave no room for the text.
_MAX_FIELD_WEIGHT = 5


@dataclass(slots=True)
class PagePlan:
    """A page of hits, of which the first `window` over all pages are re-ranked.

    Page after page shows the re-ranked window of W hits and then the engine's own order, each hit once:

        from + size ≤ W     fetch the window, re-rank it, cut the page out
        from < W < …        fetch up to the page's end, re-rank the first W, leave the rest behind them
        from ≥ W            fetch the page and leave its order: behind the window both orders are the same
        search_after        fetch the window and a page behind it, and cut out what follows the named hit

    Attributes:
        after: `sort` of the hit that the page follows; its `offset` is known once the window is ranked.
        is_behind: whether no hit of the page is in the window, so that nothing is re-ranked.
        fetched_from, n_fetch: the `from` and `size` that the engine is asked for.
    """

    offset: int
    size: int
    window: int
    after: Sequence[Any] | None = None
    is_behind: bool = field(init=False)
    fetched_from: int = field(init=False)
    n_fetch: int = field(init=False)

    def __post_init__(self) -> None:
        self.is_behind = self.offset >= self.window
        self.fetched_from = self.offset if self.is_behind else 0
        self.n_fetch = self.size if self.is_behind else max(self.window, self.offset + self.size)
        if self.after is not None:
            self.n_fetch = self.window + self.size


@dataclass(frozen=True, slots=True)
class SearchBody:
    """The body of a search as the caller wrote it: its text, and where its members stand.

    Attributes:
        other_ext: the sections of `ext` beside ours; None where there are none.
        without_ours: what to pass on where re-ranking fails; None for the text, which has no section of ours.
    """

    text: str
    raw: RawObject
    other_ext: Mapping[str, Any] | None = None
    without_ours: bytes | None = None


Translations = Mapping[str, Sequence[WordGroup]]
"""The word groups of a query by the language of the documents."""


@dataclass(frozen=True, slots=True)
class TranslatedQuery:
    """A search's query in the languages of the documents."""

    query: Any
    groups: Translations


class Weighed(NamedTuple):
    """A query that a re-ranker has weighed.

    Attributes:
        languages: that its own is guessed among first; None for those that the re-ranker prefers.
    """

    reranker: Reranker
    languages: tuple[str, ...] | None
    query: Query


@dataclass(slots=True)
class Skipped:
    """A search of a multi-search that is not re-ranked.

    Attributes:
        header: its line as it came.
        as_it_came: its body, without our section.
    """

    header: bytes
    as_it_came: bytes
    reason: str
    status: str = "skipped"
    message: str = ""
    answer: SearchAnswer | None = None


@dataclass(slots=True)
class Place:
    """Where a hit goes.

    Attributes:
        index: its place among the hits of the engine's answer, from 0.
        score: the new one; None to leave the engine's.
        rank, first_stage_rank: the new one and the engine's, over all pages, from 1.
        ranked: what re-ranking says of it; None where the engine's order gave it its place.
    """

    index: int
    score: float | None
    rank: int
    first_stage_rank: int
    ranked: RankedDocument | None = None


@dataclass(slots=True)
class Search:
    """A search that is to be re-ranked.

    Read from the request:

    Attributes:
        header: its line in a multi-search; empty otherwise.
        indices: that it searches, patterns among them; none where it searches in all.
        query: the text to re-rank by, read by the service's re-ranker and not weighed yet.
        language: of the query, where the caller names one.
        text_fields: of `_source`, that the caller or the settings name.
        query_fields: of `_source`, that the query names, with their boosts; `*` stands for every string. They are read
            where there are no `text_fields`, and every string where a hit has none of them.
        added_keys: of a hit, which the caller did not ask for.
        with_details: whether each hit is to say how it came to its place.
        clause: the query in the engine's words, that of the URL among it; None where there is none.
        types: of the fields of the searched indices.
        translate: when it is asked in translation: `no_hits`, `always`, `never`.
        languages: of the documents, where the caller names them.
        is_translated_at_once: whether the engine may be asked in translation before it was asked as the caller wrote.
        bare_plan: how it can be asked for a window without its text.
        ties: keys that order hits of the same score.

    Added by the later steps:

    Attributes:
        weighed: the query by the document frequencies of the searched indices.
        bare_kind: of the window that was asked for; None for a whole one.
        doc_ids: of the hits of a bare window, as far as they are known.
        has_stored_bags: whether all hits of the window are of indices of our own.
        known_share: of the bags of the window, that earlier searches brought; of our own all or none. None where that
            does not matter.
        shown: of a bare window, the hits of the page as the engine wrote them, each with its place and text.
        is_lost: a bare window is of no use: the bags or the page's hits cannot be had.
        was_misread: known bags were those of other documents, as of an index that was deleted and made anew.
        translation: that it was asked in; None where it was asked as the caller wrote it.
        answer: the engine's.
        bags: of the hits of the window; none before they are collected.
        is_refused: the engine refused the window, and the answer is to the search as it came.
        ranking: of the hits in the window; None where the engine's order stays.
        status: `applied`, `skipped` (it was not to be re-ranked) or `fallback` (it could not be); empty until then.
        reason: also `translated`, of a re-ranked search.
        message: for the log.
    """

    header: bytes
    body: SearchBody
    indices: tuple[str, ...]
    query: Query
    language: str | None
    method: str
    parameters: Parameters
    feedback: bool
    first_stage_share: float | None
    page: PagePlan
    source_filter: SourceFilter
    text_fields: tuple[str, ...]
    query_fields: tuple[Field, ...]
    added_keys: tuple[str, ...]
    with_details: bool
    clause: Any
    types: FieldTypes
    translate: str
    languages: tuple[str, ...]
    is_translated_at_once: bool
    bare_plan: BarePlan
    ties: tuple[TieKey, ...] = ()

    weighed: Weighed | None = None
    bare_kind: str | None = None
    doc_ids: list[str] = field(default_factory=list)
    has_stored_bags: bool = False
    known_share: float | None = None
    shown: Sequence[tuple[Place, str, RawObject]] = ()
    is_lost: bool = False
    was_misread: bool = False
    translation: TranslatedQuery | None = None
    answer: SearchAnswer | None = None
    bags: Sequence[Bag] = ()
    is_refused: bool = False
    ranking: Reranking | None = None
    status: str = ""
    reason: str = ""
    message: str = ""

    # The fields of `_source` to read first; every string where there are none.
    read_fields: tuple[str, ...] = field(init=False)
    # The same, the highest boost first, each as often as its boost says.
    weighted_fields: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        names = self.text_fields or tuple(one.name for one in self.query_fields)
        self.read_fields = () if ALL_FIELDS in names or len(names) > MAX_TEXT_FIELDS else names
        self.weighted_fields = self.read_fields
        if self.text_fields or not self.read_fields:
            return
        # Next to `text`, `title^5` is read five times, so that its words weigh five times as much.
        boosted = sorted(self.query_fields, key=attrgetter("boost"), reverse=True)
        least = boosted[-1].boost
        if least > 0:
            times = [(one.name, min(_MAX_FIELD_WEIGHT, round(one.boost / least))) for one in boosted]
            self.weighted_fields = tuple(name for name, n in times for _ in range(n))

    @property
    def found(self) -> Sequence[dict[str, Any]]:
        """The hits in the engine's order."""
        return () if self.answer is None else self.answer.found

    def doc_id(self, place: int) -> str:
        """The id of a hit of the window."""
        return str(self.found[place].get("_id")) if self.bare_kind is None else self.doc_ids[place]

    @property
    def is_passed_on(self) -> bool:
        """Whether the page follows a hit whose new place is not known: only the engine can go on from there."""
        return self.page.after is not None and self.ranking is None

    @property
    def is_empty(self) -> bool:
        """Whether it found nothing, on any page; without a total a later page cannot tell."""
        if self.answer is None or self.answer.hits is None or self.found:
            return False
        total = self.answer.raw.parsed["hits"].parsed.get("total")
        return self.page.fetched_from == 0 or (total.get("value") if isinstance(total, Mapping) else total) == 0

    @property
    def window(self) -> Sequence[dict[str, Any]]:
        """Those that are to be re-ranked."""
        return () if self.page.is_behind else self.found[: self.page.window]

    def window_body(self, translation: TranslatedQuery | None, bare_kind: str | None) -> bytes:
        """The caller's body with the window in place of the page, and the translated query in place of his."""
        # By its sequence number a document whose text is not in the answer is known again.
        changed: dict[str, Any] = {
            "from": self.page.fetched_from,
            "size": self.page.n_fetch,
            "seq_no_primary_term": True,
        }
        if bare_kind is not None:
            changed |= BARE_MEMBERS[bare_kind]
        elif self.source_filter.widened is not None:
            changed["_source"] = self.source_filter.widened
        if self.body.other_ext is not None:
            changed["ext"] = self.body.other_ext
        if translation is not None:
            changed["query"] = translation.query
        return self.changed_body(changed, ("search_after",) if bare_kind is None else PAGE_ONLY)

    def changed_body(self, changed: Mapping[str, Any], dropped: Sequence[str]) -> bytes:
        """The caller's body with other members in place of his, and without some."""
        ours = () if self.body.without_ours is None else ("ext",)
        kept = write_object(self.body.text, self.body.raw, drop={*changed, *dropped, *ours})
        try:
            added = orjson.dumps(changed).decode()
        except TypeError:  # half a surrogate pair, or a number beyond 64 bits
            added = json.dumps(changed, ensure_ascii=False)
        return json_bytes(added if kept == "{}" else f"{kept[:-1]},{added[1:]}")

    @property
    def as_it_came(self) -> bytes:
        """The body to pass on where re-ranking fails."""
        without_ours = self.body.without_ours
        return self.body.text.encode("utf-8") if without_ours is None else without_ours

    def failed(self, reason: str, message: str) -> None:
        """The engine's order stays, because of a failure."""
        self.status, self.reason, self.message = "fallback", reason, message


@dataclass(slots=True)
class SearchRequest:
    """A `_search`, or a `_msearch` with its searches in their order.

    Attributes:
        calls: those that it makes of the engine, within its time.
        searches: those of the lines that are to be re-ranked.
        filter_path: the caller's; the engine is not given it.
        body_without_ours: what to pass on where re-ranking fails; None for the body that came.
        more_engine_s: what the engine took after the windows, for the pages of bare ones.
    """

    calls: EngineCalls
    is_multi: bool
    lines: Sequence[Search | Skipped]
    searches: Sequence[Search]
    filter_path: str | None
    is_pretty: bool
    body_without_ours: bytes | None
    more_engine_s: float = 0.0
