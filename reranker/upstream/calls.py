"""Asks the engine, with a caller's own rights, for what a re-ranking needs, within the time that is left."""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from http.client import HTTPException
from math import inf
from typing import Any

from reranker.base.errors import BadInput, StoreUnavailable
from reranker.upstream.connections import EngineResponse, Headers
from reranker.upstream.incoming import Incoming, end_to_end
from reranker.upstream.nodes import EngineTimeout, Upstream, uncompressed


class Fallback(Exception):
    """The search could not be re-ranked: `reason` is one of a fixed set of words, the message is for the log; without
    one the search is counted alone."""

    def __init__(self, reason: str, message: str = "") -> None:
        super().__init__(message)
        self.reason = reason


class Refused(Fallback):
    """The engine's answer to the search for the window, which was read, is an error that the caller's own search would
    meet too."""

    def __init__(self, response: EngineResponse) -> None:
        super().__init__("engine_error", f"the engine answered {response.status}")
        self.response = response


@dataclass(frozen=True, slots=True)
class Deadline:
    """When a request has to be answered, the engine's part among it, by a clock."""

    at: float
    clock: Callable[[], float] = time.monotonic

    @property
    def left_s(self) -> float:
        """Seconds; 0 where there is no time left."""
        return max(0.0, self.at - self.clock())


# A larger answer is passed on as it is: reading it would take several times as much memory.
MAX_ANSWER_BYTES = 32_000_000
# What the caller's own request would meet as well; sent again it would only cost the engine more.
_PASSED_ON = frozenset([401, 403, 404, 429, 502, 503, 504])
# About the caller's body, which is not the one that is sent.
_ABOUT_THE_BODY = ("accept-encoding", "content-encoding")


@dataclass
class EngineCalls:
    """The calls that one request makes.

    Attributes:
        incoming: the request; its path and headers are those of the calls.
    """

    upstream: Upstream
    incoming: Incoming
    deadline: Deadline

    def search(
        self,
        query_string: str,
        body: bytes,
        limit_s: float = inf,
        meanwhile: Callable[[], None] | None = None,
    ) -> tuple[Headers, bytes]:
        """Sends another body to the address of the caller's search.

        Args:
            limit_s: how long it may take at most.
            meanwhile: as of `Upstream.send`.

        Returns:
            the answer's headers and its body.

        Raises:
            Refused: an error that the caller's own request would meet too.
            Fallback: another error, or no answer in JSON.
            EngineUnreachable, EngineTimeout: the engine does not answer.
        """
        target = f"{self.incoming.path}?{query_string}"
        response = self.upstream.send(
            self.incoming.method,
            target,
            self._headers,
            body,
            timeout_s=min(limit_s, self.upstream.timeout_s),
            is_safe=True,
            meanwhile=meanwhile,
        )
        data = response.body = self._data(response)
        if response.status in _PASSED_ON:
            raise Refused(response)
        if response.status != 200:
            raise Fallback("engine_refused", f"the engine answered {response.status} to the search for the window")
        return response.headers, data

    def search_again(self, query_string: str, body: bytes) -> tuple[Headers, bytes]:
        """A further search, within the time that is left.

        Raises:
            Fallback: it answers an error, too late, or not at all.
        """
        if not self.deadline.left_s:
            raise out_of_time()
        try:
            return self.search(query_string, body, self.deadline.left_s)
        except Refused as refused:
            raise Fallback("engine_refused", f"{refused} to a further search") from refused
        except EngineTimeout as error:
            raise out_of_time() from error
        except StoreUnavailable as error:
            raise Fallback("look_up_failed", str(error)) from error

    def ask(self, target: str, limit_s: float) -> Any:
        """What the engine answers to a GET, read as JSON, within the time that is left.

        Raises:
            Fallback: it answers an error, too late, or not in JSON.
        """
        limit_s = min(limit_s, self.deadline.left_s, self.upstream.timeout_s)
        if not limit_s:
            raise out_of_time()
        headers = end_to_end(self._headers, "content-type", "accept")
        try:
            response = self.upstream.send("GET", target, headers, timeout_s=limit_s, is_safe=True)
        except (StoreUnavailable, BadInput) as error:
            raise Fallback("look_up_failed", str(error)) from error
        data = self._data(response)
        if response.status != 200:
            raise Fallback("engine_refused", f"the engine answered {response.status} to a look-up")
        try:
            return json.loads(data)
        except (ValueError, RecursionError):
            raise Fallback("answer_not_json", "the engine's answer is not JSON") from None

    @cached_property
    def _headers(self) -> Headers:
        headers = end_to_end(self.incoming.headers, *_ABOUT_THE_BODY)
        if self.incoming.content_type is None:
            headers = [*headers, ("Content-Type", self._content_type())]
        return headers

    def _content_type(self) -> str:
        """Of a body where the caller sent none; Elasticsearch wants the version of its API in both headers or none."""
        accept = self.incoming.environ.get("HTTP_ACCEPT", "").strip()
        return accept if "compatible-with" in accept and "," not in accept else "application/json"

    def _data(self, response: EngineResponse) -> bytes:
        limit = MAX_ANSWER_BYTES
        with closing(response):
            try:
                data = response.read(limit + 1)
                if response.encoding:
                    data = uncompressed(data, response.encoding, limit + 1)
            except (OSError, HTTPException, zlib.error) as error:
                raise Fallback("answer_broken", f"the engine's answer broke off ({type(error).__name__})") from error
        if len(data) > limit:
            raise Fallback("answer_too_large", f"the engine's answer is larger than {limit} bytes")
        return data


def out_of_time() -> Fallback:
    return Fallback("out_of_time", "the request took longer than the setting proxy_budget_ms")
