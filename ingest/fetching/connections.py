"""Opens an HTTPS address, through the proxy of the environment, and reads the headers of the answer."""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from urllib.parse import urljoin, urlsplit
from urllib.request import getproxies, proxy_bypass

import regex
import urllib3
from urllib3.exceptions import (
    ConnectTimeoutError,
    InvalidHeader,
    LocationValueError,
    NewConnectionError,
    ProxyError,
    ProxySchemeUnknown,
    SSLError,
)

from reranker.base.errors import FetchFailed

_REDIRECTS = (301, 302, 303, 307, 308)
# Not compressed, since the bytes of the file itself are needed.
_HEADERS = {"User-Agent": "sinkrank", "Accept-Encoding": "identity"}
# The beginning of urllib3's messages about connections.
_OBJECT = regex.compile(r"^<?(?:urllib3\.\S+ )?HTTPS?Connection(?:Pool)?\([^)]*\)[^:]*: ")


@contextmanager
def opened(
    url: str, headers: Mapping[str, str], connect_s: float, read_s: float, n_redirects: int
) -> Iterator[urllib3.BaseHTTPResponse]:
    """The answer after redirects, which may not leave HTTPS. Its body is not read yet.

    Raises:
        FetchFailed: a redirect leaves HTTPS, or there are too many.
        HTTPError: urllib3's error: there is no connection, or it broke.
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


def whole_size(content_range: str, start: int) -> int | None:
    """The size of the whole file, from `bytes START-END/TOTAL`; None if `start` is another one."""
    unit, _, rest = content_range.partition(" ")
    span, _, total = rest.partition("/")
    if unit != "bytes" or span.partition("-")[0] != str(start) or not total.isdigit():
        return None
    return int(total)


def seconds_to_wait(answer: urllib3.BaseHTTPResponse) -> float | None:
    """The seconds that `Retry-After` asks for, in seconds or by a date; None if it asks for none."""
    try:
        return urllib3.Retry().get_retry_after(answer)
    except InvalidHeader:
        return None


def why_it_broke(error: Exception) -> str:
    """What failed, without names of Python objects."""
    reason = getattr(error, "reason", None) or error
    text = _OBJECT.sub("", " ".join(str(reason).split()))
    if isinstance(error, NewConnectionError | ConnectTimeoutError | ProxyError):
        return f"there is no connection ({text}); check the network, or name a proxy with HTTPS_PROXY"
    return f"the connection broke ({text})"


def certificate_refused(error: Exception) -> FetchFailed | None:
    """The error for a refused certificate, which another try does not solve; None for other errors."""
    causes = [error, error.__cause__, *error.args]
    if isinstance(error, SSLError) and any(isinstance(each, ssl.SSLCertVerificationError) for each in causes):
        return FetchFailed(
            f"the server's certificate is refused ({error}); SSL_CERT_FILE names authorities of your own"
        )
    return None
