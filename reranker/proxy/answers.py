"""Reads the engine's answers: what they say, and where the hits stand in their text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from reranker.proxy.raw_json import RawArray, RawObject, Reader, read_array, read_document, read_object, read_value
from reranker.proxy.upstream.calls import Fallback
from reranker.proxy.upstream.connections import Headers


@dataclass(frozen=True, slots=True)
class SearchAnswer:
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


@dataclass(slots=True)
class Fetched:
    """The engine's answer.

    Attributes:
        responses: of a multi-search.
        answers: one for each search.
        added_ms: what `took` is to count besides the engine's own time.
    """

    headers: Headers
    text: str
    raw: RawObject
    responses: RawArray | None
    answers: Sequence[SearchAnswer]
    added_ms: float = 0.0


def read_answers(headers: Headers, text: str, n: int, hit: Reader = read_value) -> Fetched:
    """The answer to `n` searches.

    Args:
        hit: reads each hit, as of `read_answer`.
    """
    try:
        read_list = partial(read_array, reader=_outer_reader(hit))
        raw: RawObject = read_document(text, partial(read_object, readers={"responses": read_list}))
        responses = raw.parsed.get("responses")
        if not isinstance(responses, RawArray):
            raise ValueError("no list of responses")
        answers = [_answer(text, element.parsed) for element in responses.elements]
    except (ValueError, RecursionError):
        raise Fallback("answer_not_json", "the engine's answer holds no responses") from None
    if len(answers) != n:
        raise Fallback("answer_not_json", "the engine's answer holds another number of responses")
    return Fetched(headers, text, raw, responses, answers)


def read_answer(text: str, hit: Reader = read_value) -> SearchAnswer:
    """The answer to a search.

    Args:
        hit: reads each hit: as Python has it, or as a `RawObject` (`read_object`), whose parts are where they stand.

    Raises:
        Fallback: it is no JSON object with a list of hits.
    """
    try:
        answer = _answer(text, read_document(text, _outer_reader(hit)))
    except (ValueError, RecursionError):
        raise Fallback("answer_not_json", "the engine's answer is no JSON object") from None
    if answer.hits is None:
        raise Fallback("answer_not_json", "the engine's answer holds no list of hits")
    return answer


def _answer(text: str, raw: RawObject) -> SearchAnswer:
    outer = raw.parsed.get("hits")
    hits = outer.parsed.get("hits") if isinstance(outer, RawObject) else None
    if not isinstance(hits, RawArray):
        return SearchAnswer(text, raw, None, ())
    found = [hit.parsed.parsed if isinstance(hit.parsed, RawObject) else hit.parsed for hit in hits.elements]
    if not all(isinstance(hit, dict) for hit in found):
        raise ValueError("a hit is no object")
    return SearchAnswer(text, raw, hits, found)


def _outer_reader(hit: Reader) -> Reader:
    """Of an answer: an object whose list of hits is read hit by hit."""
    return partial(read_object, readers={"hits": partial(_read_hits, hit=hit)})


def _read_hits(text: str, at: int, hit: Reader) -> tuple[Any, int]:
    if text[at : at + 1] != "{":
        return read_value(text, at)
    return read_object(text, at, {"hits": partial(read_array, reader=hit)})
