"""Stands in front of a real node and lets bulk requests, or others, fail as they are told to."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import urllib3

# What happens to a bulk request: an HTTP status instead of an answer; `cut` breaks the connection before the engine has
# it, `lost` after; `slow` takes its time; `items` answers 429 for every other document; `pass` changes nothing.
Fault = int | str


@dataclass
class FaultyProxy:
    """Faults of requests by their number, from 0."""

    node: str
    fault: Callable[[int], Fault]
    address: str = ""
    faults: list[Fault] = field(default_factory=list)


def is_bulk(path: str) -> bool:
    """Of documents, that is."""
    return path.split("?")[0].endswith("/_bulk") and "sinkrank-idf" not in path


def is_read(path: str) -> bool:
    """Searches, counts, mappings, and points in time."""
    return any(part in path for part in ("_search", "_pit", "_count", "_mapping"))


@contextmanager
def faulty_proxy(
    node: str, fault: Callable[[int], Fault], is_meant: Callable[[str], bool] = is_bulk
) -> Iterator[FaultyProxy]:
    """A proxy at `address`; `faults` says what it has done.

    Args:
        is_meant: whether the requests of a path fail.
    """
    proxy = FaultyProxy(node, fault)
    pool = urllib3.PoolManager(retries=False, timeout=60)
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # or a body waits 40 ms for its headers to be confirmed

        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            chosen: Fault = "pass"
            if is_meant(self.path):
                with lock:
                    chosen = proxy.fault(len(proxy.faults))
                    proxy.faults.append(chosen)
            if chosen == "cut":
                self.close_connection = True
                return
            if isinstance(chosen, int):
                self._answer(chosen, json.dumps({"error": {"type": "told", "reason": "told to fail"}}).encode())
                return
            if chosen == "slow":
                time.sleep(0.3)
            if chosen == "items":
                lines = body.splitlines(keepends=True)
                body = b"".join(b"".join(lines[place : place + 2]) for place in range(0, len(lines), 4))
            headers = {
                name: value for name, value in self.headers.items() if name.lower() in ("content-type", "accept")
            }
            answer = pool.request(self.command, proxy.node + self.path, body=body, headers=headers)
            content = answer.data
            if chosen == "items":
                content = _with_every_other_refused(json.loads(content), len(lines) // 2)
            if chosen == "lost":
                self.close_connection = True
                return
            self._answer(answer.status, content)

        def _answer(self, status: int, content: bytes) -> None:
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = _serve

        def log_message(self, *arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.handle_error = lambda *arguments: None  # type: ignore[method-assign]
    proxy.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield proxy
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
        pool.clear()


def _with_every_other_refused(answer: dict[str, Any], n_actions: int) -> bytes:
    refused = {"index": {"status": 429, "error": {"type": "rejected", "reason": "queue is full"}}}
    done = iter(answer["items"])
    items = [refused if place % 2 else next(done) for place in range(n_actions)]
    return json.dumps({"errors": True, "items": items}).encode()
