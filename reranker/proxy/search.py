"""What is read of a request: its searches, each with all that the later steps need. Nothing here changes later.

Each step of the proxy makes values of its own from those of the step before:

    read → Search    fetch → Window    rank → RankedWindow    page → Page    write → the answer
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from operator import attrgetter
from typing import Any, NamedTuple

from reranker.base.raw_json import RawObject, write_object, write_value
from reranker.proxy.window_kinds import IDS_ONLY_MEMBERS, PAGE_ONLY, WindowPlan
from reranker.query_dsl.highlight import Highlight
from reranker.query_dsl.nodes import Field
from reranker.query_dsl.scoring import ALL_FIELDS, FieldTypes
from reranker.query_dsl.source_filter import SourceFilter
from reranker.ranking.query import Query
from reranker.service.json_text import json_bytes
from reranker.translation import WordGroup
from reranker.transport import Parameters
from reranker.upstream.calls import EngineCalls

DEFAULT_SIZE = 10  # of an engine's page
MAX_TEXT_FIELDS = 20
# A document's first 2,000 words are read: a title that is read more often would leave no room for the text.
_MAX_FIELD_WEIGHT = 5


@dataclass(frozen=True, slots=True)
class PagePlan:
    """A page of hits, of which the first `window` over all pages are re-ranked.

    Page after page shows the re-ranked window of W hits and then the engine's own order, each hit once:

        from + size ≤ W     fetch the window, re-rank it, cut the page out
        from < W < …        fetch up to the page's end, re-rank the first W, leave the rest behind them
        from ≥ W            fetch the page and leave its order: behind the window both orders are the same
        search_after        fetch the window and a page behind it, and cut out what follows the named hit

    Attributes:
        offset: `from`; 0 where the page follows a hit, whose place is known once the window is ranked.
        after: `sort` of the hit that the page follows.
        depth: where the engine's hits end, and more must not be asked for; None where they do not end.
        is_cut: hits with less relevance than asked for are left out, and with them all behind the window.
    """

    offset: int
    size: int
    window: int
    after: Sequence[Any] | None = None
    depth: int | None = None
    is_cut: bool = False

    @property
    def is_behind(self) -> bool:
        """Whether no hit of the page is in the window, so that nothing is re-ranked. Where hits are left out, only the
        ranking tells how many there are, and no page is."""
        return self.offset >= self.window and not self.is_cut

    @property
    def fetched_from(self) -> int:
        """The `from` that the engine is asked for."""
        return self.offset if self.is_behind else 0

    @property
    def n_fetch(self) -> int:
        """The `size` that the engine is asked for."""
        if self.after is not None:
            return self.window + self.size
        n_hits = self.size if self.is_behind else max(self.window, self.offset + self.size)
        return n_hits if self.depth is None else min(n_hits, self.depth)


class Outcome(NamedTuple):
    """How a search went.

    Attributes:
        status: `applied`, `skipped` (it was not to be re-ranked) or `fallback` (it could not be).
        reason: one of a fixed set of words; also `translated`, of a re-ranked search.
        message: for the log.
    """

    status: str
    reason: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class RawBody:
    """The body of a search as the caller wrote it, without our section: its text, and where its members stand.

    Attributes:
        section: ours of `ext`, as it was parsed; None where there is none.
    """

    text: str
    raw: RawObject
    section: Any = None


Translations = Mapping[str, Sequence[WordGroup]]
"""The word groups of a query by the language of the documents."""


@dataclass(frozen=True, slots=True)
class TranslatedQuery:
    """A search's query in the languages of the documents."""

    query: Any
    groups: Translations


@dataclass(frozen=True, slots=True)
class Skipped:
    """A search of a multi-search that is not re-ranked.

    Attributes:
        header: its line as it came.
        as_it_came: its body, without our section.
    """

    header: bytes
    as_it_came: bytes
    reason: str


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """A search that is to be re-ranked.

    Attributes:
        header: its line in a multi-search; empty otherwise.
        indices: that it searches, patterns among them; none where it searches in all.
        query: the text to re-rank by, read by the service's re-ranker and not weighed yet.
        language: of the query, where the caller names one.
        text_fields: of `_source`, that the caller or the settings name.
        weighted_fields: of `_source`, to read first: these, or else those that the query names, the highest boost
            first, each as often as its boost says; every string where there are none. Where no `text_fields` are named,
            every string of a hit is read that has no known word in them.
        added_keys: of a hit, which the caller did not ask for.
        with_details: whether each hit is to say how it came to its place.
        min_relevance: leaves out hits with less; None asks for no relevance.
        clause: the query in the engine's words, that of the URL among it; None where there is none.
        types: of the fields of the searched indices.
        translate: when it is asked in translation: `no_hits`, `always`, `never`.
        languages: of the documents, where the caller names them.
        window_plan: how it can be asked for an ids-only window.
        highlight: what is to be marked besides what the engine marks; None for nothing.
    """

    header: bytes
    body: RawBody
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
    weighted_fields: tuple[str, ...]
    added_keys: tuple[str, ...]
    with_details: bool
    min_relevance: float | None
    clause: Any
    types: FieldTypes
    translate: str
    languages: tuple[str, ...]
    window_plan: WindowPlan
    highlight: Highlight | None = None

    @property
    def read_fields(self) -> tuple[str, ...]:
        """The `weighted_fields`, each once."""
        return tuple(dict.fromkeys(self.weighted_fields))

    @property
    def is_translated_at_once(self) -> bool:
        """Whether the engine may be asked in translation before it was asked as the caller wrote."""
        return self.translate == "always" or (self.translate != "never" and bool(self.languages))

    def window_body(self, translation: TranslatedQuery | None, kind: str | None) -> bytes:
        """The caller's body with the window in place of the page, and the translated query in place of his.

        Args:
            kind: of the window; None for a whole one.
        """
        # By its sequence number a document whose text is not in the answer is known again.
        changed: dict[str, Any] = {
            "from": self.page.fetched_from,
            "size": self.page.n_fetch,
            "seq_no_primary_term": True,
        }
        if kind is not None:
            changed |= IDS_ONLY_MEMBERS[kind]
        if translation is not None:
            changed["query"] = translation.query
        changed |= knn_with_k(self.body.raw.parsed)
        return self.changed_body(changed, ("search_after",) if kind is None else PAGE_ONLY)

    def changed_body(self, changed: Mapping[str, Any], dropped: Sequence[str]) -> bytes:
        """The caller's body with other members in place of his, and without some."""
        rest = write_object(self.body.text, self.body.raw, drop={*changed, *dropped})
        added = write_value(changed)
        return json_bytes(added if rest == "{}" else f"{rest[:-1]},{added[1:]}")

    @property
    def as_it_came(self) -> bytes:
        """The body to pass on where re-ranking fails."""
        return json_bytes(self.body.text)


def knn_with_k(body: Mapping[str, Any]) -> dict[str, Any]:
    """Elasticsearch's `knn` of a body, if any, with the `k` that it has by default: the body's `size`, without regard
    to the URL's. A window has another size, and would find other hits."""
    if "knn" not in body:
        return {}
    k, knn = body.get("size", DEFAULT_SIZE), body["knn"]
    searches = knn if isinstance(knn, list) else [knn]
    return {"knn": [{"k": k, **one} if isinstance(one, dict) else one for one in searches]}


def fields_to_read(text_fields: tuple[str, ...], query_fields: Sequence[Field]) -> tuple[str, ...]:
    """`weighted_fields` of a search.

    Args:
        query_fields: that the query names, with their boosts; `*` stands for every string.
    """
    names = text_fields or tuple(one.name for one in query_fields)
    if ALL_FIELDS in names or len(names) > MAX_TEXT_FIELDS:
        return ()
    # Next to `text`, `title^5` is read five times, so that its words weigh five times as much.
    boosted = sorted(() if text_fields else query_fields, key=attrgetter("boost"), reverse=True)
    if not boosted or not all(0 < one.boost < inf for one in boosted):
        return names
    times = [(one.name, round(min(_MAX_FIELD_WEIGHT, one.boost / boosted[-1].boost))) for one in boosted]
    return tuple(name for name, n in times for _ in range(n))


@dataclass(frozen=True, slots=True)
class ProxyRequest:
    """A `_search`, or a `_msearch` with its searches in their order.

    Attributes:
        calls: those that it makes of the engine, within its time.
        lines: of a multi-search; a `_search` has one.
    """

    calls: EngineCalls
    is_multi: bool
    lines: Sequence[Search | Skipped]

    @property
    def searches(self) -> list[Search]:
        """Those of the lines that are to be re-ranked."""
        return [line for line in self.lines if isinstance(line, Search)]


def written_lines(pairs: Iterable[tuple[bytes, bytes]]) -> bytes:
    """The body of a multi-search of such headers and bodies."""
    return b"".join(header + b"\n" + body + b"\n" for header, body in pairs)
