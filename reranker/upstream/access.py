"""Options of the connections to an engine, and what the service shows there: certificates, API key, AWS signatures."""

from __future__ import annotations

import base64
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reranker.base.errors import BadInput, StoreUnavailable, WrongParameter, one_line
from reranker.base.extras import extra
from reranker.upstream.addresses import EngineAddress

Credentials = Callable[[str, str, Any], Mapping[str, str]]
"""Returns the headers by which the engine knows the service, from a request's method, URL and body."""


@dataclass(frozen=True, slots=True)
class EngineAccess:
    """Options of the connections to an engine.

    Attributes:
        ca_certs: PEM file of the trusted authorities; None for the system's.
        verify_certs: False trusts any certificate.
        client_cert, client_key: PEM files of the client; the certificate's file may contain the key.
        api_key: `encoded` of Elasticsearch's answer.
        aws_region: if set, requests are signed (Signature Version 4) with the credentials that boto3 finds.
    """

    ca_certs: Path | None = None
    verify_certs: bool = True
    client_cert: Path | None = None
    client_key: Path | None = None
    api_key: str | None = field(default=None, repr=False)
    aws_region: str | None = None

    def credentials(self, address: EngineAddress) -> Credentials:
        """Returns what the service shows an engine.

        Raises:
            WrongParameter: the options do not fit each other or the address.
            BadInput, MissingPackage: requests are to be signed, and boto3 finds no credentials or is not installed.
        """
        self._check(address)
        if self.aws_region is not None:
            return _signer(self.aws_region, address.nodes[0].host)
        headers = self.headers(address)
        return lambda method, url, body: headers

    def headers(self, address: EngineAddress) -> dict[str, str]:
        """Returns the header of the user or the API key, if there is one. Signatures are made for each request."""
        if address.username is not None:
            # Bytes of the environment that are not UTF-8 stay as they are.
            credentials = f"{address.username}:{address.password or ''}".encode("utf-8", "surrogateescape")
            return {"authorization": "Basic " + base64.b64encode(credentials).decode("ascii")}
        return {} if self.api_key is None else {"authorization": f"ApiKey {self.api_key}"}

    def _check(self, address: EngineAddress) -> None:
        n_credentials = sum(one is not None for one in (address.username, self.api_key, self.aws_region))
        if n_credentials > 1:
            raise WrongParameter("give one of user and password, API key, and AWS region; the engine takes one of them")
        if self.api_key is not None and not (self.api_key.isascii() and self.api_key.isprintable()):
            raise WrongParameter(
                "store_api_key has a character that no header may hold; give `encoded` of the engine's answer"
            )
        if self.client_key is not None and self.client_cert is None:
            raise WrongParameter("there is a client key without its certificate; give store_client_cert as well")
        if self.client_cert is not None and not address.use_tls:
            raise WrongParameter("a client certificate is for TLS; write https:// or opensearch+https://")


def _signer(region: str, host: str) -> Credentials:
    """Returns opensearch-py's signer for AWS. It raises StoreUnavailable where credentials have run out and cannot be
    renewed. A collection of OpenSearch Serverless has a service of its own, `aoss`; the others are `es`.

    Raises:
        BadInput: boto3 finds no credentials, or what is set for them is not right.
        MissingPackage: boto3 is not installed.
    """
    with extra("aws", "signing requests for AWS"):
        import boto3
        from botocore.exceptions import BotoCoreError, ClientError
    from opensearchpy import Urllib3AWSV4SignerAuth

    # At debug it logs session tokens, and the answers by which it gets secret keys.
    log = logging.getLogger("botocore")
    log.setLevel(max(logging.INFO, log.getEffectiveLevel()))
    try:
        credentials = boto3.Session().get_credentials()
    except BotoCoreError as error:
        raise BadInput(
            f"boto3 cannot load AWS credentials ({one_line(error)}); see the variables AWS_… and the files of ~/.aws"
        ) from error
    if credentials is None:
        raise BadInput(
            "boto3 finds no AWS credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, or run "
            "with a role"
        )
    service = "aoss" if host.endswith(".aoss.amazonaws.com") else "es"
    signer = Urllib3AWSV4SignerAuth(credentials, region, service)

    def sign(method: str, url: str, body: Any) -> Mapping[str, str]:
        try:
            headers: dict[str, str] = signer(method, url, body)
        except (BotoCoreError, ClientError, RuntimeError) as error:  # botocore has logged more
            raise StoreUnavailable(
                f"boto3 cannot renew the AWS credentials ({type(error).__name__}); see whether their source answers, "
                f"such as the metadata service"
            ) from error
        return headers

    return sign
