"""Opens an address over HTTPS, through the proxy that the environment names, and reads what its answers say."""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from email.utils import parsedate_to_datetime
from urllib.parse import urljoin, urlsplit
from urllib.request import getproxies, proxy_bypass

import regex
import urllib3
from urllib3.exceptions import (
    ConnectTimeoutError,
    LocationValueError,
    NewConnectionError,
    ProxyError,
    ProxySchemeUnknown,
    SSLError,
)

from reranker.base.errors import FetchFailed

_REDIRECTS = (301, 302, 303, 307, 308)
# The bytes of the file itself, not of a compressed form of it.
_HEADERS = {"User-Agent": "sinkrank", "Accept-Encoding": "identity"}
# How urllib3 begins what it says of a connection.
_OBJECT = regex.compile(r"^<?(?:urllib3\.\S+ )?HTTPS?Connection(?:Pool)?\([^)]*\)[^:]*: ")


@contextmanager
def opened(
    url: str, headers: Mapping[str, str], connect_s: float, read_s: float, n_redirects: int
) -> Iterator[urllib3.BaseHTTPResponse]:
    """The answer behind the redirects, which may not leave HTTPS; its body is not read yet.

    Raises:
        FetchFailed: it leads away from HTTPS, or on and on.
        HTTPError: of urllib3: no connection, or it broke.
    """
    timeout = urllib3.Timeout(connect=connect_s, read=read_s)
    for _ in range(n_redirects + 1):
        parts = urlsplit(url)
        if parts.scheme != "https" or not parts.hostname:
            raise FetchFailed(f"it redirects to {parts.scheme}://{parts.hostname}; only https:// is followed")
        with _pool_manager(parts.hostname) as pool:
            answer = pool.request(
                "GET",
                url,
                headers=_HEADERS | dict(headers),
                timeout=timeout,
                retries=False,
                redirect=False,
                preload_content=False,
            )
            with answer:
                if answer.status not in _REDIRECTS:
                    yield answer
                    return
            url = urljoin(url, answer.headers.get("Location", ""))
    raise FetchFailed(f"it redirects more than {n_redirects} times")


def _pool_manager(host: str) -> urllib3.PoolManager:
    """Straight, or through the proxy that the environment names.

    Raises:
        FetchFailed: the proxy's address is none; it is not repeated, since it may hold a password.
    """
    proxy = getproxies().get("https")
    if not proxy or proxy_bypass(host):
        return urllib3.PoolManager()
    try:
        parsed = urllib3.util.parse_url(proxy if "://" in proxy else f"http://{proxy}")
        headers = urllib3.make_headers(proxy_basic_auth=parsed.auth) if parsed.auth else None
        return urllib3.ProxyManager(f"{parsed.scheme}://{parsed.netloc}", proxy_headers=headers)
    except (LocationValueError, ValueError, ProxySchemeUnknown) as error:
        raise FetchFailed("HTTPS_PROXY is no address of a proxy; give one such as http://proxy:3128") from error


def whole_size(content_range: str, start: int) -> int | None:
    """The size of the whole file, by `bytes START-END/TOTAL`; None if it is of another part."""
    unit, _, rest = content_range.partition(" ")
    span, _, total = rest.partition("/")
    if unit != "bytes" or span.partition("-")[0] != str(start) or not total.isdigit():
        return None
    return int(total)


def seconds_to_wait(value: str | None) -> float | None:
    """Seconds, of seconds or a date."""
    if not value:
        return None
    if value.strip().isdigit():
        return float(value)
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (TypeError, ValueError):
        return None


def why_it_broke(error: Exception) -> str:
    """What failed, without the names of objects."""
    reason = getattr(error, "reason", None) or error
    text = _OBJECT.sub("", " ".join(str(reason).split()))
    if isinstance(error, NewConnectionError | ConnectTimeoutError | ProxyError):
        return f"there is no connection ({text}); check the network, or name a proxy with HTTPS_PROXY"
    return f"the connection broke ({text})"


def certificate_refused(error: Exception) -> FetchFailed | None:
    """What to say where the server's certificate is the trouble, which no other try mends."""
    causes = [error, error.__cause__, *error.args]
    if isinstance(error, SSLError) and any(isinstance(each, ssl.SSLCertVerificationError) for each in causes):
        return FetchFailed(
            f"the server's certificate is refused ({error}); SSL_CERT_FILE names authorities of your own"
        )
    return None
