"""Reads the `highlight` of a search: which fields are marked, by which tags, and in fragments of which form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

# Of `tags_schema: styled`.
_STYLED = ([f'<em class="hlt{number}">' for number in range(1, 11)], ["</em>"])
_DEFAULT_TAGS = (["<em>"], ["</em>"])
_FRAGMENT_SIZE, _N_FRAGMENTS = 100, 5
# Each field of a hit is compared with each pattern, and each place of a fragment with each tag, so that with more of
# them a request could choose how long that takes.
_MAX_FIELDS = 100
_MAX_TAGS, _MAX_TAG_CHARS = 100, 1_000


@dataclass(frozen=True, slots=True)
class HighlightField:
    """A field that a search wants marked.

    Attributes:
        name: may be a pattern with `*`.
        pre_tags, post_tags: what stands before and after a mark; of several the first counts most.
        fragment_size: about how many characters a fragment has; 0 for whole sentences.
        n_fragments: at most; 0 for whole values.
        is_by_score: whether the best fragment comes first.
        is_html: whether all but the tags is escaped.
        is_any: whether it is marked even if the query does not search it.
        is_engines: whether its fragments are the engine's alone: those of another query, or whole chunks (`semantic`).
    """

    name: str
    pre_tags: tuple[str, ...]
    post_tags: tuple[str, ...]
    fragment_size: int
    n_fragments: int
    is_by_score: bool
    is_html: bool
    is_any: bool
    is_engines: bool


@dataclass(frozen=True, slots=True)
class Highlight:
    """What is to be marked besides what the engine marks.

    Attributes:
        keeps_engines: whether the engine's fragments stay where it marks any.
        near_tags: before and after a word that is near to a query word, but is neither the same nor of its stem; None
            for the tags of the field.
    """

    fields: tuple[HighlightField, ...]
    keeps_engines: bool
    near_tags: tuple[str, str] | None = None


def read_highlight(value: Any) -> tuple[HighlightField, ...]:
    """The first 100 fields of a search's `highlight`; none where there is nothing that can be read."""
    fields = value.get("fields") if isinstance(value, Mapping) else None
    # An object, or a list of objects, which says in which order they are marked.
    listed = fields if isinstance(fields, list) else [fields]
    named = (each for one in listed if isinstance(one, Mapping) for each in one.items() if isinstance(each[1], Mapping))
    is_html = isinstance(value, Mapping) and value.get("encoder") == "html"
    try:
        return tuple(_field(name, {**value, **own}, is_html) for name, own in islice(named, _MAX_FIELDS))
    except (ValueError, OverflowError):
        return ()  # the engine says what is wrong with it


def _field(name: str, options: Mapping[str, Any], is_html: bool) -> HighlightField:
    pre, post = _STYLED if options.get("tags_schema") == "styled" else _DEFAULT_TAGS
    pre, post = options.get("pre_tags", pre), options.get("post_tags", post)
    return HighlightField(
        name=name,
        pre_tags=_texts(pre),
        post_tags=_texts(post),
        fragment_size=_number(options.get("fragment_size", _FRAGMENT_SIZE)),
        n_fragments=_number(options.get("number_of_fragments", _N_FRAGMENTS)),
        is_by_score=options.get("order") == "score",
        is_html=is_html,
        is_any=options.get("require_field_match") in (False, "false"),
        is_engines="highlight_query" in options or options.get("type") == "semantic",
    )


def _texts(value: Any) -> tuple[str, ...]:
    texts = tuple(value) if isinstance(value, list) else (value,)
    if not 0 < len(texts) <= _MAX_TAGS or not all(isinstance(text, str) and text for text in texts):
        raise ValueError(f"{value!r} is not a list of at most {_MAX_TAGS} tags")
    if max(map(len, texts)) > _MAX_TAG_CHARS:
        raise ValueError(f"a tag has more than {_MAX_TAG_CHARS} characters")
    return texts


def _number(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"{value!r} is no number")
    number = int(value)
    if number < 0:
        raise ValueError(f"{value!r} is below 0")
    return number
