"""Runs the steps of one of the engines' REST tests: sends its requests, and checks which of them are to fail.

What a test asserts of the answers is not checked: they are compared as a whole with those of another run (`recording`),
so the assertions turn out alike.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote, urlencode

import regex
import yaml

from tests.clients.recording import Exchange
from tests.clients.rest_suite import Api, Step

_STATUS_OF = {
    "bad_request": 400,
    "unauthorized": 401,
    "forbidden": 403,
    "missing": 404,
    "request_timeout": 408,
    "conflict": 409,
    "unavailable": 503,
}
# Of what a test may ask of its runner; tests that ask for more are left out, as the format wants it.
_FEATURES = {
    "allowed_warnings",
    "arbitrary_key",
    "contains",
    "default_shards",
    "headers",
    "no_xpack",
    "node_selector",
    "stash_in_path",
    "warnings",
    "yaml",
}
# In a `do`, beside the API. Warnings are compared with those of the engine, like all headers.
_EXPECTATIONS = {"catch", "headers", "warnings", "allowed_warnings", "node_selector"}
_FIRST_LEGACY_MAJOR = 5
Send = Callable[[str, str, bytes | None, dict[str, str], bool], Exchange]


class Failed(Exception):
    """A step that does not hold."""


class Skipped(Exception):
    """The test is not for this engine or this runner."""


class Steps:
    """The state of one run: the last answer and the values that were set.

    Attributes:
        exchanges: the requests and their answers so far.
    """

    def __init__(self, engine: str, version: str, apis: Mapping[str, Api], send: Send) -> None:
        self._engine = engine
        self._version = self._numbers(version)
        self._apis = apis
        self._send = send
        self._stash: dict[str, Any] = {}
        self._answer: Any = None
        self.exchanges: list[Exchange] = []

    def run(self, steps: list[Step]) -> tuple[str, str]:
        """The outcome and why: `passed`, `skipped`, or the number and kind of the step that failed."""
        # A test that is to be left out is so before its first request.
        for place, step in enumerate(sorted(steps, key=lambda step: "skip" not in step)):
            ((kind, argument),) = step.items()
            try:
                self._step(kind, argument)
            except Skipped as skipped:
                return "skipped", str(skipped)
            except Failed as failed:
                return f"step {place} ({kind})", str(failed)
        return "passed", ""

    def _step(self, kind: str, argument: Any) -> None:
        if kind == "skip":
            self._skip(argument)
        elif kind == "do":
            self._do(argument)
        elif kind == "set":
            for path, name in argument.items():
                self._stash[name] = self._find(path)

    def _skip(self, argument: dict[str, Any]) -> None:
        features = argument.get("features") or []
        listed = [features] if isinstance(features, str) else features
        names = {name.strip() for one in listed for name in one.split(",")}
        if names - _FEATURES:
            raise Skipped(f"needs {sorted(names - _FEATURES)}")
        for span in str(argument.get("version") or "").split(","):
            if span.strip() == "all" or (span.strip() and self._is_within(span)):
                raise Skipped(str(argument.get("reason")))

    def _is_within(self, span: str) -> bool:
        low, _, high = span.partition("-")
        return (not low.strip() or self._numbers(low) <= self._version) and (
            not high.strip() or self._version <= self._numbers(high)
        )

    def _numbers(self, version: str) -> tuple[int, ...]:
        """A version that can be compared; those of the engine that OpenSearch was forked from come before its own."""
        numbers = tuple(int(one) for one in regex.findall(r"\d+", version)[:3])
        return (0, *numbers) if self._engine == "opensearch" and numbers[:1] >= (_FIRST_LEGACY_MAJOR,) else numbers

    def _do(self, argument: dict[str, Any]) -> None:
        catch = argument.get("catch")
        names = set(argument) - _EXPECTATIONS
        if len(names) != 1:
            raise Failed(f"a request is to call one API, not {sorted(names)}")
        (name,) = names
        given = self._filled(argument[name] or {})
        headers = {key: str(value) for key, value in self._filled(argument.get("headers") or {}).items()}
        ignored = given.pop("ignore", []) if isinstance(given, dict) else []
        try:
            method, target, body, is_lines = self._request(name, given)
        except (KeyError, ValueError) as error:
            if catch == "param":
                return
            raise Failed(f"{name} cannot be asked: {error!r}") from error
        exchange = self._send(method, target, body, headers, is_lines)
        self.exchanges.append(exchange)
        self._answer = _read(exchange)
        ignored_statuses = {int(one) for one in (ignored if isinstance(ignored, list) else [ignored])}
        if method == "HEAD" and not catch:
            ignored_statuses.add(404)
        _check_status(exchange, catch, ignored_statuses)

    def _request(self, name: str, given: dict[str, Any]) -> tuple[str, str, bytes | None, bool]:
        api = self._apis[name]
        body = given.get("body")
        # A part that is left blank is not given.
        of_paths = frozenset().union(*(parts for _, _, parts in api.paths))
        blank = {key for key, value in given.items() if key in of_paths and value in (None, "")}
        method, path, parts = api.choose(frozenset(given) - blank, body is not None)
        for part in parts:
            path = path.replace(f"{{{part}}}", quote(_text(given[part]), safe=",*"))
        rest = {key: _text(value) for key, value in given.items() if key not in {*parts, *blank, "body"}}
        query = f"?{urlencode(rest)}" if rest else ""
        return method, path + query, _encoded(body, api.is_bulk), api.is_bulk

    def _find(self, path: str) -> Any:
        found = self._answer
        for part in regex.split(r"(?<!\\)\.", "" if path == "$body" else path.removeprefix("$body.")):
            name = self._filled(part.replace("\\.", "."))
            if not name:
                continue
            if isinstance(found, dict) and name == "_arbitrary_key_":
                found = next(iter(found), None)
            elif isinstance(found, dict) and str(name) in found:
                found = found[str(name)]
            elif isinstance(found, list) and str(name).isdigit() and int(name) < len(found):
                found = found[int(name)]
            else:
                raise Failed(f"there is no {path}")
        return found

    def _filled(self, value: Any) -> Any:
        """The value with what was set in place of `$name` and `${name}`."""
        if isinstance(value, dict):
            return {self._filled(key): self._filled(one) for key, one in value.items()}
        if isinstance(value, list):
            return [self._filled(one) for one in value]
        if not isinstance(value, str) or "$" not in value:
            return value
        if value.startswith("$") and value.strip("${}") in self._stash:
            return self._stash[value.strip("${}")]
        return regex.sub(
            r"\$\{(\w+)\}|\$(\w+)",
            lambda match: str(self._stash.get(match.group(1) or match.group(2), match.group())),
            value,
        )


def _check_status(exchange: Exchange, catch: str | None, ignored: set[int]) -> None:
    status = exchange.status
    text = exchange.text
    if catch is None:
        holds = status < 400 or status in ignored
    elif catch.startswith("/"):
        pattern = catch.strip("/")
        found = regex.search(pattern, text) or regex.search(pattern, text.replace('\\"', '"'))
        holds = status >= 400 and found is not None
    elif catch == "request":
        holds = status >= 400
    else:
        holds = status == _STATUS_OF.get(catch)
    if not holds:
        raise Failed(f"status {status}, expected {catch or 'success'}: {text[:300]}")


def _read(exchange: Exchange) -> Any:
    if exchange.method == "HEAD":
        return exchange.status < 400
    kind = exchange.header("content-type")
    if "json" in kind:
        return json.loads(exchange.text or "null")
    return yaml.load(exchange.text, Loader=yaml.CSafeLoader) if "yaml" in kind else exchange.text


def _encoded(body: Any, is_bulk: bool) -> bytes | None:
    if body is None:
        return None
    if isinstance(body, str):
        return (body.rstrip("\n") + "\n" if is_bulk else body).encode()
    if isinstance(body, list) and is_bulk:
        lines = [line.strip("\n") if isinstance(line, str) else json.dumps(line) for line in body]
        return "".join(f"{line}\n" for line in lines).encode()
    return json.dumps(body).encode()


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return ",".join(_text(one) for one in value)
    return "" if value is None else str(value)
