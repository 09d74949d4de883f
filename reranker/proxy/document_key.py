"""What a document whose text is not in hand is known by in the cache of bags.

Where the caller's `_source` filter keeps the text back, index, id and sequence number, which change with each writing,
tell a document; and the caller's credentials, since not everybody may read each field.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass

from reranker.proxy.upstream.nodes import Headers

# What gateways and engines know callers by; `X-Opaque-Id`, which is another in each request, is not among them.
_CREDENTIALS = frozenset(
    [
        "authorization",
        "cookie",
        "es-security-runas-user",
        "opendistro_security_impersonate_as",
        "x-proxy-user",
        "x-proxy-roles",
        "x-forwarded-for",
    ]
)
_DIGEST_BYTES = 16
_salt = os.urandom(_DIGEST_BYTES)


@dataclass(frozen=True, slots=True)
class DocumentKey:
    """A document at one time, as one caller sees it.

    Attributes:
        caller: `caller_key` of the request.
        fields: that are read.
    """

    caller: bytes
    index: str
    doc_id: str
    seq_no: int
    primary_term: int
    fields: tuple[str, ...]


def caller_key(headers: Headers) -> bytes:
    """The same for requests with the same credentials; nothing can be read from it."""
    shown: Sequence[str] = sorted(f"{name.lower()}:{value}" for name, value in headers if name.lower() in _CREDENTIALS)
    return hashlib.blake2b("\0".join(shown).encode(), digest_size=_DIGEST_BYTES, key=_salt).digest()
