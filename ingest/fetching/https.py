"""Fetches a file over HTTPS. It appears only when it is complete.

HTTPS_PROXY and NO_PROXY name proxies, SSL_CERT_FILE names certificate authorities. Addresses come from the code, never
from a request.
"""

from __future__ import annotations

import os
from pathlib import Path

import requests

from ingest.progress import Progress, no_progress
from reranker.base.errors import FetchFailed, one_line
from reranker.base.temporary import temporary_folder

_CHUNK_BYTES = 1 << 16
_TIMEOUT_S = 60.0


def fetch_file(
    url: str,
    target: Path,
    progress: Progress = no_progress,
    timeout_s: float = _TIMEOUT_S,
) -> Path:
    """The file at `target`, fetched if it is missing.

    Args:
        timeout_s: longest silence of the server.

    Raises:
        FetchFailed: it cannot be fetched; the message says how to fetch it by hand.
    """
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with temporary_folder("fetching-", target.parent) as folder:
        try:
            _write(url, folder / target.name, progress, timeout_s)
        except (FetchFailed, OSError) as error:
            raise FetchFailed(
                f"{url} could not be fetched: {one_line(error)}. Check the network, or fetch it by hand, put it at "
                f"{target}, and give the command again"
            ) from error
        (folder / target.name).replace(target)
    return target


def _write(url: str, path: Path, progress: Progress, timeout_s: float) -> None:
    authorities = os.environ.get("SSL_CERT_FILE") or True
    # Not compressed, so that the size is known.
    headers = {"Accept-Encoding": "identity"}
    with requests.Session() as session:
        session.adapters.pop("http://")  # a redirect does not leave HTTPS
        with session.get(url, headers=headers, stream=True, timeout=timeout_s, verify=authorities) as answer:
            answer.raise_for_status()
            if "text/html" in answer.headers.get("Content-Type", ""):
                raise FetchFailed(
                    "the server sent a web page instead of the file; a proxy or a login may be in the way"
                )
            length = answer.headers.get("Content-Length")
            n_bytes, total = 0, None if length is None else int(length)
            with path.open("wb") as file:
                for chunk in answer.iter_content(_CHUNK_BYTES):
                    n_bytes += len(chunk)
                    file.write(chunk)
                    progress(n_bytes, total, f"fetching {path.name}")
