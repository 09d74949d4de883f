"""Sends actions to an engine in one bulk request, again where the engine could not take them, and says of each what
became of it."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import opensearchpy
from opensearchpy import exceptions

from reranker.stores.engine_client import describe_failure, failure_reason, time_out

# The waits between them are 1, 2, 4, 8, 16, 30, 30 s at most, 91 s together: as long as a node takes to start again.
MAX_TRIES = 8
_FIRST_WAIT_S = 1.0
_LONGEST_WAIT_S = 30.0

# A bulk request takes longer than a search: the graph of the vectors is built in it.
_LEAST_TIMEOUT_S = 60.0

# What a single document does to a request as a whole; each half of it is then sent alone.
_REFUSED = (400, 413)
# What is the document's own fault. All else may go away: 403 is a block (a full disk, a closed index), 429 overload,
# 5xx a shard that is not there.
_FAULTS_OF_A_DOCUMENT = (400, 413)
_NOT_FOUND = 404
# Of a whole request: the same may well be taken later.
_WORTH_ANOTHER_TRY = (408, 429, 500, 502, 503, 504)

_HEADERS = {"content-type": "application/x-ndjson"}
# The answer has one entry an action, in their order: the ids in it are not needed.
_WANTED = {"filter_path": "errors,items.*.status,items.*.error,items.*.result"}


class Action(NamedTuple):
    """One action of a bulk request.

    Attributes:
        lines: the action's line and, where it has one, the document's, each with its end.
    """

    doc_id: str
    lines: bytes


class BulkSender:
    """Sends bulk requests to one index.

    Args:
        sleep: waits for that many seconds; what it raises ends the sending.
        on_pressure: called when the engine refuses something for load.
    """

    def __init__(
        self,
        client: opensearchpy.OpenSearch,
        index: str,
        timeout_s: float,
        on_pressure: Callable[[], None] = lambda: None,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self._client = client
        self._path = f"/{index}/_bulk"
        self._timeout = time_out(max(_LEAST_TIMEOUT_S, timeout_s))
        self._on_pressure = on_pressure
        self._sleep = sleep

    def send(self, actions: Sequence[Action]) -> list[str | None]:
        """Each action's error, or None; actions that the engine cannot take at the moment are sent again.

        Raises:
            exceptions.TransportError: the engine took some of them not even at the last try.
        """
        errors: list[str | None] = [None] * len(actions)
        waiting = list(range(len(actions)))
        n_tries = 0
        while waiting:
            n_tries += 1
            try:
                answers = self._request([actions[place] for place in waiting])
            except exceptions.TransportError as error:
                if error.status_code in _REFUSED:
                    self._send_halves(actions, waiting, errors, error)
                    return errors
                if not _is_worth_another_try(error) or n_tries == MAX_TRIES:
                    raise
            else:
                failures = [(place, answer) for place, answer in zip(waiting, answers, strict=True) if answer]
                for place, answer in failures:
                    errors[place] = answer.reason if answer.is_final else None
                refused = [(place, answer) for place, answer in failures if not answer.is_final]
                waiting = [place for place, _ in refused]
                if not waiting:
                    break
                if n_tries == MAX_TRIES:
                    raise refused[0][1].as_exception()
            self._on_pressure()
            self._sleep(_wait_s(n_tries))
        return errors

    def _send_halves(
        self,
        actions: Sequence[Action],
        waiting: list[int],
        errors: list[str | None],
        error: exceptions.TransportError,
    ) -> None:
        if len(waiting) == 1:
            errors[waiting[0]] = failure_reason(error)
            return
        for half in (waiting[: len(waiting) // 2], waiting[len(waiting) // 2 :]):
            for place, outcome in zip(half, self.send([actions[place] for place in half]), strict=True):
                errors[place] = outcome

    def _request(self, actions: Sequence[Action]) -> list[_Failure | None]:
        answer = self._client.transport.perform_request(
            "POST",
            self._path,
            params={**_WANTED, "request_timeout": self._timeout},
            headers=_HEADERS,
            body=b"".join(action.lines for action in actions),
        )
        items = answer["items"] if isinstance(answer, dict) else ()
        if len(items) != len(actions):
            raise exceptions.TransportError(500, f"a bulk request of {len(actions)} got {len(items)} answers", None)
        return [_failure(item) for item in items]


class _Failure(NamedTuple):
    """Why an engine did not do one action.

    Attributes:
        is_final: whether the same action would fail again.
    """

    status: int
    reason: str
    is_final: bool

    def as_exception(self) -> exceptions.TransportError:
        return exceptions.TransportError(self.status, self.reason, {"error": self.reason})


def _failure(item: dict[str, Any]) -> _Failure | None:
    (details,) = item.values()
    status = int(details["status"])
    if status < 300:
        return None
    reason = describe_failure(details.get("error") or details.get("result") or status)
    # What is not there to be deleted or updated is the action's own affair; an index that is gone is not.
    is_missing = status == _NOT_FOUND and "index_not_found" not in reason
    return _Failure(status, reason, status in _FAULTS_OF_A_DOCUMENT or is_missing)


def _is_worth_another_try(error: exceptions.TransportError) -> bool:
    if isinstance(error, exceptions.SSLError):
        return False
    return isinstance(error, exceptions.ConnectionError) or error.status_code in _WORTH_ANOTHER_TRY


def _wait_s(n_tries: int) -> float:
    """Between half and all of a time that doubles, so that many who were refused at once do not come back at once."""
    longest = min(_LONGEST_WAIT_S, _FIRST_WAIT_S * 2.0 ** (n_tries - 1))
    return longest * (1 + random.random()) / 2  # noqa: S311 - no secret
