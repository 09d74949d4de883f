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
    read_array,
    read_document,
    read_object,
    read_value,
    skip_value,
)
from reranker.native.json_array import element_starts
from reranker.upstream.calls import Fallback
from reranker.upstream.connections import Headers

# Why a shard fails of which no copy is there, whatever the search.
_LOST_SHARD = "no_shard_available_action_exception"
# Of a hit: long, and written as it stands.
_SKIPPED = {"_source": skip_value}


@dataclass(slots=True)
class EngineAnswer:
    """The engine's answer to a search; `hits` is None where it holds no list of hits (an error in a multi-search).

    Attributes:
        found: the hits in the engine's order.
        data: the text in UTF-8, where the list of hits was read as a whole; where each of them stands is found when
            somebody asks.
    """

    text: str
    raw: RawObject
    hits: RawArray | None
    found: Sequence[dict[str, Any]]
    data: bytes = b""
    _starts: list[int] | None = None

    @property
    def whole(self) -> str:
        """As the engine wrote it."""
        return self.text[self.raw.start : self.raw.end]

    @property
    def total(self) -> Any:
        """The number of all hits; None where it does not say."""
        return self._total.get("value") if isinstance(self._total, dict) else self._total

    @property
    def exact_total(self) -> int | None:
        """The number of all hits; None where the answer has none, or a lower bound."""
        is_bound = isinstance(self._total, dict) and self._total.get("relation") != "eq"
        return self.total if isinstance(self.total, int) and self.total >= 0 and not is_bound else None

    @property
    def _total(self) -> Any:
        outer = self.raw.parsed.get("hits")
        return outer.parsed.get("total") if isinstance(outer, RawObject) else None

    @property
    def is_partial(self) -> bool:
        """Whether shards failed, or the time was up."""
        shards = self.raw.parsed.get("_shards")
        return bool(self.raw.parsed.get("timed_out") or (isinstance(shards, dict) and shards.get("failed")))

    @property
    def is_refused_in_part(self) -> bool:
        """Whether some shards refused the search; a lost shard refuses none."""
        shards = self.raw.parsed.get("_shards")
        failures = shards.get("failures") if isinstance(shards, dict) else None
        return any(_LOST_SHARD not in str(failure) for failure in failures or ())

    def hit(self, index: int) -> RawObject:
        """Where the members of a hit stand in the text; `found` has their values."""
        assert self.hits is not None  # noqa: S101 - there is no hit without a list of them
        if self.hits.elements:
            start = self.hits.elements[index].start
        else:
            if self._starts is None:
                begin = _byte(self.data, self.text, self.hits.start)
                self._starts = element_starts(self.data, begin, len(self.found))
            start = self.hits.start + self._starts[index]
        hit, _ = read_object(self.text, start, _SKIPPED)
        return hit


def _byte(data: bytes, text: str, at: int) -> int:
    """The byte of a character of a text that is encoded as `data`."""
    return at if len(data) == len(text) else len(text[:at].encode())


class _Hits(NamedTuple):
    """A list of hits that was read as a whole; where each of them stands is not known."""

    start: int
    end: int
    found: list[Any]


def _read_hits(data: bytes, text: str, at: int) -> tuple[Any, int]:
    """Reads the list of hits of a window, of which the answer needs the text of few.

    The list is mostly the last one of the answer. What begins as an array and is read to its end is that array.
    """
    end = text.rfind("]") + 1
    try:
        found = orjson.loads(memoryview(data)[_byte(data, text, at) : data.rfind(b"]") + 1])
    except orjson.JSONDecodeError:
        found, end = read_value(text, at)
    return (_Hits(at, end, found) if isinstance(found, list) else found), end


def _read_outer(text: str, at: int, hits: Reader) -> tuple[Any, int]:
    if text[at : at + 1] != "{":
        return read_value(text, at)
    return read_object(text, at, {"hits": hits})


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


def read_answers(headers: Headers, data: bytes, n: int, took_s: float) -> Fetched:
    """The answer to `n` searches.

    Args:
        data: in UTF-8.
        took_s: how long it took to come.
    """
    read_one = partial(read_object, readers={"hits": partial(_read_outer, hits=read_array)})
    try:
        text = data.decode()
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


def read_answer(data: bytes) -> EngineAnswer:
    """The answer to a search.

    Args:
        data: in UTF-8.

    Raises:
        Fallback: it is no JSON object with a list of hits.
    """
    read_one = partial(read_object, readers={"hits": partial(_read_outer, hits=partial(_read_hits, data))})
    try:
        text = data.decode()
        answer = _answer(text, read_document(text, read_one), data)
    except (ValueError, RecursionError):
        raise Fallback("answer_not_json", "the engine's answer is not a JSON object") from None
    if answer.hits is None:
        raise Fallback("answer_not_json", "the engine's answer holds no list of hits")
    return answer


def _answer(text: str, raw: RawObject, data: bytes = b"") -> EngineAnswer:
    outer = raw.parsed.get("hits")
    hits: Any = outer.parsed.get("hits") if isinstance(outer, RawObject) else None
    if isinstance(hits, _Hits):
        found, hits = hits.found, RawArray(hits.start, hits.end, [])
    elif isinstance(hits, RawArray):
        found = [hit.parsed for hit in hits.elements]
    else:
        return EngineAnswer(text, raw, None, ())
    if set(map(type, found)) - {dict}:
        raise ValueError("a hit is not an object")
    return EngineAnswer(text, raw, hits, found, data)
