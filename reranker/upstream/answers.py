"""Reads the engine's answers: what they say, and where the hits stand in their text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import orjson

from reranker.base.raw_json import (
    RawArray,
    RawObject,
    Reader,
    cut_object,
    read_array,
    read_document,
    read_object,
    read_value,
)
from reranker.upstream.calls import Fallback
from reranker.upstream.connections import Headers


@dataclass(slots=True)
class EngineAnswer:
    """The engine's answer to a search; `hits` is None where it holds no list of hits (an error in a multi-search).

    Attributes:
        found: the hits in the engine's order.
    """

    text: str
    raw: RawObject
    hits: RawArray | None
    found: Sequence[dict[str, Any]]

    @property
    def whole(self) -> str:
        """As the engine wrote it."""
        return self.text[self.raw.start : self.raw.end]

    def hit(self, index: int) -> RawObject:
        """A hit with its members as they stand in the text."""
        assert self.hits is not None  # noqa: S101 - there is no hit without a list of them
        if not self.hits.elements:  # of an ids-only window: mostly nobody asks
            self.hits, _ = read_array(self.text, self.hits.start)
        hit, _ = read_object(self.text, self.hits.elements[index].start)
        return hit


class _HitsOfIdsOnly(NamedTuple):
    """A list of hits that was read as a whole; where each of them stands is not known."""

    start: int
    end: int
    found: list[Any]


def _read_hits_of_ids_only(text: str, at: int) -> tuple[Any, int]:
    """Reads the list of hits of an ids-only window, of which the answer mostly needs no text.

    The list is mostly the last one of the answer. What begins as an array and is read to its end is that array.
    """
    end = text.rfind("]") + 1
    try:
        found = orjson.loads(text[at:end])
    except orjson.JSONDecodeError:
        found, end = read_value(text, at)
    return (_HitsOfIdsOnly(at, end, found) if isinstance(found, list) else found), end


def _read_outer(text: str, at: int, hits: Reader) -> tuple[Any, int]:
    if text[at : at + 1] != "{":
        return read_value(text, at)
    return read_object(text, at, {"hits": hits})


# What reads the list of hits of an answer: with the place of each, or without, which an ids-only window does not need.
read_whole: Reader = read_array
read_ids_only: Reader = _read_hits_of_ids_only


def page_reader(includes: Sequence[str], excludes: Sequence[str]) -> Reader:
    """What reads a list of hits with the place of each member.

    Args:
        includes, excludes: what is left of each `_source` (`cut_object`), whose text stands in place of what it says.
    """
    source = partial(cut_object, includes=includes, excludes=excludes)
    return partial(read_array, reader=partial(read_object, readers={"_source": source}))


@dataclass(frozen=True, slots=True)
class Fetched:
    """The engine's answer.

    Attributes:
        responses: of a multi-search.
        answers: one for each search.
        took_s: how long it took to come.
    """

    headers: Headers
    text: str
    raw: RawObject
    responses: RawArray | None
    answers: Sequence[EngineAnswer]
    took_s: float


def read_answers(headers: Headers, text: str, n: int, took_s: float, read: Reader = read_whole) -> Fetched:
    """The answer to `n` searches.

    Args:
        took_s: how long it took to come.
        read: as of `read_answer`.
    """
    read_one = partial(read_object, readers={"hits": partial(_read_outer, hits=read)})
    try:
        read_list = partial(read_array, reader=read_one)
        raw: RawObject = read_document(text, partial(read_object, readers={"responses": read_list}))
        responses = raw.parsed.get("responses")
        if not isinstance(responses, RawArray):
            raise ValueError("no list of responses")
        answers = [_answer(text, element.parsed) for element in responses.elements]
    except (ValueError, RecursionError):
        raise Fallback("answer_not_json", "the engine's answer holds no responses") from None
    if len(answers) != n:
        raise Fallback("answer_not_json", "the engine's answer holds another number of responses")
    return Fetched(headers, text, raw, responses, answers, took_s)


def read_answer(text: str, read: Reader = read_whole) -> EngineAnswer:
    """The answer to a search.

    Args:
        read: what reads the list of hits: `read_whole`, `read_ids_only` or a `page_reader`.

    Raises:
        Fallback: it is no JSON object with a list of hits.
    """
    read_one = partial(read_object, readers={"hits": partial(_read_outer, hits=read)})
    try:
        answer = _answer(text, read_document(text, read_one))
    except (ValueError, RecursionError):
        raise Fallback("answer_not_json", "the engine's answer is no JSON object") from None
    if answer.hits is None:
        raise Fallback("answer_not_json", "the engine's answer holds no list of hits")
    return answer


def _answer(text: str, raw: RawObject) -> EngineAnswer:
    outer = raw.parsed.get("hits")
    hits: Any = outer.parsed.get("hits") if isinstance(outer, RawObject) else None
    if isinstance(hits, _HitsOfIdsOnly):
        found, hits = hits.found, RawArray(hits.start, hits.end, [])
    elif isinstance(hits, RawArray):
        found = [hit.parsed.parsed if isinstance(hit.parsed, RawObject) else hit.parsed for hit in hits.elements]
    else:
        return EngineAnswer(text, raw, None, ())
    if set(map(type, found)) - {dict}:
        raise ValueError("a hit is no object")
    return EngineAnswer(text, raw, hits, found)
