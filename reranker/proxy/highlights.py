"""Marks the words of a page's hits that match by meaning, in the form of the search's `highlight`, beside the engine's
own marks."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from reranker.base.batches import in_batches
from reranker.base.errors import ClientLeft
from reranker.base.raw_json import write_value
from reranker.proxy.fetch import look_up
from reranker.proxy.guard import Slot
from reranker.proxy.hit_texts import identity, look_up_body
from reranker.proxy.page import Page
from reranker.proxy.search import ProxyRequest, Search
from reranker.proxy.window import AsItCame
from reranker.query_dsl.highlight import Highlight, HighlightField
from reranker.query_dsl.name_patterns import is_match
from reranker.query_dsl.source_texts import field_texts, named_strings, source_names
from reranker.ranking.matches import Mark, find_marks
from reranker.text.fragments import Span, best_fragments, merged, read_marked, write_marked
from reranker.upstream.calls import Fallback

# Of a field; what is behind is marked by the engine alone.
_MAX_CHARS = 20_000
# Memory grows with the words of texts that are read together, times those of the query.
_MAX_CHARS_AT_ONCE = 200_000

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Field:
    """A field of a hit that may get marks.

    Attributes:
        texts: that words are looked for in: the engine's fragments, or the field's values.
        spans: the engine's, of each text.
        is_cut: whether the texts are fragments already.
    """

    name: str
    form: HighlightField
    texts: Sequence[str]
    spans: Sequence[Sequence[Span]]
    is_cut: bool


@dataclass(frozen=True, eq=False)
class _Hit:
    """A hit that may get marks.

    Attributes:
        place: among the hits of its page.
        document: what the engine says of it.
        source: its fields, of which the caller's filter may keep some back; None where it came without.
    """

    search: Search
    highlight: Highlight
    language: str
    place: int
    document: Mapping[str, Any]
    source: Mapping[str, Any] | None

    @property
    def of_engine(self) -> Mapping[str, Any]:
        """The fragments of the engine."""
        found = self.document.get("highlight")
        return found if isinstance(found, Mapping) else {}

    @cached_property
    def fields(self) -> Sequence[_Field]:
        """The fields that the search names, and that have a text."""
        forms: dict[str, HighlightField] = {}
        for form in self.highlight.fields:
            for name in self._names(form):
                forms.setdefault(name, form)
        return [field for name, form in forms.items() for field in self._field(name, form)]

    @cached_property
    def _known_names(self) -> Iterable[str]:
        """Of the fields that patterns may mean."""
        return dict.fromkeys([*self.of_engine, *(path for path, _ in named_strings(self.source or {}))])

    def _names(self, form: HighlightField) -> Iterable[str]:
        if form.is_engines:
            return ()
        if "*" not in form.name:
            return (form.name,)
        return [name for name in self._known_names if is_match(form.name, name)]

    def _field(self, name: str, form: HighlightField) -> Iterator[_Field]:
        fragments = _read_fragments(self.of_engine.get(name, ()), form)
        if fragments is None:
            return  # it is not known what the engine has marked
        texts, spans = [text for text, _ in fragments], [own for _, own in fragments]
        values = _within(field_texts(self.source, [name])[name], _MAX_CHARS)
        if any(spans):
            found = None if self.highlight.keeps_engines else _found_in(values, fragments)
            yield _Field(name, form, texts, spans, True) if found is None else _Field(name, form, values, found, False)
        elif (values or self.search.source_filter.is_partial) and (form.is_any or _is_read(self.search, name)):
            yield _Field(name, form, values, [()] * len(values), False)


def with_highlights(request: ProxyRequest, pages: Sequence[Page | AsItCame], slot: Slot) -> Sequence[Page | AsItCame]:
    """The pages with marks in those of searches that ask for them; where that fails, as they are."""
    ranked = [one for one in pages if isinstance(one, Page) and one.ranked.ranking is not None]
    marked = [page for page in ranked if page.ranked.window.search.highlight is not None]
    if not marked:
        return pages
    deadline = request.calls.deadline

    def mark(hits: Mapping[Page, Sequence[_Hit]]) -> dict[Page, dict[int, str]]:
        return {page: _written(page, own) for page, own in hits.items()}

    def read() -> tuple[dict[Page, list[_Hit]], dict[Page, list[_Hit]], dict[Page, dict[int, str]]]:
        hits = {page: own for page in marked if (own := _hits_of(page))}
        lacking = {page: some for page, own in hits.items() if (some := _lacking(own))}
        return hits, lacking, {} if lacking else mark(hits)

    try:
        hits, lacking, written = slot.run(read, deadline, counts=False)
        if lacking:
            with_texts = _with_sources(request, hits, lacking)  # it waits for the engine, without a slot
            written = slot.run(lambda: mark(with_texts), deadline, counts=False)
    except ClientLeft:  # nobody waits for the page
        raise
    except Fallback as failed:
        _log.warning("hits are marked by the engine alone (%s): %s", failed.reason, failed)
        return pages
    except Exception as error:  # whatever it is, a ranking is worth more than its marks
        _log.warning("hits are marked by the engine alone (highlights_failed): %s: %s", type(error).__name__, error)
        return pages
    return [
        replace(page, highlights=written[page]) if isinstance(page, Page) and page in written else page
        for page in pages
    ]


def _hits_of(page: Page) -> list[_Hit]:
    """The hits that get marks: those that are re-ranked."""
    search, collected = page.ranked.window.search, page.ranked.collected
    if search.highlight is None or collected is None:
        return []
    found = []
    for place, (spot, answer, index) in enumerate(page.hits):
        if spot.ranked is None:
            continue
        document = answer.found[index]
        source = document.get("_source")
        _, language = collected.bags[spot.index]
        known = source if isinstance(source, Mapping) else None
        found.append(_Hit(search, search.highlight, language, place, document, known))
    return found


def _lacking(hits: Sequence[_Hit]) -> list[_Hit]:
    """Those with a field whose text is not known."""
    return [hit for hit in hits if any(not one.texts for one in hit.fields)]


def _with_sources(
    request: ProxyRequest, hits: Mapping[Page, Sequence[_Hit]], lacking: Mapping[Page, Sequence[_Hit]]
) -> Mapping[Page, Sequence[_Hit]]:
    """The hits with the texts of their fields: where the caller's `_source` keeps some back they are looked up, with
    his rights.

    Raises:
        Fallback: they cannot be had.
    """
    asked = list(lacking.items())
    bodies = [(own[0].search, _sources_body(own)) for _, own in asked]
    sources = {
        (page, *identity(hit)): hit.get("_source")
        for (page, _), answer in zip(asked, look_up(request, bodies), strict=True)
        for hit in answer.found
    }
    return {
        page: [replace(hit, source=sources.get((page, *identity(hit.document)), hit.source)) for hit in own]
        for page, own in hits.items()
    }


def _sources_body(hits: Sequence[_Hit]) -> bytes:
    source = source_names(form.name for form in hits[0].highlight.fields)
    return look_up_body(hits[0].search, [hit.document for hit in hits], source)


def _written(page: Page, hits: Sequence[_Hit]) -> dict[int, str]:
    """The new `highlight` of hits by their places, as JSON; nothing where the engine's stays."""
    if page.ranked.weighed is None:
        return {}
    query = page.ranked.weighed.query
    fields = [hit.fields for hit in hits]
    texts = [[text for one in of_hit for text in one.texts] for of_hit in fields]
    each = zip(texts, (hit.language for hit in hits), strict=True)
    marks: list[list[list[Mark]]] = []
    for batch in in_batches(each, lambda one: sum(map(len, one[0])), len(hits), _MAX_CHARS_AT_ONCE):
        given, languages = [one for one, _ in batch], [language for _, language in batch]
        marks += find_marks(query, query.embeddings, given, languages, _MAX_CHARS)
    found: dict[int, str] = {}
    for hit, of_hit, of_texts in zip(hits, fields, marks, strict=True):
        left = iter(of_texts)
        new = {one.name: _fragments(one, [next(left) for _ in one.texts], hit.highlight) for one in of_hit}
        changed = {name: fragments for name, fragments in new.items() if fragments}
        if any(hit.of_engine.get(name) != fragments for name, fragments in changed.items()):
            found[hit.place] = write_value({**hit.of_engine, **changed})
    return found


def _fragments(one: _Field, marks: Sequence[Sequence[Mark]], highlight: Highlight) -> list[str]:
    """The marked fragments of a field; none where nothing is marked."""
    form = one.form
    tags = form.pre_tags[0], form.post_tags[0]
    near_tags = highlight.near_tags or tags
    marked = [
        [
            Span(mark.start, mark.end, *(near_tags if mark.likeness < 1 else tags), mark.query_word, mark.likeness)
            for mark in of_text
        ]
        for of_text in marks
    ]
    spans = [merged(own, ours) for own, ours in zip(one.spans, marked, strict=True)]
    if one.is_cut:
        places = [(number, 0, len(text)) for number, text in enumerate(one.texts)]
    else:
        places = best_fragments(one.texts, spans, form.fragment_size, form.n_fragments, form.is_by_score)
    return [write_marked(one.texts[number], spans[number], start, end, form.is_html) for number, start, end in places]


def _is_read(search: Search, name: str) -> bool:
    """Whether the query searches a field, or one below or above it; every one where it names none."""
    return not search.read_fields or any(
        is_match(read, name) or name.startswith(f"{read}.") or read.startswith(f"{name}.")
        for read in search.read_fields
    )


def _within(texts: Iterable[str], n_chars: int) -> list[str]:
    """The texts up to so many characters."""
    found: list[str] = []
    for text in texts:
        if n_chars <= 0:
            break
        found.append(text[:n_chars])
        n_chars -= len(text)
    return found


def _read_fragments(fragments: Any, form: HighlightField) -> list[tuple[str, list[Span]]] | None:
    """The text and the spans of each of the engine's fragments; None where they cannot be told for certain."""
    found = []
    for fragment in fragments if isinstance(fragments, list) else ():
        read = read_marked(fragment, form.pre_tags, form.post_tags, form.is_html)
        if read is None or write_marked(*read, 0, len(read[0]), form.is_html) != fragment:
            return None
        found.append(read)
    return found


def _found_in(values: Sequence[str], fragments: Sequence[tuple[str, Sequence[Span]]]) -> list[list[Span]] | None:
    """The spans of fragments in the values that these were cut from; None where one is not found."""
    found: list[dict[int, Span]] = [{} for _ in values]
    for text, spans in fragments:
        place = next(((number, at) for number, value in enumerate(values) if (at := value.find(text)) >= 0), None)
        if place is None:
            return None
        number, at = place
        for span in spans:
            found[number][at + span.start] = span._replace(start=at + span.start, end=at + span.end)
    return [sorted(own.values()) for own in found]
