"""Fetches a file over HTTPS. Received bytes are kept in `NAME.part`; the file itself appears only when it is complete.

An interrupted fetch resumes (Range with If-Range). HTTPS_PROXY and NO_PROXY name proxies, SSL_CERT_FILE names
certificate authorities. Addresses come from the code, never from a request.
"""

from __future__ import annotations

import http.client
import os
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import urllib3
from urllib3.exceptions import HTTPError

from ingest.fetching.connections import certificate_refused, opened, seconds_to_wait, whole_size, why_it_broke
from ingest.fetching.folders import only_one, sha256_of
from ingest.progress import Progress, no_progress
from reranker.base.errors import FetchFailed, one_line
from reranker.base.retries import BUSY_STATUSES, FETCH

_CHUNK_BYTES = 1 << 16
_PAGE = (b"<!doctype html", b"<html")
_IS_A_PAGE = "the server sent a web page instead of the file; a proxy or a login may be in the way"


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a fetch.

    Attributes:
        max_bytes: maximum size of the file.
        total_s: time of all attempts together.
        stall_s: time in which at least `stall_bytes` must arrive.
        n_attempts: consecutive tries without progress.
        max_wait_s: longest wait that a server may ask for.
    """

    max_bytes: int = 16 << 30
    total_s: float = 6 * 3600
    stall_s: float = 60
    stall_bytes: int = 1 << 14
    connect_s: float = 15
    n_attempts: int = FETCH.n_tries
    n_redirects: int = 5
    max_wait_s: float = 120


class _TryAgain(Exception):
    """A failure after which another try may succeed.

    Attributes:
        wait_s: seconds that the server asks to wait, if it does.
    """

    def __init__(self, why: str, wait_s: float | None = None) -> None:
        super().__init__(why)
        self.wait_s = wait_s


def fetch_file(
    url: str,
    target: Path,
    *,
    sha256: str | None = None,
    n_bytes: int | None = None,
    limits: Limits | None = None,
    progress: Progress = no_progress,
    sleep: Callable[[float], None] = time.sleep,
) -> Path:
    """The file at `target`, fetched if it is missing.

    Args:
        sha256: digest of the whole file, if known.
        n_bytes: size of the whole file, if known.

    Raises:
        FetchFailed: it cannot be fetched, is not the expected file, or exceeds a limit; the message says how to fetch
            it by hand.
    """
    with only_one(target.parent):
        if not target.exists():
            try:
                _Fetch(url, target, sha256, n_bytes, limits or Limits(), progress, sleep).run()
            except FetchFailed as error:
                raise FetchFailed(
                    f"{url} could not be fetched: {error}. Or fetch it by hand, put it at {target}, and give the "
                    "command again"
                ) from error
    return target


class _Fetch:
    """The fetch of one file."""

    def __init__(
        self,
        url: str,
        target: Path,
        sha256: str | None,
        n_bytes: int | None,
        limits: Limits,
        progress: Progress,
        sleep: Callable[[float], None],
    ) -> None:
        self._url, self._target, self._limits = url, target, limits
        self._sha256, self._n_bytes, self._progress, self._sleep = sha256, n_bytes, progress, sleep
        self._is_known = sha256 is not None or n_bytes is not None
        self._part = target.with_name(f"{target.name}.part")
        self._state = target.with_name(f"{target.name}.part.state")
        self._deadline = time.monotonic() + limits.total_s

    def run(self) -> None:
        """Tries until the file is complete, or raises FetchFailed."""
        n_tries = 0
        while True:
            before = self._n_here()
            try:
                self._attempt()
                break
            except _TryAgain as error:
                n_tries = 1 if self._n_here() > before + self._limits.stall_bytes else n_tries + 1
                if n_tries >= self._limits.n_attempts:
                    kept = f"; {self._n_here():,} bytes are kept for the next time" if self._n_here() else ""
                    raise FetchFailed(f"{error}{kept}") from error
                self._wait(error.wait_s if error.wait_s is not None else FETCH.wait_s(n_tries))
            except OSError as error:
                self._discard()  # the disk may be full
                raise FetchFailed(one_line(error)) from error
        if self._sha256 is not None and (digest := sha256_of(self._part)) != self._sha256:
            self._discard()
            raise FetchFailed(f"the fetched file has the sha256 {digest}, expected {self._sha256}; try again")
        self._part.replace(self._target)
        self._state.unlink(missing_ok=True)

    def _attempt(self) -> None:
        """One request, from the end of the part."""
        limits = self._limits
        try:
            with opened(self._url, self._range(), limits.connect_s, limits.stall_s, limits.n_redirects) as answer:
                self._take(answer)
        except (HTTPError, http.client.HTTPException) as error:
            refused = certificate_refused(error)
            raise refused if refused is not None else _TryAgain(why_it_broke(error)) from error

    def _range(self) -> dict[str, str]:
        """Headers that request the rest of the same file; without a validator the part is discarded."""
        n_here = self._n_here()
        if not n_here:
            return {}
        url, _, validator = self._state.read_text("utf-8").partition("\n") if self._state.exists() else ("", "", "")
        if url != self._url or not validator:
            self._discard()
            return {}
        return {"Range": f"bytes={n_here}-", "If-Range": validator}

    def _take(self, answer: urllib3.BaseHTTPResponse) -> None:
        """Appends the body of an answer to the part."""
        n_here = self._n_here()
        if answer.status == 206 and n_here:
            total = whole_size(answer.headers.get("Content-Range", ""), n_here)
            if total is None:
                self._discard()
                raise _TryAgain("the server sent a different part than requested")
        elif answer.status == 200:
            n_here = 0
            length = answer.headers.get("Content-Length", "")
            total = int(length) if length.isdigit() else None
            if total is None and not (self._is_known or "chunked" in answer.headers.get("Transfer-Encoding", "")):
                raise FetchFailed("the server does not send its size, so that its end is unknown")
        else:
            raise self._refused(answer)
        if "text/html" in answer.headers.get("Content-Type", "").lower():
            raise FetchFailed(_IS_A_PAGE)
        self._check_total(total, n_here)
        self._keep_validator(answer)
        with self._part.open("ab" if n_here else "wb") as part:
            n_here = self._copy(answer, part, n_here, total)
            part.flush()
            os.fsync(part.fileno())
        if total is not None and n_here != total:
            raise _TryAgain(f"the connection broke after {n_here:,} of {total:,} bytes")
        if self._n_bytes is not None and n_here != self._n_bytes:
            self._discard()
            raise FetchFailed(f"the server sent {n_here:,} bytes, and the file has {self._n_bytes:,}")

    def _copy(self, answer: urllib3.BaseHTTPResponse, part: BinaryIO, n_here: int, total: int | None) -> int:
        window_ends, n_window = time.monotonic() + self._limits.stall_s, 0
        while chunk := answer.read1(_CHUNK_BYTES):
            if n_here == 0 and chunk.lstrip().lower().startswith(_PAGE):
                raise FetchFailed(_IS_A_PAGE)
            n_here += len(chunk)
            n_window += len(chunk)
            if n_here > (total if total is not None else self._most()):
                self._discard()
                raise FetchFailed(f"the server sent more than {total or self._most():,} bytes")
            part.write(chunk)
            self._progress(n_here, total, f"fetching {self._target.name}")
            now = time.monotonic()
            if now > self._deadline:
                raise FetchFailed(f"it took more than {self._limits.total_s:g} s; {n_here:,} bytes are kept")
            if now > window_ends:
                if n_window < self._limits.stall_bytes:
                    raise _TryAgain(f"the server sent only {n_window:,} bytes in {self._limits.stall_s:g} s")
                window_ends, n_window = now + self._limits.stall_s, 0
        return n_here

    def _refused(self, answer: urllib3.BaseHTTPResponse) -> Exception:
        """The error for an answer without a file."""
        if answer.status in (206, 416):
            self._discard()
            return _TryAgain("the server has no such part")
        if answer.status in BUSY_STATUSES:
            return _TryAgain(f"the server answers {answer.status}", seconds_to_wait(answer))
        return FetchFailed(f"the server answers {answer.status}; it may have moved or need a login")

    def _check_total(self, total: int | None, n_here: int) -> None:
        if total is None:
            return
        if self._n_bytes is not None and total != self._n_bytes:
            raise FetchFailed(f"the server has {total:,} bytes, and the file has {self._n_bytes:,}")
        if total > self._limits.max_bytes:
            raise FetchFailed(f"it has {total:,} bytes; the limit is {self._limits.max_bytes:,}")
        free = shutil.disk_usage(self._target.parent).free
        if total - n_here > free:
            raise FetchFailed(f"{total - n_here:,} bytes are missing, and {self._target.parent} has {free:,} free")

    def _most(self) -> int:
        return self._limits.max_bytes if self._n_bytes is None else self._n_bytes

    def _keep_validator(self, answer: urllib3.BaseHTTPResponse) -> None:
        """Keeps what identifies the file, so that a fetch resumes only the same file; a weak ETag does not suffice."""
        tag = answer.headers.get("ETag", "")
        validator = tag if tag.startswith('"') else answer.headers.get("Last-Modified", "")
        self._state.write_text(f"{self._url}\n{validator}", "utf-8")

    def _wait(self, seconds: float) -> None:
        if seconds > self._limits.max_wait_s:
            raise FetchFailed(f"the server asks to wait {seconds:,.0f} s; try again later")
        if time.monotonic() + seconds > self._deadline:
            raise FetchFailed(f"it took more than {self._limits.total_s:g} s")
        self._sleep(seconds)

    def _n_here(self) -> int:
        return self._part.stat().st_size if self._part.exists() else 0

    def _discard(self) -> None:
        self._part.unlink(missing_ok=True)
        self._state.unlink(missing_ok=True)
