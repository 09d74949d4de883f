"""Options of the connection to an engine: certificates, API key, AWS signatures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reranker.base.errors import BadInput, WrongParameter

Signer = Callable[[str, str, Any], dict[str, str]]
"""Returns the headers that sign a request, from its method, URL and body."""


@dataclass(frozen=True, slots=True)
class EngineAccess:
    """Options of the connection to an engine.

    Attributes:
        ca_certs: PEM file of the trusted authorities; None for the usual ones.
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

    def check(self, has_user: bool, use_tls: bool) -> None:
        """
        Args:
            has_user: whether there is a user with a password.

        Raises:
            BadInput: a file is missing.
            WrongParameter: more than one of user, API key and AWS region is set, or the client's key or certificate has
                no use.
        """
        for file, what in (
            (self.ca_certs, "trusted authorities"),
            (self.client_cert, "the client certificate"),
            (self.client_key, "the client's key"),
        ):
            if file is not None and not file.is_file():
                raise BadInput(f"the file of {what} {str(file)!r} is not there; give a PEM file")
        if has_user + (self.api_key is not None) + (self.aws_region is not None) > 1:
            raise WrongParameter("give one of user and password, API key, and AWS region; the engine takes one of them")
        if self.client_key is not None and self.client_cert is None:
            raise WrongParameter("there is a client key without its certificate; give store_client_cert as well")
        if self.client_cert is not None and not use_tls:
            raise WrongParameter("a client certificate is for TLS; write https:// or opensearch+https://")

    def signer(self, host: str) -> Signer | None:
        """Returns opensearch-py's signer for AWS; None if requests are not signed. A collection of OpenSearch
        Serverless has a service of its own, `aoss`; the others are `es`.

        Raises:
            BadInput: boto3 is missing, or finds no credentials.
        """
        if self.aws_region is None:
            return None
        try:
            import boto3
        except ImportError as error:
            raise BadInput("signing requests for AWS needs boto3; pip install 'sinkrank[aws]'") from error
        from opensearchpy import Urllib3AWSV4SignerAuth

        credentials = boto3.Session().get_credentials()
        if credentials is None:
            raise BadInput(
                "boto3 finds no AWS credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, or run "
                "with a role"
            )
        service = "aoss" if host.endswith(".aoss.amazonaws.com") else "es"
        signer: Signer = Urllib3AWSV4SignerAuth(credentials, self.aws_region, service)
        return signer
