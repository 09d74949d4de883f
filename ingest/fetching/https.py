"""Fetches one file over HTTPS: what has come of it lies in `NAME.part`, and the file appears whole or not at all.

A fetch that was cut goes on where it was (Range with If-Range). Proxies come from HTTPS_PROXY and NO_PROXY, own
certificate authorities from SSL_CERT_FILE. Addresses come from the code, never from a request.
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


@dataclass(frozen=True, slots=True)
class Limits:
    """What a fetch may take.

    Attributes:
        max_bytes: of the file.
        total_s: for all attempts together.
        stall_s: for the next `stall_bytes`.
        n_attempts: tries without one new byte.
        max_wait_s: that a server may ask for before the next try.
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
    """An answer or a cut that another try may mend.

    Attributes:
        wait_s: that the server asks for; None where it does not say.
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
    """The file at the target, fetched unless it is there.

    Args:
        sha256: of the whole file, where it is known.
        n_bytes: of the whole file, where they are known.

    Raises:
        FetchFailed: it cannot be fetched, is not what was expected, or goes beyond a limit; the message says how to
            bring it by hand.
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
    """One file on its way."""

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
        """Until the file is whole, or no more can be done."""
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
                self._discard()  # a full disk is not left full
                raise FetchFailed(one_line(error)) from error
        if self._sha256 is not None and (digest := sha256_of(self._part)) != self._sha256:
            self._discard()
            raise FetchFailed(f"what came has the sha256 {digest}, expected {self._sha256}; try again")
        self._part.replace(self._target)
        self._state.unlink(missing_ok=True)

    def _attempt(self) -> None:
        """One request, from where the last one ended."""
        limits = self._limits
        try:
            with opened(self._url, self._range(), limits.connect_s, limits.stall_s, limits.n_redirects) as answer:
                self._take(answer)
        except (HTTPError, http.client.HTTPException) as error:
            refused = certificate_refused(error)
            raise refused if refused is not None else _TryAgain(why_it_broke(error)) from error

    def _range(self) -> dict[str, str]:
        """Asks for the rest of the very file that the part is of; the part goes where that cannot be asked."""
        n_here = self._n_here()
        if not n_here:
            return {}
        url, _, validator = self._state.read_text("utf-8").partition("\n") if self._state.exists() else ("", "", "")
        if url != self._url or not validator:
            self._discard()
            return {}
        return {"Range": f"bytes={n_here}-", "If-Range": validator}

    def _take(self, answer: urllib3.BaseHTTPResponse) -> None:
        """Writes what an answer brings behind what is here."""
        n_here = self._n_here()
        if answer.status == 206 and n_here:
            total = whole_size(answer.headers.get("Content-Range", ""), n_here)
            if total is None:
                self._discard()
                raise _TryAgain("the server sent another part than the one asked for")
        elif answer.status == 200:
            n_here = 0
            length = answer.headers.get("Content-Length", "")
            total = int(length) if length.isdigit() else None
            if total is None and not (self._is_known or "chunked" in answer.headers.get("Transfer-Encoding", "")):
                raise FetchFailed("the server does not say how long it is, so that its end cannot be known")
        else:
            raise self._refused(answer)
        if "text/html" in answer.headers.get("Content-Type", "").lower():
            raise FetchFailed("a web page came in place of the file; a proxy or a login may be in the way")
        self._check_total(total, n_here)
        self._keep_validator(answer)
        with self._part.open("ab" if n_here else "wb") as part:
            n_here = self._copy(answer, part, n_here, total)
            part.flush()
            os.fsync(part.fileno())
        if total is not None and n_here != total:
            raise _TryAgain(f"the line was cut after {n_here:,} of {total:,} bytes")
        if self._n_bytes is not None and n_here != self._n_bytes:
            self._discard()
            raise FetchFailed(f"{n_here:,} bytes came, and the file has {self._n_bytes:,}")

    def _copy(self, answer: urllib3.BaseHTTPResponse, part: BinaryIO, n_here: int, total: int | None) -> int:
        window_ends, n_window = time.monotonic() + self._limits.stall_s, 0
        while chunk := answer.read1(_CHUNK_BYTES):
            if n_here == 0 and chunk.lstrip().lower().startswith(_PAGE):
                raise FetchFailed("a web page came in place of the file; a proxy or a login may be in the way")
            n_here += len(chunk)
            n_window += len(chunk)
            if n_here > (total if total is not None else self._most()):
                self._discard()
                raise FetchFailed(f"more than the {total or self._most():,} bytes came that it may have")
            part.write(chunk)
            self._progress(n_here, total, f"fetching {self._target.name}")
            now = time.monotonic()
            if now > self._deadline:
                raise FetchFailed(f"it took more than {self._limits.total_s:g} s; {n_here:,} bytes are kept")
            if now > window_ends:
                if n_window < self._limits.stall_bytes:
                    raise _TryAgain(f"only {n_window:,} bytes came in {self._limits.stall_s:g} s")
                window_ends, n_window = now + self._limits.stall_s, 0
        return n_here

    def _refused(self, answer: urllib3.BaseHTTPResponse) -> Exception:
        """What an answer means that brings no file."""
        if answer.status in (206, 416):
            self._discard()
            return _TryAgain("the server has no such part")
        if answer.status in BUSY_STATUSES:
            return _TryAgain(f"the server answers {answer.status}", seconds_to_wait(answer.headers.get("Retry-After")))
        return FetchFailed(f"the server answers {answer.status}; it may have moved or need a login")

    def _check_total(self, total: int | None, n_here: int) -> None:
        if total is None:
            return
        if self._n_bytes is not None and total != self._n_bytes:
            raise FetchFailed(f"the server has {total:,} bytes, and the file has {self._n_bytes:,}")
        if total > self._limits.max_bytes:
            raise FetchFailed(f"it has {total:,} bytes, and {self._limits.max_bytes:,} at most are taken")
        free = shutil.disk_usage(self._target.parent).free
        if total - n_here > free:
            raise FetchFailed(f"{total - n_here:,} bytes are to come, and {self._target.parent} has {free:,} free")

    def _most(self) -> int:
        return self._limits.max_bytes if self._n_bytes is None else self._n_bytes

    def _keep_validator(self, answer: urllib3.BaseHTTPResponse) -> None:
        """So that the rest is only ever taken of the same file; a weak ETag does not promise that."""
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
