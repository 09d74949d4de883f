"""Makes the TLS context of the connections to an engine: authorities to trust, client certificate to present."""

from __future__ import annotations

import ssl
from http.client import RemoteDisconnected
from pathlib import Path

from reranker.base.errors import BadInput
from reranker.upstream.access import EngineAccess


def tls_context(access: EngineAccess) -> ssl.SSLContext:
    """The context: which certificates of an engine are trusted, and the client certificate to present.

    Raises:
        BadInput: a PEM file is missing or cannot be used; the message names its setting.
    """
    context = _trusting(access.ca_certs if access.verify_certs else None)
    if not access.verify_certs:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if access.client_cert is not None:
        _load_client_certificate(context, access.client_cert, access.client_key)
    return context


def _trusting(file: Path | None) -> ssl.SSLContext:
    if file is None:
        return ssl.create_default_context()
    try:
        return ssl.create_default_context(cafile=str(file))
    except OSError as error:  # ssl.SSLError too
        raise BadInput(
            f"store_ca_certs {str(file)!r} cannot be used ({reason(error)}); give a PEM file of authorities"
        ) from error


def _load_client_certificate(context: ssl.SSLContext, certificate: Path, key: Path | None) -> None:
    try:
        context.load_cert_chain(certificate, key, password=_refuse_passphrase)
    except OSError as error:
        files = repr(str(certificate)) + (f" with store_client_key {str(key)!r}" if key is not None else "")
        raise BadInput(
            f"store_client_cert {files} cannot be used ({reason(error)}); give PEM files of a certificate and its own "
            "key"
        ) from error


def _refuse_passphrase() -> str:
    """OpenSSL would ask for it at the terminal, and wait.

    Raises:
        BadInput: always.
    """
    raise BadInput("the key of store_client_cert is encrypted; give a key without a passphrase")


def reason(error: BaseException) -> str:
    """A failed connection or file in a few words, of OpenSSL or the system."""
    if isinstance(error, RemoteDisconnected):
        return "it was closed without an answer"
    if isinstance(error, ssl.SSLEOFError):
        return "it was closed"
    if isinstance(error, ssl.SSLError):
        return (error.reason or "no PEM in it").lower().replace("_", " ")
    return getattr(error, "strerror", None) or type(error).__name__
