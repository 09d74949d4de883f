"""Fetches a file over HTTPS. It appears only when it is complete; if the connection breaks, the fetch goes on where it
was (Range with If-Range).

HTTPS_PROXY and NO_PROXY name proxies, SSL_CERT_FILE names certificate authorities. Addresses come from the code, never
from a request.
"""

from __future__ import annotations

import http.client
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urljoin, urlsplit
from urllib.request import getproxies, proxy_bypass

import urllib3
from urllib3.exceptions import HTTPError, InvalidHeader, LocationValueError, ProxySchemeUnknown, SSLError

from ingest.fetching.digests import sha256_of
from ingest.progress import Progress, no_progress
from reranker.base.errors import FetchFailed, one_line
from reranker.base.retries import BUSY_STATUSES, FETCH
from reranker.base.temporary import temporary_folder

_CHUNK_BYTES = 1 << 16
_REDIRECTS = (301, 302, 303, 307, 308)
_MOST_REDIRECTS = 5
# Not compressed, since the bytes of the file itself are needed.
_HEADERS = {"User-Agent": "sinkrank", "Accept-Encoding": "identity"}
# The longest wait that a server may ask for.
_MAX_WAIT_S = 120


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a fetch.

    Attributes:
        max_bytes: maximum size of the file.
        read_s: longest silence of the server.
        n_attempts: consecutive tries without progress.
    """

    max_bytes: int = 16 << 30
    read_s: float = 60
    connect_s: float = 15
    n_attempts: int = FETCH.n_tries


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
    limits: Limits = Limits(),
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
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with temporary_folder("fetching-", target.parent) as folder:
        fetch = _Fetch(url, folder / target.name, sha256, n_bytes, limits, progress)
        try:
            fetch.run(sleep)
        except (FetchFailed, OSError) as error:
            raise FetchFailed(
                f"{url} could not be fetched: {one_line(error)}. Or fetch it by hand, put it at {target}, and give the "
                "command again"
            ) from error
        fetch.path.replace(target)
    return target


class _Fetch:
    """The fetch of one file to a path."""

    def __init__(
        self, url: str, path: Path, sha256: str | None, n_bytes: int | None, limits: Limits, progress: Progress
    ) -> None:
        self.path = path
        self._url, self._sha256, self._n_bytes = url, sha256, n_bytes
        self._limits, self._progress = limits, progress
        self._n_here = 0
        # What identifies the file, so that the rest comes from the same one; a weak ETag does not suffice.
        self._validator = ""

    def run(self, sleep: Callable[[float], None]) -> None:
        """Tries until the file is complete, or raises FetchFailed."""
        n_tries = 0
        while True:
            before = self._n_here
            try:
                self._attempt()
                break
            except _TryAgain as error:
                n_tries = 1 if self._n_here > before else n_tries + 1
                if n_tries >= self._limits.n_attempts:
                    raise FetchFailed(str(error)) from error
                wait_s = FETCH.wait_s(n_tries) if error.wait_s is None else error.wait_s
                if wait_s > _MAX_WAIT_S:
                    raise FetchFailed(f"{error} and asks to wait {wait_s:,.0f} s; try again later") from error
                sleep(wait_s)
        if self._sha256 is not None and (digest := sha256_of(self.path)) != self._sha256:
            raise FetchFailed(f"the fetched file has the sha256 {digest}, expected {self._sha256}; try again")

    def _attempt(self) -> None:
        """One request, for what is missing."""
        rest = {}
        if self._n_here and self._validator:
            rest = {"Range": f"bytes={self._n_here}-", "If-Range": self._validator}
        try:
            with _opened(self._url, rest, self._limits) as answer:
                self._take(answer)
        except SSLError as error:
            raise FetchFailed(f"TLS failed ({error}); SSL_CERT_FILE names authorities of your own") from error
        except (HTTPError, http.client.HTTPException) as error:
            why = " ".join(str(error).split())
            raise _TryAgain(
                f"the connection failed ({why}); check the network, or name a proxy with HTTPS_PROXY"
            ) from error

    def _take(self, answer: urllib3.BaseHTTPResponse) -> None:
        """Writes the body of an answer to the file, at its end if it is the rest."""
        if answer.status in BUSY_STATUSES:
            raise _TryAgain(f"the server answers {answer.status}", _seconds_to_wait(answer))
        if answer.status == 206 and answer.headers.get("Content-Range", "").startswith(f"bytes {self._n_here}-"):
            mode = "ab"
        elif answer.status == 200:
            mode, self._n_here = "wb", 0
        else:
            raise FetchFailed(f"the server answers {answer.status}; it may have moved or need a login")
        if "text/html" in answer.headers.get("Content-Type", "").lower():
            raise FetchFailed("the server sent a web page instead of the file; a proxy or a login may be in the way")
        length = answer.headers.get("Content-Length", "")
        total = self._n_here + int(length) if length.isdigit() else None
        is_known = self._sha256 is not None or self._n_bytes is not None
        if total is None and not (is_known or "chunked" in answer.headers.get("Transfer-Encoding", "")):
            raise FetchFailed("the server does not send its size, so that its end is unknown")
        self._check_size(total)
        tag = answer.headers.get("ETag", "")
        self._validator = tag if tag.startswith('"') else answer.headers.get("Last-Modified", "")
        with self.path.open(mode) as file:
            while chunk := answer.read1(_CHUNK_BYTES):
                self._n_here += len(chunk)
                if self._n_here > self._limits.max_bytes:
                    raise FetchFailed(f"the server sent more than {self._limits.max_bytes:,} bytes")
                file.write(chunk)
                self._progress(self._n_here, total, f"fetching {self.path.name}")
        if total is not None and self._n_here != total:
            raise _TryAgain(f"the connection broke after {self._n_here:,} of {total:,} bytes")
        self._check_size(self._n_here)

    def _check_size(self, n_bytes: int | None) -> None:
        if n_bytes is None:
            return
        if self._n_bytes is not None and n_bytes != self._n_bytes:
            raise FetchFailed(f"the server has {n_bytes:,} bytes, and the file has {self._n_bytes:,}")
        if n_bytes > self._limits.max_bytes:
            raise FetchFailed(f"it has {n_bytes:,} bytes; the limit is {self._limits.max_bytes:,}")


@contextmanager
def _opened(url: str, headers: dict[str, str], limits: Limits) -> Iterator[urllib3.BaseHTTPResponse]:
    """The answer after redirects, which may not leave HTTPS. Its body is not read yet.

    Raises:
        FetchFailed: a redirect leaves HTTPS, or there are too many.
        HTTPError: urllib3's error: there is no connection, or it broke.
    """
    timeout = urllib3.Timeout(connect=limits.connect_s, read=limits.read_s)
    for _ in range(_MOST_REDIRECTS + 1):
        parts = urlsplit(url)
        if parts.scheme != "https" or not parts.hostname:
            raise FetchFailed(f"it redirects to {parts.scheme}://{parts.hostname}; only https:// is followed")
        with (
            _pool_manager(parts.hostname) as pool,
            pool.request(
                "GET",
                url,
                headers=_HEADERS | headers,
                timeout=timeout,
                retries=False,
                redirect=False,
                preload_content=False,
            ) as answer,
        ):
            if answer.status not in _REDIRECTS:
                yield answer
                return
        url = urljoin(url, answer.headers.get("Location", ""))
    raise FetchFailed(f"it redirects more than {_MOST_REDIRECTS} times")


def _pool_manager(host: str) -> urllib3.PoolManager:
    """A direct connection, or one through the proxy of the environment.

    Raises:
        FetchFailed: the proxy's address is invalid. The message omits it, since it may contain a password.
    """
    proxy = getproxies().get("https")
    if not proxy or proxy_bypass(host):
        return urllib3.PoolManager()
    try:
        parsed = urllib3.util.parse_url(proxy if "://" in proxy else f"http://{proxy}")
        headers = urllib3.make_headers(proxy_basic_auth=parsed.auth) if parsed.auth else None
        return urllib3.ProxyManager(f"{parsed.scheme}://{parsed.netloc}", proxy_headers=headers)
    except (LocationValueError, ValueError, ProxySchemeUnknown) as error:
        raise FetchFailed("HTTPS_PROXY is not the address of a proxy; give one such as http://proxy:3128") from error


def _seconds_to_wait(answer: urllib3.BaseHTTPResponse) -> float | None:
    """The seconds that `Retry-After` asks for, in seconds or by a date; None if it asks for none."""
    try:
        return urllib3.Retry().get_retry_after(answer)
    except InvalidHeader:
        return None
