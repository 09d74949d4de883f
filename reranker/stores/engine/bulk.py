"""Sends actions to an engine in a bulk request, repeats those that the engine could not take, and returns the result of
each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import opensearchpy
from opensearchpy import exceptions

from reranker.stores.base.names import writing_alias
from reranker.stores.engine import retries
from reranker.stores.engine.client import describe_failure, failure_reason

# A bulk request takes longer than a search: the engine builds the graph of the vectors.
_LEAST_TIMEOUT_S = 60.0

# How long the engine waits for a shard that no node has before it reports this. Its default of a minute is longer than
# the time-out of the request.
_SHARD_WAIT_S = 30

# A single document can cause these for the whole request. Then each half is sent alone.
_REFUSED = (400, 413)
# Caused by the document itself, or by a change of it (409). Other failures may pass: 403 is a block (a full disk, a
# closed index), 429 overload, 5xx a missing shard.
_FAULTS_OF_A_DOCUMENT = (400, 409, 413)
_NOT_FOUND = 404
_INDEX_IS_GONE = "index_not_found_exception"
# A bad request to the engines, but a closed index can be opened again.
_INDEX_IS_CLOSED = "index_closed_exception"

_HEADERS = {"content-type": "application/x-ndjson"}
# The answer has one entry for each action, in order, so ids are not needed.
_ANSWER_PARTS = {"filter_path": "errors,items.*.status,items.*.error,items.*.result"}
# The engine makes a missing index, with a mapping that it guesses, but no missing alias.
_ONLY_WHAT_IS_THERE = {"require_alias": "true"}


class BulkSender:
    """Sends bulk requests to one index.

    Args:
        sleep: waits for this many seconds; its exceptions end the sending.
    """

    def __init__(
        self,
        client: opensearchpy.OpenSearch,
        index: str,
        timeout_s: float,
        sleep: Callable[[float], object],
    ) -> None:
        self._client = client
        self._path = f"/{writing_alias(index)}/_bulk"
        waiting = {"timeout": f"{_SHARD_WAIT_S}s"}
        self._params = {**_ANSWER_PARTS, **_ONLY_WHAT_IS_THERE, **waiting}
        self._timeout_s = max(_LEAST_TIMEOUT_S, timeout_s)
        self._sleep = sleep

    def send(self, actions: Sequence[bytes], n_tries: int = 1) -> list[str | None]:
        """Returns each action's error, or None. Actions that the engine cannot take at the moment are sent again.

        Args:
            actions: of each the line of the action and, if any, that of the document, with line ends.
            n_tries: how often they were sent, with this time.

        Raises:
            exceptions.TransportError: the engine did not take some of them at the last try either.
        """
        errors: list[str | None] = [None] * len(actions)
        try:
            answers = self._request(actions)
        except exceptions.TransportError as error:
            if error.status_code in _REFUSED:
                if len(actions) == 1:
                    return [failure_reason(error)]
                middle = len(actions) // 2
                return self.send(actions[:middle]) + self.send(actions[middle:])
            if not retries.is_worth_another_try(error) or n_tries == retries.N_TRIES:
                raise
            refused = list(range(len(actions)))
        else:
            errors = [None if answer is None else answer.reason for answer in answers]
            failed = {
                place: answer for place, answer in enumerate(answers) if answer is not None and not answer.is_final
            }
            missing = [answer for answer in failed.values() if answer.status == _NOT_FOUND]
            if missing or (failed and n_tries == retries.N_TRIES):
                raise (missing or list(failed.values()))[0].as_exception()
            refused = list(failed)
        if refused:
            self._sleep(retries.wait_s(n_tries))
            again = self.send([actions[place] for place in refused], n_tries + 1)
            for place, outcome in zip(refused, again, strict=True):
                errors[place] = outcome
        return errors

    def _request(self, actions: Sequence[bytes]) -> list[_Failure | None]:
        answer = self._client.transport.perform_request(
            "POST",
            self._path,
            params={**self._params, "request_timeout": self._timeout_s},
            headers=_HEADERS,
            body=b"".join(actions),
        )
        items = answer["items"] if isinstance(answer, dict) else ()
        if len(items) != len(actions):
            raise exceptions.TransportError(500, f"a bulk request of {len(actions)} got {len(items)} answers", None)
        return [_failure(item) for item in items]


class _Failure(NamedTuple):
    """Why an engine did not do one action.

    Attributes:
        is_final: whether the same action would fail again. A missing index is no fault of the action.
    """

    status: int
    reason: str
    is_final: bool

    def as_exception(self) -> exceptions.TransportError:
        kind = exceptions.NotFoundError if self.status == _NOT_FOUND else exceptions.TransportError
        return kind(self.status, self.reason, {"error": self.reason})


def _failure(item: dict[str, Any]) -> _Failure | None:
    ((action, details),) = item.items()
    status = int(details["status"])
    if status < 300:
        # An update that changes nothing is done; a document that does not come in is not.
        if action == "index" and details.get("result") == "noop":
            return _Failure(status, "the ingest pipeline dropped the document", is_final=True)
        return None
    reason = describe_failure(details.get("error") or details.get("result") or status)
    # A missing document to delete or update is the action's own failure; a missing index is not.
    is_missing = status == _NOT_FOUND and _INDEX_IS_GONE not in reason
    is_fault = status in _FAULTS_OF_A_DOCUMENT and _INDEX_IS_CLOSED not in reason
    return _Failure(status, reason, is_fault or is_missing)
