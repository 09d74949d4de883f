"""Makes the TLS context of the proxy's connections from the same settings as the store's: authorities, certificate."""

from __future__ import annotations

import ssl
from pathlib import Path

from reranker.base.errors import BadInput
from reranker.service.settings import Settings


def tls_context(settings: Settings) -> ssl.SSLContext:
    """The context: which certificates of an engine are trusted, and the client certificate to present.

    Raises:
        BadInput: a PEM file is missing or cannot be used; the message names its setting.
    """
    context = _trusting(settings)
    if not settings.store_verify_certs:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if settings.store_client_cert is not None:
        _load_client_certificate(context, settings.store_client_cert, settings.store_client_key)
    return context


def _trusting(settings: Settings) -> ssl.SSLContext:
    file = settings.store_ca_certs
    if file is None or not settings.store_verify_certs:
        return ssl.create_default_context()
    try:
        return ssl.create_default_context(cafile=str(file))
    except OSError as error:  # ssl.SSLError too
        raise BadInput(
            f"store_ca_certs {str(file)!r} cannot be used ({_reason(error)}); give a PEM file of authorities"
        ) from error


def _load_client_certificate(context: ssl.SSLContext, certificate: Path, key: Path | None) -> None:
    try:
        context.load_cert_chain(certificate, key, password=_refuse_passphrase)
    except OSError as error:
        shown = repr(str(certificate)) + (f" with store_client_key {str(key)!r}" if key is not None else "")
        raise BadInput(
            f"store_client_cert {shown} cannot be used ({_reason(error)}); give PEM files of a certificate and its own "
            "key"
        ) from error


def _refuse_passphrase() -> str:
    """OpenSSL would ask for it at the terminal, and wait.

    Raises:
        BadInput: always.
    """
    raise BadInput("the key of store_client_cert is encrypted; give a key without a passphrase")


def _reason(error: OSError) -> str:
    """A few words of OpenSSL or the system."""
    if isinstance(error, ssl.SSLError):
        return (error.reason or "no PEM in it").lower().replace("_", " ")
    return error.strerror or type(error).__name__
